package gguf

/*
#ifndef _WIN32
#include <stdio.h>
#include <unistd.h>

typedef void (*modellog_abort_callback)(const char *);

// Defined by the engine, which is another package's C code.
__attribute__((weak)) extern modellog_abort_callback ggml_set_abort_callback(modellog_abort_callback);

static int modellog_abort_fd;

// The engine ends the process when this returns, so it does not: the thread that
// found the fault is parked for good.
static void modellog_on_abort(const char *message) {
	char line[1024]; // in one piece, as several threads may fail at once
	int n = snprintf(line, sizeof line, "%.1000s\n", message);
	if (write(modellog_abort_fd, line, n) < 0) {
		_exit(134); // nobody would ever hear of it
	}
	for (;;) {
		pause();
	}
}

static int modellog_watch_aborts(int fd) {
	if (!ggml_set_abort_callback) {
		return 0;
	}
	modellog_abort_fd = fd;
	ggml_set_abort_callback(modellog_on_abort);
	return 1;
}
#else
static int modellog_watch_aborts(int fd) { return 0; }
#endif
*/
import "C"

import (
	"bufio"
	"fmt"
	"os"
	"sync"
)

// The engine checks what it is given by assertions that end the process. aborts
// turns a failed one into a message: the thread that failed is parked, its model
// is given up, and the program goes on.
type aborts struct {
	mu      sync.Mutex
	waiting map[chan string]bool
}

// engineAborts watches for the whole process, as the engine's callback is the
// process's.
var engineAborts = sync.OnceValue(func() *aborts {
	a := &aborts{waiting: make(map[chan string]bool)}
	r, w, err := os.Pipe()
	if err != nil {
		return a // a failed assertion ends the process, as it would without us
	}
	if C.modellog_watch_aborts(C.int(w.Fd())) == 0 {
		r.Close()
		w.Close()
		return a
	}
	go func() {
		defer w.Close() // keeps w from being collected while the callback writes to it
		for lines := bufio.NewScanner(r); lines.Scan(); {
			a.tell(lines.Text())
		}
	}()
	return a
})

// tell gives a message to everybody who waits: which model it is about is not
// known where one of the engine's own threads failed.
func (a *aborts) tell(message string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.waiting {
		select {
		case c <- message:
		default: // has its message already
		}
	}
}

// wait returns a channel for the message of an abort, and what ends the waiting.
func (a *aborts) wait() (c chan string, done func()) {
	c = make(chan string, 1)
	a.mu.Lock()
	a.waiting[c] = true
	a.mu.Unlock()
	return c, func() {
		a.mu.Lock()
		delete(a.waiting, c)
		a.mu.Unlock()
	}
}

// AbortError says that the engine gave up on a model, whose tensors are not what
// its metadata and its architecture make of them. The model cannot be read any
// more.
type AbortError struct {
	Path    string
	Message string // the engine's own
}

func (e *AbortError) Error() string {
	return fmt.Sprintf("the engine gave up on %s: its tensors do not fit its metadata (%s); fetch the file again", e.Path, e.Message)
}
