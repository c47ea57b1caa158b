// Package private makes temporary folders that only the user can enter, and removes
// those that a process left which was killed.
package private

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// prefix of the folders' names; the process follows.
const prefix = "modellog-kernel-"

// Dir makes a folder, with mode 0700. Its path is short enough for a socket's.
func Dir() (string, error) {
	removeLeft()
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", prefix, os.Getpid()))
}

// removeLeft removes the folders of processes that are gone. Those of other users
// cannot be removed, and that is well.
func removeLeft() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
		if pid, err := strconv.Atoi(id); err == nil && !alive(pid) {
			_ = os.RemoveAll(dir)
		}
	}
}
