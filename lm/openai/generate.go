package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modellog/modellog/lm"
)

// mostStops is how many stop texts the protocol allows. The others are looked for
// here.
const mostStops = 4

type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// request is what is sent; the protocol's own fields, and those that take a
// server's own filters away.
type request struct {
	Model       string   `json:"model"`
	Messages    []turn   `json:"messages,omitempty"`
	Prompt      *string  `json:"prompt,omitempty"`
	MaxTokens   int      `json:"max_tokens,omitempty"`
	MaxWritten  int      `json:"max_completion_tokens,omitempty"`
	Temperature float64  `json:"temperature"`
	TopP        float64  `json:"top_p"`
	Seed        int64    `json:"seed"`
	Stop        []string `json:"stop,omitempty"`
	Stream      bool     `json:"stream"`
	*extras
}

type extras struct {
	TopK              int     `json:"top_k"`
	MinP              float64 `json:"min_p"`
	RepeatPenalty     float64 `json:"repeat_penalty"`     // llama.cpp's name
	RepetitionPenalty float64 `json:"repetition_penalty"` // vLLM's
}

// answer is an answer, or a part of one.
type answer struct {
	Choices []struct {
		Index        int
		Text         *string
		Message      *content
		Delta        *content
		FinishReason *string `json:"finish_reason"`
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	Error json.RawMessage
}

type content struct {
	Content *string
	Refusal *string
}

// Input returns the prompt, or nothing for a conversation, of which only the server
// knows what it makes; the tokens are the server's in any case.
func (m *Model) Input(ctx context.Context, r lm.Request) (lm.Input, error) {
	if err := ctx.Err(); err != nil {
		return lm.Input{}, err
	}
	return lm.Input{Text: r.Prompt}, nil
}

// Generate continues a text, or answers in a conversation. Of a stream the numbers
// of tokens are told only by servers that do so unasked.
func (m *Model) Generate(ctx context.Context, r lm.Request) (lm.Response, error) {
	if err := r.Check(); err != nil {
		return lm.Response{}, err
	}
	if m.life.Err() != nil {
		return lm.Response{}, fmt.Errorf("writing with %s: the model is closed", m.info.Name)
	}
	m.pool.revive()
	var response lm.Response
	err := m.pool.do(ctx, func(ctx context.Context, e *endpoint) (err error) {
		response, err = m.generateAt(ctx, e, r)
		if response.Text != "" && r.Stream != nil {
			err = final(err) // another server's would not go on from there
		}
		return err
	})
	return response, err
}

// generateAt has one server write.
func (m *Model) generateAt(ctx context.Context, e *endpoint, r lm.Request) (lm.Response, error) {
	plain := e.plain.Load() // another request may find it out meanwhile
	response, err := m.generate(ctx, e, r, plain)
	// A server that refuses what it does not know is asked without it.
	var status *StatusError
	if errors.As(err, &status) && (status.Status == http.StatusBadRequest || status.Status == http.StatusUnprocessableEntity) && !plain && response.Text == "" && namesExtra(status.Message) {
		if r.TopK > 0 {
			return response, fmt.Errorf("%w; the request has a top-k, which the server does not take", err)
		}
		if response, err = m.generate(ctx, e, r, true); err == nil {
			e.plain.Store(true)
		}
	}
	return response, err
}

// namesExtra says whether a refusal is of one of the fields that are not the
// protocol's.
func namesExtra(reason string) bool {
	for _, name := range []string{"top_k", "min_p", "repeat_penalty", "repetition_penalty"} {
		if strings.Contains(reason, name) {
			return true
		}
	}
	return false
}

func (m *Model) generate(ctx context.Context, e *endpoint, r lm.Request, plain bool) (lm.Response, error) {
	if plain && r.TopK > 0 {
		return lm.Response{}, fmt.Errorf("the request has a top-k, which the server at %s does not take; leave it out", e.base)
	}
	req := request{Model: m.info.Name, MaxTokens: r.MaxTokens, Temperature: r.Temperature, TopP: r.TopP, Seed: r.Seed, Stop: r.Stop, Stream: r.Stream != nil}
	if req.TopP == 0 {
		req.TopP = 1
	}
	if len(req.Stop) > mostStops {
		req.Stop = req.Stop[:mostStops]
	}
	if !plain {
		req.extras = &extras{TopK: r.TopK, RepeatPenalty: 1, RepetitionPenalty: 1}
	}
	path := "/completions"
	if len(r.Messages) > 0 {
		path = "/chat/completions"
		for _, said := range r.Messages {
			req.Messages = append(req.Messages, turn{string(said.Role), said.Content})
		}
		if e.base.Hostname() == "api.openai.com" {
			req.MaxTokens, req.MaxWritten = 0, r.MaxTokens // its newer models know no other
		}
	} else {
		req.Prompt = &r.Prompt
	}
	body, err := json.Marshal(req)
	if err != nil {
		return lm.Response{}, fmt.Errorf("encoding the request: %w", err)
	}
	response := lm.Response{Input: lm.Input{Text: r.Prompt}}
	a := &assembly{e: e, response: &response, stream: r.Stream != nil}
	read, accept := a.whole, "application/json"
	if a.stream {
		read, accept = a.parts, "text/event-stream"
	}
	err = e.send(ctx, http.MethodPost, e.base.String()+path, accept, body, func(ctx context.Context, in io.Reader) error {
		a.w = lm.Writer{Stop: r.Stop, Stream: r.Stream} // anew with each attempt
		a.finish = ""
		return read(in)
	}, func() bool { return a.handed || a.failed != nil })
	if a.failed != nil {
		err = a.failed
	}
	if err == nil {
		err = a.w.Close()
	}
	response.Text = a.w.Text()
	if err == nil {
		response.Finish = a.finish
	}
	return response, err
}

// assembly puts an answer together.
type assembly struct {
	e        *endpoint
	w        lm.Writer
	stream   bool
	handed   bool  // something was given to the request's Stream
	failed   error // of the request's Stream
	finish   lm.Finish
	response *lm.Response
}

func (a *assembly) wrong(format string, args ...any) error {
	return &AnswerError{a.e.base.String(), a.e.hide(fmt.Sprintf(format, args...))}
}

// whole reads an answer in one piece.
func (a *assembly) whole(r io.Reader) error {
	var all answer
	if err := a.e.decode(r, maxAnswer, &all); err != nil {
		return err
	}
	if _, err := a.add(all); err != nil {
		return err
	}
	if a.finish == "" {
		return a.wrong("an answer that does not say why it ended")
	}
	return nil
}

// parts reads an answer as server-sent events.
func (a *assembly) parts(r io.Reader) error {
	lines := bufio.NewScanner(io.LimitReader(r, maxStream))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !ok {
			continue // comments, names of events, empty lines
		}
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			break
		}
		var part answer
		if err := json.Unmarshal(data, &part); err != nil {
			return a.wrong("%s, which is not what was asked for", excerpt(data))
		}
		if stopped, err := a.add(part); err != nil || stopped {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return a.wrong("a part of more than %d MB", maxLine>>20)
	} else if err != nil {
		return err
	}
	if a.finish == "" {
		return a.e.lost(errors.New("the answer ends in the middle"))
	}
	return nil
}

