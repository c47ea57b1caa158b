package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"
)

// Whoever waits for somebody to type can be interrupted.
func TestWaitingForInputEnds(t *testing.T) {
	r, w, err := os.Pipe() // into which nobody writes
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for name, command := range map[string]func(context.Context, streams) error{
		"eval":  (&evalCmd{File: "-"}).Run,
		"count": (&countCmd{File: "-"}).Run,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := command(ctx, streams{in: r, out: new(bytes.Buffer), err: new(bytes.Buffer)})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Output that is lost is an error.
func TestLostOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("there is no full device here: %v", err)
	}
	defer full.Close()
	if err := (versionCmd{}).Run(streams{out: full}); err == nil {
		t.Error("version wrote to a full device")
	}
}
