package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// readJSON reads a small JSON file into v. A byte-order mark, which some
// editors put in front, is no part of the JSON.
func readJSON(path string, limit int64, v any) error {
	// Looking first keeps from opening a pipe, which would wait for ever.
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if int64(len(data)) > limit {
		return fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is not the JSON it should be: %w", path, err)
	}
	return nil
}

// writeJSON writes v so that the file is the old one or the new one, whole.
func writeJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(data, '\n'))
}

// replaceFile is renameio's WriteFile with what commitFile does for a folder, and for Windows as well.
func replaceFile(path string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	return commitFile(f, path)
}

// commitFile makes a finished temporary file the one at path, in the same
// folder: on the disk before it has the name, so that a loss of power cannot
// leave the name on half a file.
func commitFile(f *os.File, path string) error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		// Some file systems cannot sync a folder; the name is then as safe as
		// they make it.
		_ = dir.Sync()
		dir.Close()
	}
	return nil
}
