package gonb

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GoNB makes two FIFOs in the system's temporary folder for each Go program that it runs, and removes them when the
// program has ended. A GoNB that is killed, or that is told to end while the program stays, leaves them. Their
// names are random; those of this child's are in the environment of its programs.

// pipesIn returns the FIFOs that an environment names.
func pipesIn(environ []byte) []string {
	var paths []string
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		key, path, _ := strings.Cut(string(v), "=")
		if key != "GONB_PIPE" && key != "GONB_PIPE_BACK" || !strings.HasPrefix(filepath.Base(path), "gonb_pipe_") {
			continue
		}
		if st, err := os.Lstat(path); err == nil && st.Mode().Type() == os.ModeNamedPipe {
			paths = append(paths, path)
		}
	}
	return paths
}

// notePipes looks for the FIFOs of the program that runs.
func (c *Child) notePipes(pids []int) {
	for _, pid := range pids {
		environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil {
			continue // gone, or somebody else's
		}
		paths := pipesIn(environ)
		if len(paths) == 0 {
			continue
		}
		c.mu.Lock()
		if !c.ended && slices.ContainsFunc(paths, func(path string) bool { return !slices.Contains(c.pipes, path) }) {
			for _, path := range c.pipes { // those of the program before, if GoNB has forgotten them
				if _, err := os.Lstat(path); err == nil && !slices.Contains(paths, path) {
					paths = append(paths, path)
				}
			}
			c.pipes = paths
			// Without the file the watchdog does not remove them, which is no reason to fail.
			_ = os.WriteFile(filepath.Join(c.dir, pipesFile), []byte(strings.Join(paths, "\n")+"\n"), 0o600)
		}
		c.mu.Unlock()
		return
	}
}

// watchPipes looks for FIFOs from time to time until it is told to stop.
func (c *Child) watchPipes(stop <-chan struct{}) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-c.done:
			return
		case <-tick.C:
			c.notePipes(children(c.PID()))
		}
	}
}

// removePipes removes the FIFOs that GoNB has left. The mutex is held.
func (c *Child) removePipes() {
	for _, path := range c.pipes {
		_ = os.Remove(path) // GoNB has removed it, as a rule
	}
}
