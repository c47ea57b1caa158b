package main

import (
	"context"
	"io"
	"os"
)

// input opens a file, or standard input for "-".
func input(name string, std streams) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(std.in), nil
	}
	return os.Open(name)
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
