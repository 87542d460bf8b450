package harness

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// Meter measures time, processor time, allocations and memory of this process.
type Meter struct {
	began  time.Time
	cpu    time.Duration
	allocs uint64
	base   int64 // bytes resident
}

// Usage is what was used in a time.
type Usage struct {
	Elapsed, CPU time.Duration
	Allocs       uint64
	Memory       int64 // the most that was resident, over what was before
}

// StartMeter gives back what is free and starts measuring.
func StartMeter() (Meter, error) {
	debug.FreeOSMemory()
	// 5 forgets the peak of the resident memory, see proc_pid_clear_refs(5).
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return Meter{}, err
	}
	base, err := resident("VmRSS:")
	return Meter{base: base, allocs: mallocs(), cpu: cpuTime(), began: time.Now()}, err
}

// Stop returns what was used since StartMeter.
func (m Meter) Stop() (Usage, error) {
	u := Usage{Elapsed: time.Since(m.began), CPU: cpuTime() - m.cpu}
	u.Allocs = mallocs() - m.allocs
	peak, err := resident("VmHWM:")
	u.Memory = peak - m.base
	return u, err
}

func mallocs() uint64 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Mallocs
}

// Heap returns the bytes that are reachable.
func Heap() int64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapAlloc)
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
