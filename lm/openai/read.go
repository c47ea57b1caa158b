package openai

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/modellog/modellog/lm"
)

// Tokenize returns the text's own tokens, by the server's word or by the vocabulary that is here.
func (m *Model) Tokenize(ctx context.Context, text string) (out []lm.Token, err error) {
	if err := m.ready("tokenising"); err != nil {
		return nil, err
	}
	if text == "" {
		return nil, ctx.Err()
	}
	if err = utf8Text(text); err == nil {
		err = m.pool.do(ctx, func(ctx context.Context, e *endpoint) (err error) {
			out, err = m.dialect.tokenize(ctx, e, text)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("tokenising with %s: %w", m.info.Name, onPrompt(err))
	}
	for _, t := range out {
		if t < 0 || int(t) >= m.info.Vocabulary {
			return nil, fmt.Errorf("tokenising with %s: the server names token %d, and the model has %d", m.info.Name, t, m.info.Vocabulary)
		}
	}
	return out, nil
}

// Piece returns the bytes that a token stands for. Where a server tells these of each token
// by itself they are asked for, and those of some thousands are nil in the end.
func (m *Model) Piece(t lm.Token) []byte {
	if m.dialect == nil {
		return nil
	}
	return m.dialect.piece(m.life, t)
}

// ready says whether the model can be read.
func (m *Model) ready(doing string) error {
	switch {
	case m.life.Err() != nil:
		return fmt.Errorf("%s with %s: the model is closed", doing, m.info.Name)
	case m.dialect == nil:
		return fmt.Errorf("%s with %s: %w", doing, m.info.Name, m.unread)
	}
	m.pool.revive()
	return nil
}

// Read reads the distributions after prefixes, each at one of the servers. All prefixes
// are checked before the first is asked about.
func (m *Model) Read(ctx context.Context, prefixes [][]lm.Token, yield func(i int, d lm.Distribution) error) error {
	if err := m.ready("reading"); err != nil {
		return err
	}
	for _, prefix := range prefixes {
		switch {
		case len(prefix) == 0:
			return lm.ErrEmptyPrefix
		case m.info.Context > 0 && len(prefix) > m.info.Context:
			return &lm.ContextError{Tokens: len(prefix), Context: m.info.Context}
		}
		for _, t := range prefix {
			if t < 0 || int(t) >= m.info.Vocabulary {
				return fmt.Errorf("token %d is outside the vocabulary of %s, which has %d tokens", t, m.info.Name, m.info.Vocabulary)
			}
		}
	}
	return m.readAll(ctx, prefixes, m.chainsOf(prefixes), yield)
}

// chainsOf puts the indices of prefixes into an order in which those that begin alike follow each other,
// and together where one request answers all: each is the beginning of the next.
func (m *Model) chainsOf(prefixes [][]lm.Token) [][]int {
	order := make([]int, len(prefixes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(prefixes[a], prefixes[b]), cmp.Compare(a, b))
	})
	var out [][]int
	for k, i := range order {
		if k > 0 && m.dialect.chains() {
			last := prefixes[order[k-1]]
			if len(last) < len(prefixes[i]) && slices.Equal(last, prefixes[i][:len(last)]) {
				out[len(out)-1] = append(out[len(out)-1], i)
				continue
			}
		}
		out = append(out, []int{i})
	}
	return out
}

// reading is what came of a chain.
type reading struct {
	chain []int
	ds    []lm.Distribution
	err   error
}

// readAll asks about the chains in their order, as many at a time as the servers take, and
// hands the answers to yield, which runs in the caller's goroutine.
func (m *Model) readAll(ctx context.Context, prefixes [][]lm.Token, chains [][]int, yield func(i int, d lm.Distribution) error) error {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(m.life, func() { cancel(fmt.Errorf("reading with %s: the model was closed", m.info.Name)) })()
	var (
		workers  = min(m.pool.slots(), len(chains))
		readings = make(chan reading)
		next     atomic.Int64
		group    sync.WaitGroup
	)
	defer group.Wait()
	defer cancel(nil)
	for range workers {
		group.Go(func() {
			for n := next.Add(1); n <= int64(len(chains)); n = next.Add(1) {
				r := reading{chain: chains[n-1]}
				asked := make([][]lm.Token, len(r.chain))
				for k, i := range r.chain {
					asked[k] = prefixes[i]
				}
				r.err = m.pool.do(ctx, func(ctx context.Context, e *endpoint) (err error) {
					r.ds, err = m.dialect.read(ctx, e, asked)
					return err
				})
				select {
				case readings <- r:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	for left := len(chains); left > 0; left-- {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case r := <-readings:
			switch {
			case outer.Err() != nil:
				return context.Cause(outer)
			case r.err != nil:
				return fmt.Errorf("reading with %s: %w", m.info.Name, onPrompt(r.err))
			}
			for k, i := range r.chain {
				if err := yield(i, r.ds[k]); err != nil {
					return err
				}
			}
		}
	}
	return outer.Err()
}
