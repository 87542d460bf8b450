package dispatcher

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if !isSet("rapid.steps") {
		flag.Set("rapid.steps", "200") // of 100 checks: twice the 10,000 steps that TestModel asks for
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(os.Exit))
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
