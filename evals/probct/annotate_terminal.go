package probct

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/modellog/modellog/lang"
)

// Keys of a terminal in raw mode.
const (
	ctrlC     = '\x03'
	ctrlD     = '\x04'
	backspace = '\x08'
	enter     = '\r'
	ctrlU     = '\x15'
	ctrlZ     = '\x1a'
	escape    = '\x1b'
	del       = '\x7f'
)

const (
	enterScreen = "\x1b[?1049h\x1b[?2004h\x1b[?25l" // another screen, pastes marked, no cursor
	leaveScreen = "\x1b[?25h\x1b[?2004l\x1b[?1049l"
)

// keys makes keys of what a terminal sends. Sequences of special keys are left out, and all that is
// pasted: a text would answer for a person.
type keys struct {
	pending []byte // of a sequence or a character that has not come wholly
	pasting bool
}

// feed returns the keys that a chunk completes. An escape at a chunk's end is the key Escape.
func (k *keys) feed(chunk []byte) []rune {
	var out []rune
	b := append(k.pending, chunk...)
	for len(b) > 0 {
		if b[0] == escape {
			n, whole := sequenceLength(b)
			if !whole && len(b) > 1 && len(b) < 64 {
				break // the rest is on its way
			}
			switch {
			case n == 1 && !k.pasting:
				out = append(out, escape)
			case string(b[:n]) == "\x1b[200~":
				k.pasting = true
			case string(b[:n]) == "\x1b[201~":
				k.pasting = false
			}
			b = b[n:]
			continue
		}
		if !utf8.FullRune(b) {
			break
		}
		r, n := utf8.DecodeRune(b)
		if !k.pasting && (r != utf8.RuneError || n > 1) {
			out = append(out, r)
		}
		b = b[n:]
	}
	k.pending = append([]byte(nil), b...)
	return out
}

// sequenceLength is how long the sequence is that b begins with.
func sequenceLength(b []byte) (n int, whole bool) {
	switch {
	case len(b) == 1:
		return 1, true
	case b[1] == '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= '@' && b[i] <= '~' {
				return i + 1, true
			}
		}
		return len(b), false
	case b[1] == 'O':
		return min(3, len(b)), len(b) >= 3
	case b[1] == escape:
		return 1, true
	}
	return 2, true // Alt with a key
}

// screen is the terminal while it is the annotator's.
type screen struct {
	in, out *os.File
	found   *term.State
}

func openScreen(in, out *os.File) (*screen, error) {
	found, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	t := &screen{in, out, found}
	io.WriteString(out, enterScreen)
	return t, nil
}

func (t *screen) close() error {
	io.WriteString(t.out, leaveScreen)
	err := term.Restore(int(t.in.Fd()), t.found)
	if errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENXIO) {
		return nil // the terminal is gone
	}
	return err
}

// settle is how long the system may take to stop a program that has asked for it.
const settle = 200 * time.Millisecond

// suspend stops the program as Ctrl-Z does, and goes on when it is continued.
func (t *screen) suspend(continued <-chan os.Signal) error {
	if err := t.close(); err != nil {
		return err
	}
	if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
		return err
	}
	// Kill may return before the program stops; and where nobody could continue it, it does not.
	select {
	case <-continued:
	case <-time.After(settle):
	}
	return t.resume()
}

// resume takes the terminal back from whoever had it meanwhile.
func (t *screen) resume() error {
	if _, err := term.MakeRaw(int(t.in.Fd())); err != nil {
		return fmt.Errorf("taking the terminal back: %w", err)
	}
	_, err := io.WriteString(t.out, enterScreen)
	return err
}

// size is the terminal's.
func (t *screen) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns < 1 || rows < 1 {
		return 80, 24
	}
	return columns, rows
}

// draw fills the screen; what has no room is left out at the end of the body, never below it.
func (t *screen) draw(head, body, foot []string, cursor bool) {
	columns, rows := t.size()
	color := lang.StyleOf(t.out).Color
	if room := max(0, rows-len(head)-len(foot)); len(body) > room {
		body = body[:room]
	}
	var b strings.Builder
	b.WriteString("\x1b[?25l\x1b[H")
	all := append(append(append([]string(nil), head...), body...), foot...)
	if len(all) > rows {
		all = all[len(all)-rows:]
	}
	for i, l := range all {
		l = cut(l, columns)
		if color && i < len(head) {
			l = "\x1b[1m" + l + "\x1b[0m"
		}
		b.WriteString(l + "\x1b[K")
		if i < len(all)-1 {
			b.WriteString("\r\n")
		}
	}
	if cursor {
		b.WriteString("\x1b[?25h")
	}
	b.WriteString("\x1b[J")
	io.WriteString(t.out, b.String())
}

