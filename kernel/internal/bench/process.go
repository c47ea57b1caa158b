package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modellog/modellog/kernel/internal/frontend"
	"github.com/modellog/modellog/kernel/wire"
)

// process is a kernel's process and the front-end that talks to it.
type process struct {
	*frontend.Client
	dir    string
	cmd    *exec.Cmd
	exited chan error
	began  time.Time // when it was started
}

// start starts a kernel whose command gets a connection file as its last argument, and
// returns when it answers.
func start(ctx context.Context, command ...string) (*process, error) {
	dir, err := os.MkdirTemp("", "modellog-bench-")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, exited: make(chan error, 1)}
	if err := p.start(ctx, command); err != nil {
		p.stop()
		return nil, fmt.Errorf("starting %s: %w", command[0], err)
	}
	return p, nil
}

func (p *process) start(ctx context.Context, command []string) error {
	conn := frontend.Fresh(p.dir)
	data, err := json.Marshal(conn)
	if err != nil {
		return err
	}
	file := filepath.Join(p.dir, "kernel-"+wire.NewID()+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	cmd := exec.Command(command[0], append(command[1:], file)...)
	cmd.Dir = p.dir
	p.began = time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd = cmd
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ctx, cause := context.WithCancelCause(ctx)
	defer cause(nil)
	go func() {
		err := cmd.Wait()
		p.exited <- err
		cause(fmt.Errorf("it has ended: %v", err))
	}()
	p.Client, err = frontend.Connect(ctx, conn)
	return err
}

// stop ends the kernel and waits for it.
func (p *process) stop() {
	if p.Client != nil {
		p.Close()
	}
	if p.cmd != nil {
		p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(5 * time.Second):
			p.cmd.Process.Kill()
			<-p.exited
		}
	}
	os.RemoveAll(p.dir)
}
