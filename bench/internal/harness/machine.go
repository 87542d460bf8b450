package harness

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
)

// Machine is where a run took place, and with what.
type Machine struct {
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	Load     string   `json:"loadAverage"`
	Kernel   string   `json:"kernel"`
	Files    string   `json:"fileSystem"`
	Go       string   `json:"go"`
	Versions []string `json:"versions"`
}

// ThisMachine describes this machine, the file system of a folder, and the
// versions of the named modules that are built in.
func ThisMachine(dir string, modules []string) Machine {
	m := Machine{CPU: cpuName(), Cores: runtime.NumCPU(), Load: loadAverage(), Kernel: firstWords("/proc/sys/kernel/osrelease"), Files: fileSystem(dir), Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(modules, dep.Path) {
				m.Versions = append(m.Versions, dep.Path+" "+dep.Version)
			}
		}
	}
	return m
}

// String is two lines for the head of a report.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, load %s, Linux %s, databases on %s, %s\n%s",
		m.CPU, m.Cores, m.Load, m.Kernel, m.Files, m.Go, strings.Join(m.Versions, ", "))
}

func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

func loadAverage() string {
	load, _, _ := strings.Cut(firstWords("/proc/loadavg"), " ")
	return load
}

func firstWords(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// fileSystem tells what a sync in a folder means: in memory it costs nothing.
func fileSystem(dir string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return "an unknown file system"
	}
	switch uint32(s.Type) {
	case 0xef53:
		return "ext4"
	case 0x58465342:
		return "xfs"
	case 0x9123683e:
		return "btrfs"
	case 0x01021994:
		return "tmpfs, WHERE A SYNC COSTS NOTHING"
	case 0x794c7630:
		return "overlayfs"
	}
	return fmt.Sprintf("a file system of type %#x", uint32(s.Type))
}
