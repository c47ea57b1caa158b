package repl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

const (
	maxHistory      = 1000      // statements that can be recalled
	maxHistoryEntry = 8 << 10   // bytes of one
	maxHistoryFile  = 1 << 20   // bytes of the file that are read
	trimHistory     = 512 << 10 // bytes at which the file is cut to the newest statements
)

// history is what was typed, oldest first, in memory and in a file of one
// statement a line. The file is only ever appended to, or replaced whole, under
// a lock, so that several REPLs can share it: what one of them adds, the others see
// when they start the next time.
type history struct {
	path    string // "" where nothing is kept
	entries []string
	warn    func(error)
}

// openHistory reads a history. What goes wrong with the file is told once, and
// then it is left alone.
func openHistory(path string, warn func(error)) *history {
	h := &history{path: path, warn: warn}
	if path == "" {
		return h
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.fail(err)
		return h
	}
	err := h.locked(func(f *os.File) error {
		var err error
		h.entries, err = readHistory(f)
		return err
	})
	if err != nil {
		h.fail(err)
	}
	return h
}

func (h *history) fail(err error) {
	h.warn(fmt.Errorf("what is typed here is not kept for the next time: %w", err))
	h.path = ""
}

// Add appends a statement, unless it is the same as the last one.
func (h *history) Add(statement string) {
	entry := oneLine(statement)
	if entry == "" || len(entry) > maxHistoryEntry || !isText(entry) ||
		len(h.entries) > 0 && h.entries[len(h.entries)-1] == entry {
		return
	}
	h.entries = append(h.entries, entry)
	if n := len(h.entries) - maxHistory; n > 0 {
		h.entries = slices.Delete(h.entries, 0, n)
	}
	if h.path == "" {
		return
	}
	if err := h.locked(func(f *os.File) error { return h.write(f, entry) }); err != nil {
		h.fail(err)
	}
}

func (h *history) write(f *os.File, entry string) error {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	line := entry + "\n"
	if end > 0 {
		// A writer that was killed may have left half a line.
		var last [1]byte
		if _, err := f.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			line = "\n" + line
		}
	}
	if _, err := f.WriteString(line); err != nil {
		return err
	}
	if end < trimHistory {
		return nil
	}
	entries, err := readHistory(f)
	if err != nil {
		return err
	}
	for total := 0; ; { // at most half of what is allowed
		total = 0
		for _, e := range entries {
			total += len(e) + 1
		}
		if total <= trimHistory/2 {
			break
		}
		entries = entries[len(entries)/8+1:]
	}
	temp, err := os.CreateTemp(filepath.Dir(h.path), filepath.Base(h.path)+".*") // has mode 0600
	if err != nil {
		return err
	}
	_, err = temp.WriteString(strings.Join(entries, "\n") + "\n")
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), h.path)
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}

// locked calls f with the history file, locked against others.
func (h *history) locked(f func(*os.File) error) error {
	for {
		file, err := os.OpenFile(h.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NONBLOCK, 0o600)
		if err != nil {
			return err
		}
		again, err := h.withFile(file, f)
		file.Close()
		if !again {
			return err
		}
	}
}

func (h *history) withFile(file *os.File, f func(*os.File) error) (again bool, err error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a file", h.path)
	}
	// Without locks (some network file systems) appending is still safe.
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err == nil {
		if now, err := os.Stat(h.path); err != nil || !os.SameFile(info, now) {
			return true, nil // another REPL has replaced the file
		}
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := file.Chmod(0o600); err != nil {
			return false, err
		}
	}
	return false, f(file)
}

// readHistory returns the newest statements of a history file.
func readHistory(f *os.File) ([]string, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	from := max(end-maxHistoryFile, 0)
	b, err := io.ReadAll(io.NewSectionReader(f, from, end-from))
	if err != nil {
		return nil, err
	}
	if from > 0 {
		_, b, _ = bytes.Cut(b, []byte("\n"))
	}
	var entries []string
	for line := range strings.Lines(string(b)) {
		line, whole := strings.CutSuffix(line, "\n")
		if whole && strings.TrimSpace(line) != "" && len(line) <= maxHistoryEntry && isText(line) {
			entries = append(entries, line)
		}
	}
	return entries[max(len(entries)-maxHistory, 0):], nil
}

// isText reports whether a line can be shown and edited.
func isText(line string) bool {
	return utf8.ValidString(line) && strings.IndexFunc(line, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' || keyPaste <= r && r <= badNUL
	}) < 0
}

// oneLine writes a statement of several lines as one line that means the same:
// without the comments that would hide what comes after them.
func oneLine(statement string) string {
	lines := strings.Split(strings.TrimSpace(statement), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	var parts []string
	for _, line := range lines {
		if line = strings.TrimSpace(withoutComment(line)); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, " ")
}

// withoutComment cuts a line before the "#" that is in no text in quotes.
func withoutComment(line string) string {
	quote, raw := byte(0), false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0 && c == '\\' && !raw:
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
			raw = i > 0 && (line[i-1] == 'r' || line[i-1] == 'R')
		case quote == 0 && c == '#':
			return line[:i]
		}
	}
	return line
}
