//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"syscall"
)

// fileStamp is the same for two looks at a file only if nobody wrote to it,
// replaced it or renamed another over it in between. The time of the last
// change of status cannot be set by hand, as the time of modification can.
func fileStamp(fi fs.FileInfo) string {
	s := fmt.Sprintf("%d %d", fi.Size(), fi.ModTime().UnixNano())
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s += fmt.Sprintf(" %d %d %d", st.Dev, st.Ino, statusChange(st))
	}
	return s
}