// add adds a part. It returns true where a stop text was met.
func (a *assembly) add(part answer) (stopped bool, err error) {
	if len(part.Error) > 0 && string(part.Error) != "null" {
		return false, &StatusError{a.e.base.String(), http.StatusInternalServerError, a.e.hide(message(part.Error))}
	}
	if part.Usage != nil {
		a.response.Prompt, a.response.Generated = max(0, part.Usage.Prompt), max(0, part.Usage.Completion)
	}
	switch {
	case len(part.Choices) == 0 && a.stream:
		return false, nil // the last part of some has the numbers of tokens only
	case len(part.Choices) != 1 || part.Choices[0].Index != 0:
		return false, a.wrong("%d answers where one was asked for", len(part.Choices))
	}
	c := part.Choices[0]
	var text *string
	switch {
	case c.Text != nil:
		text = c.Text
	case c.Message != nil:
		text = c.Message.Content
	case c.Delta != nil:
		text = c.Delta.Content
	case c.FinishReason == nil || !a.stream:
		return false, a.wrong("an answer without a text")
	}
	if c.Message != nil && c.Message.Refusal != nil && *c.Message.Refusal != "" {
		return false, fmt.Errorf("the model refuses to answer: %s", message([]byte(*c.Message.Refusal)))
	}
	if text != nil && *text != "" {
		if a.finish != "" {
			return false, a.wrong("something after the end of an answer")
		}
		if len(a.w.Text())+len(*text) > maxAnswer {
			return false, a.wrong("an answer of more than %d MB", maxAnswer>>20)
		}
		before := len(a.w.Text())
		stopped, err := a.w.Write([]byte(*text))
		a.handed = a.handed || a.stream && len(a.w.Text()) > before
		if err != nil {
			a.failed = err
			return false, err
		}
		if stopped {
			a.finish = lm.Stop
			return true, nil
		}
	}
	if c.FinishReason != nil {
		switch *c.FinishReason {
		case "stop":
			a.finish = lm.Stop
		case "length":
			a.finish = lm.Length
		default:
			return false, fmt.Errorf("the server at %s ended the answer for the reason %q, and not because it was done", a.e.base, a.e.hide(*c.FinishReason))
		}
	}
	return false, nil
}
