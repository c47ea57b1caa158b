//go:build unix

package bench

import (
	"os/exec"
	"syscall"
)

// inGroup has a process end with all that it starts.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
