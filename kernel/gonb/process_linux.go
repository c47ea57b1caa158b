package gonb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is GoNB's process, the leader of a process group.
type process struct {
	cmd   *exec.Cmd
	state chan string
	known map[int]bool // zombies that were seen before
}

// AdoptOrphans makes the programs that GoNB leaves behind children of this process
// instead of the system's first, so that they are found and waited for.
func AdoptOrphans() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// startProcess starts a command in a process group of its own. The system tells it to end
// when this process dies.
func startProcess(cmd *exec.Cmd) (*process, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	p := &process{cmd: cmd, state: make(chan string, 1), known: map[int]bool{}}
	started := make(chan error, 1)
	go func() {
		// The death that Pdeathsig means is that of the thread which
		// started the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // what it says is in ProcessState
		p.state <- cmd.ProcessState.String()
	}()
	return p, <-started
}

// wait returns how the process ended.
func (p *process) wait() string { return <-p.state }

func (p *process) signal(sig syscall.Signal) {
	// A group that is gone is what a signal is for in the end.
	_ = syscall.Kill(-p.cmd.Process.Pid, sig)
}

func (p *process) interrupt() { p.signal(syscall.SIGINT) }
func (p *process) terminate() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }
func (p *process) kill()      { p.signal(syscall.SIGKILL) }

// sweep kills what GoNB left: its group, and everything whose environment has the
// mark, wherever it went.
func (p *process) sweep(mark string) {
	p.kill()
	for range 20 {
		left := marked(mark)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		p.reap()
		if len(left) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// children lists the processes that a process has started.
func children(pid int) []int {
	lists, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		data, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// marked lists the living processes with the mark in their environment.
func marked(mark string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil {
			continue // gone, or somebody else's
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if string(v) == mark {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// reap waits for the orphans that this process adopted and that have ended. One that
// was started here has somebody who waits for it, so only a zombie that was
// there before is an orphan.
func (p *process) reap() {
	zombies := map[int]bool{}
	for _, pid := range children(os.Getpid()) {
		if pid == p.cmd.Process.Pid || !zombie(pid) {
			continue
		}
		if p.known[pid] {
			var status syscall.WaitStatus
			_, _ = syscall.Wait4(pid, &status, syscall.WNOHANG, nil)
			continue
		}
		zombies[pid] = true
	}
	p.known = zombies
}

func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	i := bytes.LastIndexByte(stat, ')')
	return i >= 0 && i+2 < len(stat) && stat[i+2] == 'Z'
}
