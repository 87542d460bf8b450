package main

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill the command when this process is killed.
// Elsewhere git notices at its next write.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
