package repl

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// tty is the mode of a terminal. It is either as it was found, or takes single keys without
// echo: with Ctrl-C and Ctrl-Z as keys (editing) or as signals (not editing, so
// that what runs can be stopped and what is typed ahead stays out of its output).
type tty struct {
	in, out *os.File
	found   unix.Termios

	mu      sync.Mutex
	editing bool
	closed  bool
}

const (
	pasteOn  = "\x1b[?2004h" // the terminal marks what is pasted
	pasteOff = "\x1b[?2004l"
)

func openTTY(in, out *os.File) (*tty, error) {
	found, err := unix.IoctlGetTermios(int(in.Fd()), getTermios)
	if err != nil {
		return nil, err
	}
	t := &tty{in: in, out: out, found: *found}
	return t, t.acquire()
}

// edit says whether a line is being edited.
func (t *tty) edit(on bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.editing = on
	return t.set()
}

// acquire sets the mode again.
func (t *tty) acquire() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	_, err := t.out.WriteString(pasteOn)
	return errors.Join(t.set(), err)
}

// release gives the terminal back for a while.
func (t *tty) release() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	return t.restore()
}

// Close gives the terminal back for good.
func (t *tty) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return t.restore()
}

func (t *tty) restore() error {
	_, err := t.out.WriteString(pasteOff)
	err = errors.Join(unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &t.found), err)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ENXIO) {
		return nil // the terminal is gone
	}
	return err
}

func (t *tty) set() error {
	if t.closed {
		return nil
	}
	mode := t.found
	mode.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	mode.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN
	mode.Lflag |= unix.ISIG
	mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 1, 0
	if t.editing {
		mode.Lflag &^= unix.ISIG
	}
	return unix.IoctlSetTermios(int(t.in.Fd()), setTermios, &mode)
}
