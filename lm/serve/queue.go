package serve

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modellog/modellog/lm"
)

// errClosed is the error of a reading that the server's end cuts off.
var errClosed = errors.New("the server has ended")

// queue reads what several requests ask of a model together: whatever waits when the model is free, in rounds of a
// bounded number of prefixes, of which each request has a share. A request of many prefixes holds up no other.
type queue struct {
	model  lm.Model
	most   int           // prefixes of a round
	gather time.Duration // how long a round waits for more

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu    sync.Mutex
	jobs  []*job
	wake  chan struct{} // has one while there may be jobs that the reader has not seen
	round int           // rounds that were read, for tests
}

// job is the reading of some prefixes for a request.
type job struct {
	ctx      context.Context
	prefixes [][]lm.Token
	yield    func(i int, d lm.Distribution) error
	taken    int // prefixes that are read or in the round that is
	left     int // prefixes that are not read
	done     chan error
}

func newQueue(m lm.Model, l Limits) *queue {
	q := &queue{model: m, most: l.Batch, gather: l.Gather, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	go q.work()
	return q
}

// close ends the reading, what waits with an error.
func (q *queue) close() {
	q.cancel()
	<-q.done
}

// Read reads the distribution after each prefix, as lm.Model does, with what others ask for. The calls of yield
// come from another goroutine, and none after Read has returned.
func (q *queue) Read(ctx context.Context, prefixes [][]lm.Token, yield func(i int, d lm.Distribution) error) error {
	if len(prefixes) == 0 {
		return nil
	}
	j := &job{ctx: ctx, prefixes: prefixes, yield: yield, left: len(prefixes), done: make(chan error, 1)}
	q.mu.Lock()
	q.jobs = append(q.jobs, j)
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
	select {
	case err := <-j.done:
		if ctx.Err() != nil {
			return context.Cause(ctx) // what ends a round is not the reason
		}
		return err
	case <-q.done:
		// It may have been answered at the last moment.
		select {
		case err := <-j.done:
			return err
		default:
			return errClosed
		}
	case <-ctx.Done():
		// The reader may be in yield, and writes what is the caller's.
		q.mu.Lock()
		defer q.mu.Unlock()
		if i := slices.Index(q.jobs, j); i >= 0 {
			q.jobs = slices.Delete(q.jobs, i, i+1)
		}
		return context.Cause(ctx)
	}
}

func (q *queue) work() {
	defer close(q.done)
	for {
		select {
		case <-q.ctx.Done():
			return
		case <-q.wake:
		}
		if q.gather > 0 {
			select {
			case <-q.ctx.Done():
				return
			case <-time.After(q.gather):
			}
		}
		for q.read() {
		}
		if q.ctx.Err() != nil {
			return
		}
	}
}

// part is a prefix of a round.
type part struct {
	*job
	i int // of the job's prefixes
}

// take chooses the prefixes of a round: of each job that waits its share, in the order in which they came, and with
// the last of them those that go on from it, where the model reads them as one text: now they cost a token each, and
// later the whole text again.
func (q *queue) take() []part {
	q.mu.Lock()
	defer q.mu.Unlock()
	var round []part
	for len(round) < q.most {
		waiting := 0
		for _, j := range q.jobs {
			if j.taken < len(j.prefixes) {
				waiting++
			}
		}
		if waiting == 0 {
			break
		}
		share := max(1, (q.most-len(round))/waiting)
		for _, j := range q.jobs {
			for range min(share, len(j.prefixes)-j.taken, q.most-len(round)) {
				round = append(round, part{j, j.taken})
				j.taken++
			}
		}
	}
	if b, ok := q.model.(lm.Batcher); ok && q.most > 1 {
		for _, j := range q.jobs {
			last, end := j.taken-1, j.taken
			for last >= 0 && end < len(j.prefixes) && goesOn(j.prefixes[end-1], j.prefixes[end]) {
				end++
			}
			if end > j.taken && b.Batch(j.prefixes[last:end]) == end-last {
				for ; j.taken < end; j.taken++ {
					round = append(round, part{j, j.taken})
				}
			}
		}
	}
	// Sorted by their tokens, prefixes are read fastest.
	slices.SortStableFunc(round, func(a, b part) int { return slices.Compare(a.prefixes[a.i], b.prefixes[b.i]) })
	return round
}

// goesOn says whether a prefix is another one and a token more.
func goesOn(from, prefix []lm.Token) bool {
	return len(prefix) == len(from)+1 && slices.Equal(from, prefix[:len(from)])
}

// read reads a round, and says whether there was one.
func (q *queue) read() bool {
	round := q.take()
	if len(round) == 0 {
		return false
	}
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	// A round that nobody waits for any more is not read to its end.
	var wanted sync.WaitGroup
	seen := make(map[*job]bool)
	prefixes := make([][]lm.Token, len(round))
	over := make(chan struct{})
	defer close(over)
	for k, p := range round {
		prefixes[k] = p.prefixes[p.i]
		if !seen[p.job] {
			seen[p.job] = true
			wanted.Go(func() {
				select {
				case <-p.ctx.Done():
				case <-over:
				}
			})
		}
	}
	go func() {
		wanted.Wait()
		cancel()
	}()
	failed := make(map[*job]bool)
	err := q.model.Read(ctx, prefixes, func(k int, d lm.Distribution) error {
		p := round[k]
		q.mu.Lock()
		defer q.mu.Unlock()
		if failed[p.job] || !slices.Contains(q.jobs, p.job) || p.ctx.Err() != nil {
			return nil
		}
		if err := p.yield(p.i, d); err != nil {
			failed[p.job] = true
			q.end(p.job, err)
			return nil
		}
		if p.left--; p.left == 0 {
			q.end(p.job, nil)
		}
		return nil
	})
	q.mu.Lock()
	defer q.mu.Unlock()
	q.round++
	if err != nil {
		for j := range seen {
			if slices.Contains(q.jobs, j) {
				q.end(j, err)
			}
		}
	}
	return q.ctx.Err() == nil
}

// end answers a job. The queue is locked.
func (q *queue) end(j *job, err error) {
	if i := slices.Index(q.jobs, j); i >= 0 {
		q.jobs = slices.Delete(q.jobs, i, i+1)
	}
	j.done <- err
}
