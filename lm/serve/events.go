package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// events sends an answer as server-sent events, each while those after it are made: a model that writes is busy until
// it is done, and a client that is slow to read must not keep it from the others. What waits is bounded as an answer in
// one piece is.
type events struct {
	ctx context.Context // of the request
	w   http.ResponseWriter

	mu    sync.Mutex
	wait  [][]byte
	ended bool          // nothing more comes
	err   error         // of the connection
	more  chan struct{} // has one while there is something to do
	done  chan struct{} // closed when all is sent, or cannot be
}

func newEvents(ctx context.Context, w http.ResponseWriter) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	e := &events{ctx: ctx, w: w, more: make(chan struct{}, 1), done: make(chan struct{})}
	go e.write()
	return e
}

// add adds an event, and returns the error of one that could not be sent.
func (e *events) add(answer any) error {
	data, err := marshal(answer)
	if err != nil {
		return err
	}
	return e.addData(data)
}

func (e *events) addData(data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wait = append(e.wait, data)
	e.wake()
	return e.err
}

// wake has what there is to do done. The lock is held.
func (e *events) wake() {
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// close waits until everything is sent.
func (e *events) close() error {
	e.mu.Lock()
	e.ended = true
	e.wake()
	e.mu.Unlock()
	<-e.done
	return e.err
}

func (e *events) write() {
	defer close(e.done)
	for range e.more {
		e.mu.Lock()
		wait, ended := e.wait, e.ended
		e.wait = nil
		e.mu.Unlock()
		if err := e.writeAll(wait); err != nil {
			e.mu.Lock()
			e.err = err
			e.mu.Unlock()
			return
		}
		if ended {
			return
		}
	}
}

func (e *events) writeAll(all [][]byte) error {
	control := http.NewResponseController(e.w)
	for _, data := range all {
		// A client that takes a little each time has no more time than others, and then some to hear why it ends.
		until := time.Now()
		if late, ok := e.ctx.Deadline(); ok && late.Before(until) {
			until = late
		}
		_ = control.SetWriteDeadline(until.Add(writeTime)) // not all connections have deadlines
		if _, err := fmt.Fprintf(e.w, "data: %s\n\n", data); err != nil {
			return err
		}
		if err := control.Flush(); err != nil {
			return err
		}
	}
	_ = control.SetWriteDeadline(time.Time{})
	return nil
}
