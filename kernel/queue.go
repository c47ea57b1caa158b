package kernel

import (
	"sync"

	"github.com/modellog/modellog/kernel/wire"
)

// job is a request that waits for its turn.
type job struct {
	m       *wire.Message
	aborted bool // a cell before it failed
}

// Limits of what waits.
const (
	maxJobs     = 10_000
	maxJobBytes = 256 << 20
)

// queue is the requests that wait for their turn. When it is full, put waits,
// and so does the socket.
type queue struct {
	mu     sync.Mutex
	change *sync.Cond
	jobs   []*job
	size   int
	closed bool
}

func (q *queue) init() { q.change = sync.NewCond(&q.mu) }

// put adds a request; it returns false when the queue is closed.
func (q *queue) put(m *wire.Message) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && (len(q.jobs) >= maxJobs || q.size > maxJobBytes) {
		q.change.Wait()
	}
	if q.closed {
		return false
	}
	q.jobs = append(q.jobs, &job{m: m})
	q.size += len(m.Content)
	q.change.Broadcast()
	return true
}

// take returns the next request, or false when the queue is closed.
func (q *queue) take() (*job, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && len(q.jobs) == 0 {
		q.change.Wait()
	}
	if q.closed {
		return nil, false
	}
	j := q.jobs[0]
	q.jobs = q.jobs[1:]
	q.size -= len(j.m.Content)
	q.change.Broadcast()
	return j, true
}

// abort marks the cells that a front-end has queued.
func (q *queue) abort(session string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, j := range q.jobs {
		if j.m.Header.Session == session && j.m.Header.MsgType == "execute_request" {
			j.aborted = true
		}
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.change.Broadcast()
}
