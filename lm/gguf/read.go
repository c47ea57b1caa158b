package gguf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modellog/modellog/lm"
)

// Read reads the next-token distribution after each prefix, identical prefixes
// once. It returns as soon as ctx ends; what the engine is computing is then
// dropped in the background, after at most a chunk of tokens.
func (m *Model) Read(ctx context.Context, prefixes [][]lm.Token, yield func(i int, d lm.Distribution) error) error {
	return m.read(ctx, prefixes, func(asked [][]int, logits [][]float32) error {
		for k, row := range logits {
			d := lm.Distribution{Logits: slices.Clone(row), Vocabulary: m.info.Vocabulary}
			for _, i := range asked[k] {
				if err := yield(i, d); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Lend is Read without copying what the engine computes, where that lies in the processor's memory.
func (m *Model) Lend(ctx context.Context, prefixes [][]lm.Token, yield func(at []int, d []lm.Distribution) error) error {
	return m.read(ctx, prefixes, func(asked [][]int, logits [][]float32) error {
		var at []int
		var ds []lm.Distribution
		for k, row := range logits {
			for _, i := range asked[k] {
				at, ds = append(at, i), append(ds, lm.Distribution{Logits: row, Vocabulary: m.info.Vocabulary})
			}
		}
		return yield(at, ds)
	})
}

// read hands over rows of logits, many at a time and only until rows returns, with the prefixes that asked for each.
func (m *Model) read(ctx context.Context, prefixes [][]lm.Token, rows func(asked [][]int, logits [][]float32) error) error {
	distinct, asked, err := m.distinct(prefixes)
	if err != nil {
		return err
	}
	for len(distinct) > 0 {
		n := m.Batch(distinct)
		err := m.compute(ctx, distinct[:n], func(of []int, logits [][]float32) error {
			by := make([][]int, len(of))
			for k, prefix := range of {
				by[k] = asked[prefix]
			}
			return rows(by, logits)
		})
		if err != nil {
			return err
		}
		distinct, asked = distinct[n:], asked[n:]
	}
	return nil
}

// distinct returns the different prefixes in the order of their first
// occurrence, and for each the indices at which it stands.
func (m *Model) distinct(prefixes [][]lm.Token) (distinct [][]lm.Token, asked [][]int, err error) {
	var all growing
	place := make(map[int]int) // by the node at which a prefix ends
	for i, prefix := range prefixes {
		if len(prefix) == 0 {
			return nil, nil, lm.ErrEmptyPrefix
		}
		if len(prefix) > m.info.Context {
			return nil, nil, &lm.ContextError{Tokens: len(prefix), Context: m.info.Context}
		}
		for _, t := range prefix {
			if t < 0 || int(t) >= m.info.Vocabulary {
				return nil, nil, fmt.Errorf("token %d is outside the model's vocabulary of %d", t, m.info.Vocabulary)
			}
		}
		end, _, _ := all.add(prefix)
		at, known := place[end]
		if !known {
			at = len(distinct)
			place[end] = at
			distinct = append(distinct, prefix)
			asked = append(asked, nil)
		}
		asked[at] = append(asked[at], i)
	}
	return distinct, asked, nil
}

// Batch returns how many of the first prefixes are computed together: [Options].Batch, if they make no more than a
// chunk of tokens beside what all of them begin with. Past that, those are added that go on from a long one of them,
// for which it would have to be read again: all beginnings of a text are one batch. What some begin with alike is read
// once, so that prefixes which come sorted by their tokens are read fastest. Products of few rows and of many add up
// in another order, so that the last digits depend on the batch: of a log-probability the fifth.
func (m *Model) Batch(prefixes [][]lm.Token) int {
	var read growing
	n, nodes, common := 0, 0, 0
	for n < len(prefixes) {
		_, known, at := read.add(prefixes[n])
		stem := len(prefixes[0])
		if n > 0 {
			stem = min(common, alike(prefixes[0], prefixes[n]))
		}
		nodes += len(prefixes[n]) - known
		fits := n < m.batch && nodes <= stem+m.chunk
		// A batch of one is of one whatever it costs: nothing is to depend on what is read with it.
		goesOn := m.batch > 1 && known >= m.batch && read.ends[at] && nodes <= len(prefixes[n])+m.chunk
		if n > 0 && !fits && !goesOn {
			break
		}
		n, common = n+1, stem
	}
	return n
}

// Tokens returns how many tokens [Model.Read] lets through the model for prefixes: fewer than they have, where
// several begin alike.
func (m *Model) Tokens(prefixes [][]lm.Token) (int, error) {
	distinct, _, err := m.distinct(prefixes)
	if err != nil {
		return 0, err
	}
	tokens := 0
	for len(distinct) > 0 {
		n := m.Batch(distinct)
		nodes, _ := tree(distinct[:n])
		tokens += len(nodes)
		distinct = distinct[n:]
	}
	return tokens, nil
}

// compute runs one batch and lends the logits after prefixes to rows, in the caller's goroutine.
func (m *Model) compute(ctx context.Context, batch [][]lm.Token, rows func(prefixes []int, logits [][]float32) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if gone := m.aborted.Load(); gone != nil {
		return gone
	}
	aborted, enough := engineAborts().wait()
	defer enough()
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	type pass struct {
		prefixes []int
		logits   [][]float32
	}
	passes, taken := make(chan pass), make(chan struct{})
	take := func(p pass) error {
		defer func() { taken <- struct{}{} }()
		return rows(p.prefixes, p.logits)
	}
	done := make(chan error, 1)
	go func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if ctx.Err() != nil {
			done <- ctx.Err()
			return
		}
		done <- m.forward(ctx, batch, func(prefixes []int, logits [][]float32) error {
			select {
			case passes <- pass{prefixes, logits}:
				<-taken // until then the engine leaves them as they are
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-passes:
			if err := take(p); err != nil {
				return err
			}
		case err := <-done:
			return err
		case message := <-aborted:
			gone := &AbortError{Path: m.info.Path, Message: message}
			m.aborted.Store(gone)
			return gone
		}
	}
}

// forward runs one batch with the engine locked.
func (m *Model) forward(ctx context.Context, batch [][]lm.Token, rows func(prefixes []int, logits [][]float32) error) error {
	if m.closed {
		return errors.New("the model has been closed")
	}
	nodes, stem := tree(batch)
	if err := m.makeRoom(ctx, len(nodes)); err != nil {
		return err
	}
	checked := func(prefixes []int, logits [][]float32) error {
		for _, row := range logits {
			if len(row) != m.info.Vocabulary {
				return fmt.Errorf("the engine predicts %d tokens and the tokenizer has %d", len(row), m.info.Vocabulary)
			}
		}
		return rows(prefixes, logits)
	}
	if m.engine.held != nil {
		return m.engine.forward(ctx, nodes, stem, checked)
	}
	for i := range batch {
		nodes, stem := tree(batch[i : i+1])
		if err := m.engine.forward(ctx, nodes, stem, func(_ []int, logits [][]float32) error { return checked([]int{i}, logits) }); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom loads the model where it is not loaded yet, and anew where so many tokens
// do not fit the room there is for keys and values.
func (m *Model) makeRoom(ctx context.Context, tokens int) error {
	capacity := defaultCapacity
	if m.engine != nil {
		capacity = m.engine.capacity
	}
	for capacity < tokens {
		capacity *= 2
	}
	if m.engine != nil {
		if capacity == m.engine.capacity {
			return nil
		}
		m.engine.close()
		m.engine = nil
	}
	if err := m.unchanged(); err != nil {
		return err
	}
	if err := m.checkWeights(ctx); err != nil {
		return err
	}
	e, err := load(ctx, m.weights, m.options.Threads, m.layers, m.info.Precision, capacity, m.chunk, m.batch, m.options.Progress)
	if err != nil {
		return fmt.Errorf("loading %s: %w", m.info.Path, err)
	}
	m.engine = e
	return nil
}
