package materializer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// residentMiB returns a measure of the process's memory as the system has it, in
// MiB; 0 where that is not known.
func residentMiB(t testing.TB, name string) float64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var kib float64
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	return 0
}
