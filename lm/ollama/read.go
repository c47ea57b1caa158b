package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
)

// attempts is how often a reading is asked for, with another token sampled each
// time, before it is given up.
const attempts = 8

// PromptError reports a prefix that cannot be put to the server, which takes
// text where a model takes tokens.
type PromptError struct {
	Text   string // of the prefix
	Reason string
}

func (e *PromptError) Error() string {
	return fmt.Sprintf("Ollama's server cannot be asked what follows %s: %s; use the embedded engine (gguf:PATH), or another prefix", listed.Quote(e.Text), e.Reason)
}

// CountError reports that the server read another number of tokens than the
// prefix has.
type CountError struct {
	Text         string // of the prefix
	Ours, Server int
}

func (e *CountError) Error() string {
	return fmt.Sprintf("Ollama's server reads %s as %d tokens, and by the model's metadata it is %d: it was cut, or is tokenised differently, and the answer would be to another question; use the embedded engine (gguf:PATH), or another prefix", listed.Quote(e.Text), e.Server, e.Ours)
}

// EndOfTextError reports that the server kept its log-probabilities to itself,
// as it does when the text ends where the next token should be.
type EndOfTextError struct {
	Text string // of the prefix
}

func (e *EndOfTextError) Error() string {
	return fmt.Sprintf("Ollama's server gives no log-probabilities after %s: it takes the text to end there; use the embedded engine (gguf:PATH), or another prefix", listed.Quote(e.Text))
}

// ReplacedError reports that the server has another model under the name than when
// it was opened.
type ReplacedError struct {
	Name, Server string
	Opened, Now  string // digests
}

func (e *ReplacedError) Error() string {
	return fmt.Sprintf("the model %s on the Ollama server at %s is another one than when it was opened (%.12s, then %.12s); open it again", e.Name, e.Server, e.Now, e.Opened)
}

// Read reads the most probable next tokens after each prefix. All prefixes are
// checked before the first is asked about.
func (m *Model) Read(ctx context.Context, prefixes [][]lm.Token, yield func(i int, d lm.Distribution) error) error {
	if m.closed.Load() {
		return fmt.Errorf("reading with %s: the model is closed", m.info.Name)
	}
	if len(prefixes) == 0 {
		return ctx.Err()
	}
	prompts := make([]string, len(prefixes))
	longest := 0
	for i, prefix := range prefixes {
		var err error
		if prompts[i], err = m.prompt(prefix); err != nil {
			return err
		}
		longest = max(longest, len(prefix))
	}
	m.widen(longest)
	if err := m.unchanged(ctx); err != nil {
		return err
	}

	// Prefixes that begin alike follow each other, so that the server finds
	// the beginning in its cache.
	order := make([]int, len(prefixes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(slices.Compare(prefixes[a], prefixes[b]), cmp.Compare(a, b))
	})

	return m.readAll(ctx, prompts, prefixes, order, yield)
}

// checkEvery is how often the server is asked, during a reading, whether it still
// has the model; answers wait for that.
const checkEvery = 200 * time.Millisecond

// reading is a worker's answer about one prefix.
type reading struct {
	i     int
	d     lm.Distribution
	err   error
	fault any // of a panic
}

// readAll asks about the prompts in an order, several at a time, and hands the
// answers to yield, which runs in the caller's goroutine.
func (m *Model) readAll(ctx context.Context, prompts []string, prefixes [][]lm.Token, order []int, yield func(i int, d lm.Distribution) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var (
		workers  = min(m.parallel, len(order))
		readings = make(chan reading, 4*workers)
		next     atomic.Int64
		group    sync.WaitGroup
	)
	defer group.Wait()
	defer cancel()
	for range workers {
		group.Go(func() {
			for n := next.Add(1); n <= int64(len(order)); n = next.Add(1) {
				i := order[n-1]
				select {
				case readings <- m.readSafely(ctx, i, prompts[i], len(prefixes[i])):
				case <-ctx.Done():
					return
				}
			}
		})
	}

	var waiting []reading
	hand := func() error {
		for _, r := range waiting {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := yield(r.i, r.d); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
		return nil
	}
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	for left := len(order); left > 0; {
		due := false
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-check.C:
			due = len(waiting) > 0
		case r := <-readings:
			switch {
			case r.fault != nil:
				panic(r.fault)
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case r.err != nil:
				// What was read before is worth having. That the
				// model is another one may be why it failed.
				var replaced *ReplacedError
				if err := m.unchanged(ctx); errors.As(err, &replaced) {
					return err
				} else if err == nil {
					if err := hand(); err != nil {
						return err
					}
				}
				return r.err
			}
			waiting = append(waiting, r)
			left--
			due = left == 0
		}
		if !due {
			continue
		}
		if err := m.unchanged(ctx); err != nil {
			return err
		}
		if err := hand(); err != nil {
			return err
		}
	}
	return nil
}

