//go:build unix

package private

import (
	"errors"
	"syscall"
)

// alive reports whether a process may exist.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
