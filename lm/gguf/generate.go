package gguf

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/chat"
)

var (
	_ lm.Generator = (*Model)(nil)
	_ lm.Sampler   = (*Model)(nil)
)

// Input returns what the model is given for a request.
func (m *Model) Input(ctx context.Context, r lm.Request) (lm.Input, error) {
	if err := ctx.Err(); err != nil {
		return lm.Input{}, err
	}
	if len(r.Messages) > 0 {
		t, err := m.chat()
		if err != nil {
			return lm.Input{}, fmt.Errorf("%s: %w", m.info.Name, err)
		}
		in, err := t.Input(ctx, m.tokenizer, r.Messages)
		if err != nil {
			return lm.Input{}, fmt.Errorf("putting the conversation into %s's chat template: %w", m.info.Name, err)
		}
		return in, nil
	}
	own, err := m.tokenizer.Encode(r.Prompt)
	if err != nil {
		return lm.Input{}, fmt.Errorf("tokenising the prompt: %w", err)
	}
	tokens, err := lm.Prompt(m, own)
	if err != nil {
		return lm.Input{}, err
	}
	return lm.Input{Text: r.Prompt, Tokens: tokens}, nil
}

// readChatTemplate parses the file's template.
func readChatTemplate(m *Model) (*chat.Template, error) {
	source := m.header.KV.String("tokenizer.chat_template")
	if source == "" {
		return nil, lm.ErrNoChatTemplate
	}
	return chat.Parse(source)
}

// Generate continues a text or answers in a conversation, in the precision that
// the model was opened with. The input is read once and then one token at a time,
// with the keys and values of those before kept. It has the engine to itself until
// it is done: other calls wait.
func (m *Model) Generate(ctx context.Context, r lm.Request) (lm.Response, error) {
	if err := r.Check(); err != nil {
		return lm.Response{}, err
	}
	in, err := m.Input(ctx, r)
	if err != nil {
		return lm.Response{}, err
	}
	response := lm.Response{Input: in, Prompt: len(in.Tokens)}
	w := lm.Writer{Stop: r.Stop, Stream: r.Stream}
	finish, err := m.Sample(ctx, in.Tokens, r, func(t lm.Token, _ lm.Distribution) error {
		control, ends := m.Mark(t)
		if !ends {
			response.Generated++
		}
		if control || ends {
			return nil
		}
		stopped, err := w.Write(m.tokenizer.Piece(t))
		if err == nil && stopped {
			err = errStopMet
		}
		return err
	})
	if errors.Is(err, errStopMet) {
		finish, err = lm.Stop, nil
	}
	if err == nil {
		err = w.Close()
	}
	response.Text = w.Text()
	if err == nil {
		response.Finish = finish
	}
	return response, err
}

// errStopMet ends the drawing where a text of Request.Stop has been written.
var errStopMet = errors.New("a stop text was met")

// Mark says what a token is besides text.
func (m *Model) Mark(t lm.Token) (control, ends bool) {
	return m.tokenizer.IsControl(t), slices.Contains(m.ends, t)
}

// Sample draws the tokens that follow a prompt.
func (m *Model) Sample(ctx context.Context, prompt []lm.Token, r lm.Request, yield func(t lm.Token, d lm.Distribution) error) (lm.Finish, error) {
	r.Prompt, r.Messages = "", nil
	if err := r.Check(); err != nil {
		return "", err
	}
	if _, _, err := m.distinct([][]lm.Token{prompt}); err != nil {
		return "", err
	}
	// The last token is predicted and not read.
	most := min(r.MaxTokens, m.info.Context-len(prompt)+1)
	s, err := m.start(ctx, len(prompt)+most-1)
	if err != nil {
		return "", err
	}
	defer s.close()
	choice := newSampler(r)
	read := prompt
	for range most {
		logits, err := s.next(ctx, read)
		if err != nil {
			return "", err
		}
		if len(logits) != m.info.Vocabulary {
			return "", fmt.Errorf("the engine predicts %d tokens and the tokenizer has %d", len(logits), m.info.Vocabulary)
		}
		token, err := choice.next(logits)
		if err != nil {
			return "", err
		}
		if err := yield(token, lm.Distribution{Logits: logits, Vocabulary: m.info.Vocabulary}); err != nil {
			return "", err
		}
		if slices.Contains(m.ends, token) {
			return lm.Stop, nil
		}
		read = []lm.Token{token}
	}
	return lm.Length, nil
}

