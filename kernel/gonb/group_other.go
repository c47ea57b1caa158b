//go:build !unix

package gonb

import "os/exec"

func ownGroup(*exec.Cmd) {}

func (p *process) interrupt() {}
func (p *process) terminate() { p.kill() }
func (p *process) kill()      { _ = p.cmd.Process.Kill() }
