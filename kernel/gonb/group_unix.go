//go:build unix && !linux

package gonb

import (
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func (p *process) signal(sig syscall.Signal) {
	// A group that is gone is what a signal is for in the end.
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
}

func (p *process) interrupt() { p.signal(syscall.SIGINT) }
func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }
func (p *process) kill()      { p.signal(syscall.SIGKILL) }
