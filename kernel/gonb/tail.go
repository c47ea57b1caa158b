package gonb

import (
	"io"
	"strings"
	"sync"
)

// tail passes on what GoNB logs and keeps the end of it.
type tail struct {
	w io.Writer // may be nil

	mu  sync.Mutex
	end []byte
}

const maxTail = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, p...)
	if n := len(t.end) - maxTail; n > 0 {
		t.end = append(t.end[:0], t.end[n:]...)
	}
	if t.w != nil {
		// That the log cannot be written is no reason to stop GoNB.
		_, _ = t.w.Write(p)
	}
	return len(p), nil
}

// last returns the last line that reports a failure.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := lines[i]; strings.HasPrefix(l, "F") || strings.HasPrefix(l, "panic:") {
			if _, msg, ok := strings.Cut(l, "] "); ok {
				return strings.TrimSpace(msg)
			}
			return l
		}
	}
	return ""
}
