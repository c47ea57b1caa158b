//go:build !linux

package gonb

import "os/exec"

// process is GoNB's process.
type process struct {
	cmd   *exec.Cmd
	state chan string
}

// AdoptOrphans does nothing: only Linux lets a process adopt orphans.
func AdoptOrphans() error { return nil }

func startProcess(cmd *exec.Cmd) (*process, error) {
	ownGroup(cmd)
	p := &process{cmd: cmd, state: make(chan string, 1)}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // what it says is in ProcessState
		p.state <- cmd.ProcessState.String()
	}()
	return p, nil
}

func (p *process) wait() string { return <-p.state }

// sweep kills what GoNB left of its group.
func (p *process) sweep(string) { p.kill() }

func (p *process) reap() {}

func marked(string) []int { return nil }

// killSince does nothing: only Linux tells what comes from a child.
func (p *process) killSince(string, Moment, bool) {}