// cut shortens a line that no word's end breaks.
func cut(s string, columns int) string {
	if width(s) <= columns {
		return s
	}
	w := 0
	for i, r := range s {
		if w += width(string(r)); w > columns-1 {
			return s[:i] + "…"
		}
	}
	return s
}

const keysHelp = "a accept   r reject   s skip   u undo   n note   q quit"

// terminal takes answers key by key.
func (s *annotation) terminal(ctx context.Context, in, out *os.File) (err error) {
	t, err := openScreen(in, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	resized, continued := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(resized)
	defer signal.Stop(continued)
	hangup, stopHangup := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stopHangup()

	chunks := make(chan []byte)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(chunks)
		for {
			b := make([]byte, 256)
			n, err := in.Read(b)
			if n > 0 {
				select {
				case chunks <- b[:n]:
				case <-stop:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()

	var k keys
	a := &keyboard{annotation: s, screen: t, continued: continued}
	for {
		a.draw()
		select {
		case <-hangup.Done():
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return nil // the terminal has gone away: as good as quit
		case <-resized:
		case <-continued:
			if err := t.resume(); err != nil {
				return err
			}
		case chunk, ok := <-chunks:
			if !ok {
				return nil
			}
			for _, r := range k.feed(chunk) {
				done, err := a.press(r)
				if done || err != nil {
					return err
				}
			}
		}
	}
}

// keyboard is what keys mean at the moment.
type keyboard struct {
	*annotation
	screen    *screen
	continued <-chan os.Signal
	message   string
	noting    bool
	note      []rune
}

func (a *keyboard) draw() {
	columns, _ := a.screen.size()
	lines := a.show(columns)
	foot := []string{""}
	switch {
	case a.noting:
		// the end of the note is what is being written
		text := string(a.note)
		for width("note: "+text) > columns-1 && text != "" {
			_, n := utf8.DecodeRuneInString(text)
			text = text[n:]
		}
		foot = append(foot, fold("Enter keeps the note, Escape drops it", columns, "")...)
		foot = append(foot, "note: "+text)
	case a.current() == nil:
		foot = append(foot, "u undo   q quit")
	default:
		if a.message != "" {
			foot = append(foot, fold(a.message, columns, "")...)
		}
		foot = append(foot, fold(keysHelp, columns, "")...)
	}
	a.screen.draw(lines[:1], lines[1:], foot, a.noting)
}

// press acts on a key; done says that the annotator leaves.
func (a *keyboard) press(r rune) (done bool, err error) {
	switch r {
	case ctrlC:
		return true, ErrInterrupted
	case ctrlZ:
		return false, a.screen.suspend(a.continued)
	}
	if a.noting {
		return false, a.write(r)
	}
	a.message = ""
	x := a.current()
	answer := map[rune]Answer{'a': Accept, 'A': Accept, 'r': Reject, 'R': Reject, 's': Skip, 'S': Skip}[r]
	switch {
	case r == 'q' || r == 'Q' || r == ctrlD:
		return true, nil
	case r == 'u' || r == 'U':
		ok, err := a.undo()
		if !ok {
			a.message = "There is nothing to undo."
		}
		return false, err
	case x == nil:
	case r == 'n' || r == 'N':
		a.noting, a.note = true, []rune(a.answers.notes[itemKey{x.Subset, x.ID}])
	case answer != "":
		return false, a.say(answer)
	case r > ' ' && r != del:
		a.message = fmt.Sprintf("%q is no answer.", r)
	}
	return false, nil
}

// write edits the note.
func (a *keyboard) write(r rune) error {
	switch {
	case r == escape:
		a.noting = false
	case r == enter || r == '\n':
		a.noting = false
		x := *a.current()
		text := strings.TrimSpace(string(a.note))
		if text == a.answers.notes[itemKey{x.Subset, x.ID}] {
			return nil
		}
		return a.answers.Note(x, text)
	case r == backspace || r == del:
		if n := len(a.note); n > 0 {
			a.note = a.note[:n-1]
		}
	case r == ctrlU:
		a.note = nil
	case r >= ' ' && len(string(a.note)) < maxNote-utf8.UTFMax:
		a.note = append(a.note, r)
	}
	return nil
}