// readSafely is read with a panic handed on.
func (m *Model) readSafely(ctx context.Context, i int, prompt string, tokens int) (r reading) {
	defer func() {
		if fault := recover(); fault != nil {
			r.fault = fault
		}
	}()
	r.i = i
	r.d, r.err = m.read(ctx, prompt, tokens)
	return r
}

// prompt returns the text that the server must be given to read the prefix.
func (m *Model) prompt(prefix []lm.Token) (string, error) {
	if len(prefix) > m.info.Context {
		return "", &lm.ContextError{Tokens: len(prefix), Context: m.info.Context}
	}
	text, err := listed.Prompt(m.tok, prefix)
	var none *listed.PromptError
	if errors.As(err, &none) {
		err = &PromptError{Text: none.Text, Reason: none.Reason}
	}
	return text, err
}

// widen sets the context that the server is asked for to hold n tokens and the
// one after them. It only grows, because the server loads the model again when
// it changes.
func (m *Model) widen(n int) {
	for {
		old := m.context.Load()
		if int64(n) < old {
			return
		}
		size := old
		for size <= int64(n) {
			size *= 2
		}
		if m.context.CompareAndSwap(old, min(size, int64(m.info.Context))) {
			return
		}
	}
}

// unchanged checks that the server still has the model that was opened.
func (m *Model) unchanged(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	listed, err := m.find(limited, m.info.Name)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("reading with %s: %w", m.info.Name, err)
	case listed.Digest != m.info.Digest:
		return &ReplacedError{Name: m.info.Name, Server: m.server, Opened: m.info.Digest, Now: listed.Digest}
	}
	return nil
}

// read asks for one reading.
func (m *Model) read(ctx context.Context, prompt string, tokens int) (lm.Distribution, error) {
	for attempt := range attempts {
		answer, err := m.ask(ctx, prompt, attempt)
		if err != nil {
			return lm.Distribution{}, fmt.Errorf("reading after %s: %w", listed.Quote(prompt), err)
		}
		if answer.PromptEvalCount != tokens {
			return lm.Distribution{}, &CountError{Text: prompt, Ours: tokens, Server: answer.PromptEvalCount}
		}
		if len(answer.Logprobs) > 0 && len(answer.Logprobs[0].TopLogprobs) > 0 {
			d, err := distribution(m.names, answer.Logprobs[0].TopLogprobs)
			if err != nil {
				return lm.Distribution{}, fmt.Errorf("reading after %s: the Ollama server at %s gave an answer that cannot be right: %w; is it the model that it lists, in a current version of Ollama?", listed.Quote(prompt), m.server, err)
			}
			return d, nil
		}
		if answer.Response != "" {
			return lm.Distribution{}, fmt.Errorf("the Ollama server at %s gives no log-probabilities; they need Ollama 0.12.11 or newer", m.server)
		}
	}
	return lm.Distribution{}, &EndOfTextError{Text: prompt}
}

// ask sends one request. Each attempt has another token sampled.
func (m *Model) ask(ctx context.Context, prompt string, attempt int) (answer api.GenerateResponse, err error) {
	limited, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	no := false
	options := m.plainOptions()
	options["num_predict"] = 1
	options["seed"] = attempt
	// None of these has an effect on the log-probabilities; they choose which token is
	// sampled: the most probable one.
	options["temperature"] = 0
	options["top_k"] = 1
	// That one ended the text, or was part of a character: take any of the
	// most probable, then any at all.
	if attempt > 0 {
		options["temperature"] = 1000
		if options["top_k"] = 2 * asked; attempt > 3 {
			options["top_k"] = 0
		}
	}
	answers := 0
	err = m.client.Generate(limited, &api.GenerateRequest{
		Model:       m.info.Name,
		Prompt:      prompt,
		Raw:         true,
		Stream:      &no,
		Think:       &api.ThinkValue{Value: false},
		Truncate:    &no,
		Shift:       &no,
		Logprobs:    true,
		TopLogprobs: asked,
		Options:     options,
	}, func(part api.GenerateResponse) error {
		// A server that streams regardless sends the parts one by one.
		answers++
		part.Response = answer.Response + part.Response
		part.Logprobs = append(answer.Logprobs, part.Logprobs...)
		answer = part
		return nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case err != nil:
		err = m.explain(limited, m.info.Name, err)
	case answers == 0 || !answer.Done:
		err = &brokenOffError{server: m.server, err: errors.New("the answer is not marked as complete")}
	}
	return answer, err
}
