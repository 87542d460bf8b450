package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// meter measures time, processor time and memory from newMeter on.
type meter struct {
	began time.Time
	cpu   time.Duration
	base  int64 // bytes resident
}

func newMeter() (meter, error) {
	runtime.GC()
	// 5 forgets the peak of the resident memory, see proc_pid_clear_refs(5).
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return meter{}, err
	}
	base, err := resident("VmRSS:")
	return meter{base: base, cpu: cpuTime(), began: time.Now()}, err
}

// stop returns what was used since newMeter, and the memory at its peak.
func (m meter) stop() (elapsed, cpu time.Duration, memory int64, err error) {
	elapsed, cpu = time.Since(m.began), cpuTime()-m.cpu
	peak, err := resident("VmHWM:")
	return elapsed, cpu, peak - m.base, err
}

// cpuTime is what all threads of this process used, for themselves and in the
// kernel.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident reads a line of /proc/self/status, in bytes.
func resident(field string) (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(status) {
		if words := bytes.Fields(line); len(words) == 3 && string(words[0]) == field {
			kib, err := strconv.ParseInt(string(words[1]), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/self/status", field)
}
