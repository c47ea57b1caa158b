// Package private makes temporary folders that only the user can enter, and removes
// those that a process left which was killed.
//
// Whoever has a folder holds a lock in it. The number of a process would not tell whether it lives: a kernel in a
// container may see the same folders, but not the same processes.
package private

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// prefix of the folders' names.
const prefix = "modellog-kernel-"

// lockName is the file in a folder that is locked as long as it is in use.
const lockName = "lock"

// Folder is a folder that is in use.
type Folder struct {
	Path string
	lock *os.File
}

// New makes a folder, with mode 0700. Its path is short enough for a socket's.
func New() (*Folder, error) {
	removeLeft()
	// It has its name when it has its lock.
	made, err := os.MkdirTemp("", "modellog-new-")
	if err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(made, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = take(lock)
	}
	path := filepath.Join(filepath.Dir(made), prefix+strings.TrimPrefix(filepath.Base(made), "modellog-new-"))
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close(), os.RemoveAll(made))
	}
	return &Folder{path, lock}, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error { return errors.Join(os.RemoveAll(f.Path), f.lock.Close()) }

// removeLeft removes the folders that nobody uses. Those of other users
// cannot be opened, and that is well.
func removeLeft() {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if take(lock) == nil {
			_ = os.RemoveAll(dir) // or it is tried again
		}
		_ = lock.Close()
	}
}