// session is the use of the engine for one sequence that grows. A goroutine of its
// own has the engine, so that the caller can leave while it computes.
type session struct {
	m        *Model
	requests chan []lm.Token
	results  chan result
	aborted  chan string
	enough   func()
}

type result struct {
	logits []float32
	err    error
}

// start takes the engine for a sequence of so many tokens at most, and waits for
// nothing: what may fail does so in the first call of next.
func (m *Model) start(ctx context.Context, capacity int) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if gone := m.aborted.Load(); gone != nil {
		return nil, gone
	}
	s := &session{m: m, requests: make(chan []lm.Token, 1), results: make(chan result, 1)}
	s.aborted, s.enough = engineAborts().wait()
	go s.serve(ctx, capacity)
	return s, nil
}

func (s *session) serve(ctx context.Context, capacity int) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case m.closed:
		err = errors.New("the model has been closed")
	default:
		err = m.makeRoom(ctx, capacity)
	}
	if err == nil {
		defer func() {
			// Where this fails, nobody is there to hear it any more; the
			// next forward pass removes the sequence again.
			_ = m.engine.forget()
		}()
	}
	at := 0
	for tokens := range s.requests {
		var r result
		if r.err = err; err == nil {
			r.logits, r.err = m.engine.extend(ctx, tokens, at)
			at += len(tokens)
		}
		s.results <- r
	}
}

// next appends tokens to the sequence and returns the logits after the last.
func (s *session) next(ctx context.Context, tokens []lm.Token) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.requests <- tokens
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case r := <-s.results:
		return r.logits, r.err
	case message := <-s.aborted:
		gone := &AbortError{Path: s.m.info.Path, Message: message}
		s.m.aborted.Store(gone)
		return nil, gone
	}
}

// close gives the engine back, when it has computed what it was asked for.
func (s *session) close() {
	close(s.requests)
	s.enough()
}

// extend appends tokens to the first sequence, which has so many already, and
// returns the logits after the last.
func (e *engine) extend(ctx context.Context, tokens []lm.Token, at int) (logits []float32, err error) {
	defer func() {
		if r := recover(); r != nil {
			logits, err = nil, enginePanic(r, e.graphics)
		}
	}()
	for begin := 0; begin < len(tokens); begin += e.chunk {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		chunk := tokens[begin:min(begin+e.chunk, len(tokens))]
		nodes := make([]node, len(chunk))
		for i, t := range chunk {
			nodes[i] = node{token: t, parent: at + begin + i - 1, depth: at + begin + i}
		}
		err = e.run(nodes, []int32{int32(len(chunk) - 1)}, func(rows [][]float32) error {
			logits = slices.Clone(rows[0])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return logits, nil
}

// ends are the names of tokens that end a turn or a text where they are control
// tokens, besides those that the metadata name: many files leave some out.
var ends = []string{
	"<|im_end|>", "<end_of_turn>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>", "<|eot|>", "<EOT>", "</s>", "<eos>", "<|return|>", "<|call|>",
}

// endings returns the tokens at which the writing ends.
func (m *Model) endings() []lm.Token {
	all := slices.Clone(m.info.EOS)
	for id := range lm.Token(m.tokenizer.Size()) {
		if m.tokenizer.IsControl(id) && slices.Contains(ends, string(m.tokenizer.Piece(id))) && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	return all
}
