package gonb

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxLog is how long GoNB's log may become before it begins anew.
const maxLog = 4 << 20

func (c *Child) logPath() string { return filepath.Join(c.dir, "log") }

// trimLog empties a log that has become long. GoNB appends to it, so it goes on at
// its new end.
func trimLog(path string) {
	if st, err := os.Stat(path); err == nil && st.Size() > maxLog {
		_ = os.Truncate(path, 0) // it is tried again
	}
}

// lastFailure returns the last line of a log that reports why GoNB fell.
func lastFailure(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const tail = 16 << 10
	if st, err := f.Stat(); err == nil && st.Size() > tail {
		if _, err := f.Seek(-tail, io.SeekEnd); err != nil {
			return ""
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, tail))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
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
