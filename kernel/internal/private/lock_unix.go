//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package private

import (
	"os"
	"syscall"
)

// take locks a file until it is closed, or this process ends. It is an error when somebody else has it.
func take(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
