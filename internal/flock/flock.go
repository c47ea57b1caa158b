// Package flock locks a file among processes. A lock ends with the process that
// holds it, however that process ends. The locked file stays: were it removed,
// two processes could each hold a lock on a file of that name.
package flock

import (
	"context"
	"fmt"
	"os"
	"time"
)

// Lock is a lock file that is open. It is for one goroutine at a time.
type Lock struct{ f *os.File }

// Open opens the lock file, making it if need be, and does not lock it.
func Open(path string) (*Lock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	return &Lock{f}, nil
}

// TryExclusive takes the lock for this process alone, or reports false when
// another holds it. A shared lock that is held is given up either way.
func (l *Lock) TryExclusive() (bool, error) { return l.try(true) }

// TryShared takes the lock together with others that share it, or reports false
// when another holds it exclusively.
func (l *Lock) TryShared() (bool, error) { return l.try(false) }

// Exclusive waits for the lock, until the context ends.
func (l *Lock) Exclusive(ctx context.Context) error { return l.wait(ctx, true) }

// Shared waits for a shared lock, until the context ends.
func (l *Lock) Shared(ctx context.Context) error { return l.wait(ctx, false) }

// Close gives up the lock.
func (l *Lock) Close() error { return l.f.Close() }

func (l *Lock) try(exclusive bool) (bool, error) {
	ok, err := tryLock(l.f, exclusive)
	if err != nil {
		return false, fmt.Errorf("locking %s: %w", l.f.Name(), err)
	}
	return ok, nil
}

// wait asks again and again: a system call that waits could not be ended by the
// context.
func (l *Lock) wait(ctx context.Context, exclusive bool) error {
	const pause = 50 * time.Millisecond
	for {
		if ok, err := l.try(exclusive); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
