package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/modellog/modellog/internal/nearest"
)

// input opens a file, or standard input for "-". What is in it is for messages.
func input(name, what string, std streams) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(std.in), nil
	}
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint := fmt.Sprintf("give the path of %s, or - for standard input", what)
		if near := neighbour(name); near != "" {
			hint = fmt.Sprintf("did you mean %s?", near)
		}
		return nil, &missingFile{fmt.Sprintf("there is no file %s; %s", name, hint)}
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give the path of %s in it", name, what)
	}
	return os.Open(name)
}

// missingFile is the fs.ErrNotExist of a message that says what to do.
type missingFile struct{ message string }

func (e *missingFile) Error() string        { return e.message }
func (e *missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// neighbour is a file beside the place where one was looked for, with a name that is nearly the same; "" where
// there is none.
func neighbour(name string) string {
	dir, base := filepath.Split(name)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return ""
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() {
			files = append(files, e.Name())
			if strings.TrimSuffix(e.Name(), filepath.Ext(e.Name())) == base {
				return dir + e.Name()
			}
		}
	}
	if near := nearest.Name(base, files); near != "" {
		return dir + near
	}
	return ""
}

// interruptible runs f, which may wait for ever for somebody to type or to write
// into a pipe, and leaves it behind when ctx ends.
func interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	case r := <-done:
		return r.value, r.err
	}
}
