package gonb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
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

// killSince kills the processes with the mark that were started since a moment, but for GoNB itself; of these only this
// process's own children, which are orphans that it adopted, if that is asked for.
func (p *process) killSince(mark string, m Moment, orphans bool) {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return
	}
	const tick = 10 * time.Millisecond // in which the system counts
	since := (time.Duration(now.Nano()) - time.Since(m.at)) / tick
	for _, pid := range marked(mark) {
		f := stat(pid)
		if pid == p.cmd.Process.Pid || slices.Contains(m.orphans, pid) || len(f) < 20 || orphans && f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		ticks, err := strconv.ParseInt(f[19], 10, 64)
		if err == nil && time.Duration(ticks) >= since {
			_ = syscall.Kill(pid, syscall.SIGKILL) // or it has ended
		}
	}
	p.reap()
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
	f := stat(pid)
	return len(f) > 0 && f[0] == "Z"
}

// stat returns what the system tells of a process, from its state on; its parent comes second, and when it was started
// twentieth. It is nil when the process has gone.
func stat(pid int) []string {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
}
