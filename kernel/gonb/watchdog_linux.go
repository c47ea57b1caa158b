package gonb

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// watchdog is a process that outlives this one. When this one is killed, and nothing here can clean up, it
// kills what GoNB left behind that did not end by itself, such as a program that ignores signals, and removes
// the files.
type watchdog struct {
	cmd *exec.Cmd
	in  *os.File // whose other end the watchdog reads until this process is gone
}

// watchdogScript gets the mark in the environment of all that is to be killed and the file that names FIFOs as
// its arguments, and files to be removed in lines. It does nothing before there are no more.
const watchdogScript = `
trap '' INT TERM HUP
mark=$1; pipes=$2; shift 2
while read -r file; do set -- "$@" "$file"; done
named=$(
	[ -f "$pipes" ] && cat "$pipes"
	for environ in $(grep -lzxF -e "$mark" /proc/[0-9]*/environ 2>/dev/null); do
		tr '\0' '\n' <"$environ" 2>/dev/null | sed -n 's/^GONB_PIPE=//p; s/^GONB_PIPE_BACK=//p'
	done
)
sleep 2
for round in 1 2 3 4 5; do
	left=$(grep -lzxF -e "$mark" /proc/[0-9]*/environ 2>/dev/null)
	[ "$left" ] || break
	for environ in $left; do
		pid=${environ#/proc/}
		kill -KILL "${pid%/environ}" 2>/dev/null
	done
	sleep 1
done
printf '%s\n' "$named" | while read -r pipe; do
	case $pipe in */gonb_pipe_*) [ -p "$pipe" ] && rm -f -- "$pipe";; esac
done
rm -rf -- "$@"
`

// startWatchdog starts a watchdog in a session of its own, which no signal for this one's reaches.
func startWatchdog(mark, pipes string) (*watchdog, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "modellog-watchdog", mark, pipes)
	cmd.Dir = "/"
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("starting a watchdog: %w", err)
	}
	return &watchdog{cmd, w}, nil
}

// remove adds a file or folder that is to be removed.
func (w *watchdog) remove(path string) {
	// Without a watchdog there is nobody to tell.
	_, _ = fmt.Fprintln(w.in, path)
}

// stop ends the watchdog when all is clean.
func (w *watchdog) stop() {
	_ = w.cmd.Process.Kill() // or it has ended
	_ = w.cmd.Wait()
	_ = w.in.Close()
}
