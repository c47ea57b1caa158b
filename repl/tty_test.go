package repl

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func ttyMode(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	mode, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	if err != nil {
		t.Fatal(err)
	}
	return *mode
}
