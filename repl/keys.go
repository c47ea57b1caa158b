package repl

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Code points that are never characters stand for what readline has no key for. Typed
// ones are taken for bytes that are no text.
const (
	keyPaste  = '\uFDD0' // the next text of keys.pasted
	keyDelete = '\uFDD1' // delete the character at the cursor, never leave
	badByte   = '\uFDD2' // a byte that is not UTF-8
	badNUL    = '\uFDD3' // a NUL byte, which readline takes for the end
)

const (
	ctrlA, ctrlC, ctrlE, ctrlZ, esc, del = 1, 3, 5, 26, 27, 127

	burst     = 16 // more bytes than this at once are not typed one by one
	maxEscape = 32 // bytes of the longest sequence that a key sends
)

// keys is a terminal's input as readline wants it. Text that arrives
// at once is handed over as one key, keyPaste, because readline redraws the line after each;
// keys that readline does not know are translated or dropped; a line that gets too long
// is cut. Each Read returns one key, so that nothing is read ahead here that
// Flush could not forget.
type keys struct {
	in           *os.File
	wakeR, wakeW *os.File
	suspend      func() // what Ctrl-Z does

	mu      sync.Mutex
	closed  bool
	ended   bool     // the terminal's input has ended
	inject  []byte   // keys that come before others
	raw     []byte   // read but not yet looked at
	out     []byte   // translated but not yet taken
	pasted  []string // texts of the keyPaste in out and after
	pasting bool     // between the marks around a paste
	length  int      // bytes of the line so far
	tooLong bool     // and there were more
	more    bool     // the last line's end was inside a paste
	stop    bool     // Ctrl-Z was pressed
}

func newKeys(in *os.File, suspend func()) (*keys, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &keys{in: in, wakeR: r, wakeW: w, suspend: suspend}, nil
}

// Read returns the bytes of a key. It waits for one outside the lock.
func (k *keys) Read(p []byte) (int, error) {
	for {
		k.mu.Lock()
		if k.closed {
			k.ended = true
			k.mu.Unlock()
			return 0, io.EOF
		}
		if len(k.inject) > 0 {
			n := copy(p, k.inject)
			k.inject = k.inject[n:]
			k.out, k.length, k.tooLong = nil, 0, false
			k.mu.Unlock()
			return n, nil
		}
		for len(k.out) == 0 && !k.stop && k.translate() {
		}
		if len(k.out) > 0 {
			n := copy(p, k.out)
			k.out = k.out[n:]
			k.mu.Unlock()
			return n, nil
		}
		stop := k.stop
		k.stop = false
		k.mu.Unlock()
		if stop {
			k.suspend()
			continue
		}

		buf := make([]byte, 2*maxLine)
		n, err := k.wait(buf)
		k.mu.Lock()
		k.raw = append(k.raw, buf[:n]...)
		if err != nil {
			k.closed = true
		}
		k.mu.Unlock()
	}
}

// wait reads from the terminal. It returns nothing where it has been woken.
func (k *keys) wait(buf []byte) (n int, err error) {
	in, wake := int(k.in.Fd()), int(k.wakeR.Fd())
	var patience *unix.Timeval // forever
	for {
		var set unix.FdSet
		set.Zero()
		set.Set(in)
		set.Set(wake)
		ready, err := unix.Select(max(in, wake)+1, &set, nil, nil, patience)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil || ready == 0:
			return n, err
		case set.IsSet(wake):
			var b [64]byte
			k.wakeR.Read(b[:])
			return n, nil
		}
		m, err := unix.Read(in, buf[n:])
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil:
			return n, err
		case m == 0:
			return n, io.EOF
		}
		// A terminal hands over a long paste in pieces; wait for them, to
		// show it once.
		if n += m; m < 1024 || n == len(buf) {
			return n, nil
		}
		t := unix.NsecToTimeval(int64(5 * time.Millisecond))
		patience = &t
	}
}

// Interrupt acts as if Ctrl-C was pressed.
func (k *keys) Interrupt() {
	k.mu.Lock()
	k.inject = []byte{ctrlC}
	k.mu.Unlock()
	k.wakeW.Write([]byte{0})
}

// Flush forgets what was read and not yet handed over.
func (k *keys) Flush() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.inject, k.raw, k.out, k.pasted = nil, nil, nil, nil
	k.pasting, k.length, k.tooLong = false, 0, false
}

// Close makes Read return io.EOF.
func (k *keys) Close() error {
	k.mu.Lock()
	closed := k.closed
	k.closed = true
	k.mu.Unlock()
	if !closed {
		k.wakeW.Write([]byte{0})
	}
	return nil
}

// free closes the files; no Read may run.
func (k *keys) free() {
	k.wakeR.Close()
	k.wakeW.Close()
}

// Ended reports whether there is no more input. What readline returns then is a
// line that nobody finished.
func (k *keys) Ended() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ended
}

// LineEnd tells of the line that was read last whether it was cut and whether
// a paste goes on after it.
func (k *keys) LineEnd() (tooLong, pasted bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tooLong, k.more
}

// takePasted returns the text of a keyPaste.
func (k *keys) takePasted() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.pasted) == 0 {
		return ""
	}
	text := k.pasted[0]
	k.pasted = k.pasted[1:]
	return text
}

