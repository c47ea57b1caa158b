package event

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// answering has distributions summarised on all processors. To exponentiate a vocabulary takes a good part of the
// time that a model takes for a short text; the model itself is idle meanwhile.
type answering struct {
	thresholds []float64

	// take is given each answer in the order in which the distributions came, from the goroutine that brought them.
	take func(i int, p *prefix, d lm.Distribution, a *answers) error

	summarizers []calibrate.Summarizer // one for each processor
	waiting     []waiting
}

// waiting is a distribution that has not been summarised yet.
type waiting struct {
	i      int
	prefix *prefix
	d      lm.Distribution
	answer *answers
	err    error
}

func newAnswering(thresholds []float64, take func(i int, p *prefix, d lm.Distribution, a *answers) error) *answering {
	return &answering{thresholds: thresholds, take: take, summarizers: make([]calibrate.Summarizer, runtime.GOMAXPROCS(0))}
}

// add brings the distribution after the i-th prefix, p.
func (a *answering) add(i int, p *prefix, d lm.Distribution) error {
	if d.Logits == nil { // a few of the most probable tokens
		answer, err := p.answer(d, nil, a.thresholds)
		if err != nil {
			return p.failed(err)
		}
		return a.take(i, p, d, answer)
	}
	a.waiting = append(a.waiting, waiting{i: i, prefix: p, d: d})
	if len(a.waiting) < 4*len(a.summarizers) {
		return nil
	}
	return a.finish()
}

// addLent brings the distributions after several prefixes, all whole, which change when it has returned.
func (a *answering) addLent(at []int, prefixes []*prefix, d []lm.Distribution) error {
	for k, i := range at {
		a.waiting = append(a.waiting, waiting{i: i, prefix: prefixes[i], d: d[k]})
	}
	return a.finish()
}

// finish gives what still waits to take.
func (a *answering) finish() error {
	rows := a.waiting
	a.waiting = a.waiting[:0]
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range a.summarizers[:min(len(a.summarizers), len(rows))] {
		wait.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(rows) {
					return
				}
				rows[k].answer, rows[k].err = rows[k].prefix.answer(rows[k].d, &a.summarizers[w], a.thresholds)
			}
		})
	}
	wait.Wait()
	defer clear(rows) // a row of logits is a megabyte
	for _, r := range rows {
		if r.err != nil {
			return r.prefix.failed(r.err)
		}
		if err := a.take(r.i, r.prefix, r.d, r.answer); err != nil {
			return err
		}
	}
	return nil
}
