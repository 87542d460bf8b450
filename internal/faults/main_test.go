package faults

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The environment of a child: what it does, and the file.
const (
	envRole = "REFOLD_FAULTS_ROLE"
	envFile = "REFOLD_FAULTS_FILE"
)

var roles = map[string]func(path string) error{
	"lock": childLock,
	"work": childWork,
	"hold": childHold,

	"descriptors": childDescriptors,
}

func TestMain(m *testing.M) {
	if role, ok := roles[os.Getenv(envRole)]; ok {
		if err := role(os.Getenv(envFile)); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// brief reports whether less is tried: unless REFOLD_FAULTS is all, and with the race
// detector, which makes it several times as slow.
func brief() bool { return testing.Short() || raced || os.Getenv("REFOLD_FAULTS") != "all" }