// translate moves the next key from raw to out, and reports whether there was
// enough in raw to tell.
func (k *keys) translate() bool {
	if len(k.raw) == 0 {
		return false
	}
	switch c := k.raw[0]; {
	case c == esc:
		return k.escape()
	case c == '\r' || c == '\n':
		k.take(1)
		if c == '\r' && len(k.raw) > 0 && k.raw[0] == '\n' {
			k.take(1)
		}
		k.more = k.pasting || len(k.raw) > 0
		k.out, k.length = []byte{'\r'}, 0
		return true
	case k.pasting || c >= ' ' && c != del:
		return k.text()
	case c == 0:
		if k.length == 0 { // Ctrl-Space, pressed by accident
			k.take(1)
			return true
		}
		return k.text()
	case strings.IndexByte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0b\x0c\x0e\x10\x12\x13\x14\x15\x17\x19\x7f", c) >= 0:
		if c == ctrlC {
			k.length, k.tooLong = 0, false
		}
		k.take(1)
		k.out = []byte{c}
		return true
	}
	k.stop = k.raw[0] == ctrlZ
	k.take(1) // or a control character without a meaning here
	return true
}

func (k *keys) take(n int) { k.raw = k.raw[n:] }

// escape translates a sequence that starts with ESC.
func (k *keys) escape() bool {
	if k.pasting {
		const end = "\x1b[201~"
		if n := min(len(end), len(k.raw)); string(k.raw[:n]) != end[:n] {
			return k.text()
		} else if n < len(end) {
			return false
		}
		k.take(len(end))
		k.pasting = false
		return true
	}
	if len(k.raw) < 2 {
		return false
	}
	switch c := k.raw[1]; c {
	case 'b', 'f', 'd', del:
		k.out = []byte{esc, c}
		k.take(2)
		return true
	case '[', 'O':
	case esc:
		k.take(1)
		return true
	default: // Alt with another key
		k.take(2)
		return true
	}
	for i := 2; i < len(k.raw); i++ {
		switch c := k.raw[i]; {
		case i > maxEscape || c < ' ' || c > '~': // no such sequence
			k.take(i)
			return true
		case c >= '@' && (k.raw[1] == '[' || i == 2):
			k.sequence(string(k.raw[1 : i+1]))
			k.take(i + 1)
			return true
		}
	}
	return false
}

// sequence translates what follows ESC when a special key is pressed.
func (k *keys) sequence(s string) {
	switch s {
	case "[200~":
		k.pasting = true
	case "[1~", "[7~", "[H", "OH":
		k.out = []byte{ctrlA}
	case "[4~", "[8~", "[F", "OF":
		k.out = []byte{ctrlE}
	case "[3~":
		k.out = []byte(string(keyDelete))
	case "[1;5C", "[1;3C", "[5C", "OC5":
		k.out = []byte{esc, 'f'}
	case "[1;5D", "[1;3D", "[5D", "OD5":
		k.out = []byte{esc, 'b'}
	case "[3;5~", "[3;3~":
		k.out = []byte{esc, 'd'}
	case "[A", "[B", "[C", "[D", "OA", "OB", "OC", "OD":
		k.out = []byte{esc, '[', s[1]}
	}
}

// text hands over the text at the beginning of raw. In a paste everything is text
// but line ends and the mark at its end.
func (k *keys) text() bool {
	n := 0
	for n < len(k.raw) {
		c := k.raw[n]
		if c == '\r' || c == '\n' || c == esc && n > 0 || !k.pasting && (c < ' ' && c != 0 || c == del) {
			break
		}
		n++
	}
	if n == len(k.raw) {
		// The last character may not have come wholly.
		for i := 1; i < utf8.UTFMax && i <= n; i++ {
			if c := k.raw[n-i]; utf8.RuneStart(c) {
				if c >= utf8.RuneSelf && !utf8.FullRune(k.raw[n-i:]) {
					n -= i
				}
				break
			}
		}
	}
	if n == 0 {
		return false
	}
	text := k.raw[:n]
	if k.length += n; k.length > maxLine { // it will be dropped: do not show it all
		if k.tooLong {
			text = nil
		} else {
			text = append(bytes.Clone(text[:min(n, 60)]), "…"...)
		}
		k.tooLong = true
	}
	clean := sanitize(text)
	literal := k.pasting || len(clean) > burst
	k.take(n)
	switch {
	case len(text) == 0:
	case literal:
		k.pasted = append(k.pasted, clean)
		k.out = []byte(string(keyPaste))
	default:
		k.out = []byte(clean)
	}
	return true
}

// sanitize marks what is not text.
func sanitize(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && size == 1, keyPaste <= r && r <= badNUL:
			r = badByte
		case r == 0:
			r = badNUL
		}
		s.WriteRune(r)
		b = b[size:]
	}
	return s.String()
}

// original puts back what sanitize marked, so that the language can tell where
// it is.
func original(line string) string {
	return string(bytes.ReplaceAll(bytes.ReplaceAll([]byte(line),
		[]byte(string(badByte)), []byte{0xff}), []byte(string(badNUL)), []byte{0}))
}

// resetLine forgets that the last line was cut.
func (k *keys) resetLine() {
	k.mu.Lock()
	k.tooLong = false
	k.mu.Unlock()
}
