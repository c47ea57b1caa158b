package ollama

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/modellog/modellog/lm"
)

var _ lm.Generator = (*Model)(nil)

// Input returns what the server gives the model for a request. A conversation is
// rendered by the server, which has a template of its own; the tokens are what its
// tokenizer makes of that, by the model's metadata. A message that spells a control
// token gives a [*PromptError], since the server would take it for the token.
func (m *Model) Input(ctx context.Context, r lm.Request) (lm.Input, error) {
	if len(r.Messages) == 0 {
		own, err := m.tok.Encode(r.Prompt)
		if err != nil {
			return lm.Input{}, fmt.Errorf("tokenising the prompt: %w", err)
		}
		tokens, err := lm.Prompt(m, own)
		if err != nil {
			return lm.Input{}, err
		}
		if len(tokens) > m.info.Context {
			return lm.Input{}, &lm.ContextError{Tokens: len(tokens), Context: m.info.Context}
		}
		text, err := m.prompt(tokens)
		return lm.Input{Text: text, Tokens: tokens}, err
	}
	if !m.chats {
		return lm.Input{}, fmt.Errorf("%s on the Ollama server at %s: %w", m.info.Name, m.server, lm.ErrNoChatTemplate)
	}
	for i, message := range r.Messages {
		if id, ok := m.tok.Control(message.Content); ok {
			return lm.Input{}, &PromptError{Text: message.Content, Reason: fmt.Sprintf("it would take %q in message %d for the control token of that name", m.Piece(id), i+1)}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, m.timeout) // the model may have to be loaded
	defer cancel()
	req := m.chatRequest(r, nil)
	no := false
	req.DebugRenderOnly, req.Stream = true, &no
	var rendered *api.DebugInfo
	err := m.client.Chat(ctx, req, func(answer api.ChatResponse) error {
		rendered = answer.DebugInfo
		return nil
	})
	switch {
	case err != nil:
		return lm.Input{}, m.explain(ctx, m.info.Name, err)
	case rendered == nil:
		return lm.Input{}, nil // an older server, which does not tell
	}
	tokens, err := m.tok.EncodeMarked(rendered.RenderedTemplate)
	if err != nil {
		return lm.Input{}, fmt.Errorf("tokenising the rendered conversation: %w", err)
	}
	if m.info.AddBOS && (len(tokens) == 0 || tokens[0] != m.info.BOS) {
		tokens = append([]lm.Token{m.info.BOS}, tokens...)
	}
	if len(tokens) > m.info.Context {
		return lm.Input{}, &lm.ContextError{Tokens: len(tokens), Context: m.info.Context}
	}
	return lm.Input{Text: rendered.RenderedTemplate, Tokens: tokens}, nil
}

// Generate continues a text, or answers in a conversation. The server samples, by
// the request and by nothing that a Modelfile says, and is told to cut nothing. It
// is an error where it has read another number of tokens than the input has.
func (m *Model) Generate(ctx context.Context, r lm.Request) (lm.Response, error) {
	if err := r.Check(); err != nil {
		return lm.Response{}, err
	}
	if m.closed.Load() {
		return lm.Response{}, fmt.Errorf("writing with %s: the model is closed", m.info.Name)
	}
	in, err := m.Input(ctx, r)
	if err != nil {
		return lm.Response{}, err
	}
	response := lm.Response{Input: in}
	most := r.MaxTokens
	if in.Tokens != nil {
		most = min(most, m.info.Context-len(in.Tokens)+1)
		m.widen(len(in.Tokens) + most)
	}
	w := lm.Writer{Stop: r.Stop, Stream: r.Stream}
	end, err := m.write(ctx, r, in, most, &w)
	if err == nil {
		err = w.Close()
	}
	response.Text = w.Text()
	response.Prompt, response.Generated = end.PromptEvalCount, end.EvalCount
	switch {
	case err != nil:
		return response, err
	case in.Tokens != nil && end.PromptEvalCount != len(in.Tokens):
		return response, &CountError{Text: in.Text, Ours: len(in.Tokens), Server: end.PromptEvalCount}
	case end.reason == "length":
		response.Finish = lm.Length
	case end.reason == "stop":
		response.Finish = lm.Stop
	default:
		return response, fmt.Errorf("the Ollama server at %s ended its answer for the reason %q, which is not known; is it a current version of Ollama?", m.server, end.reason)
	}
	return response, nil
}

// ending is what the last part of an answer says.
type ending struct {
	api.Metrics
	reason string
}

// errStopped ends an answer that has all that was asked for.
var errStopped = errors.New("stopped")

// write asks for the text and puts it into w.
func (m *Model) write(ctx context.Context, r lm.Request, in lm.Input, most int, w *lm.Writer) (end ending, err error) {
	watched, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A part that does not come is waited for as long as a reading is.
	late := time.AfterFunc(m.timeout, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	complete, written := false, 0
	var failed error // what ended the answer from our side
	part := func(text string, done bool, reason string, metrics api.Metrics) error {
		late.Reset(m.timeout)
		written += len(text)
		switch {
		case complete:
			failed = &notOllamaError{server: m.server, what: "something after the end of an answer"}
		case written > maxAnswer:
			failed = &notOllamaError{server: m.server, what: fmt.Sprintf("an answer of more than %d MB", maxAnswer>>20)}
		}
		if failed != nil {
			return failed
		}
		if complete = done; done {
			end = ending{metrics, reason}
		}
		stopped, err := w.Write([]byte(text))
		if failed = err; err == nil && stopped {
			failed = errStopped
			if !done {
				// The server looks for the same texts and has not
				// found this one. What it would have counted is lost.
				end = ending{api.Metrics{PromptEvalCount: len(in.Tokens)}, "stop"}
			}
		}
		return failed
	}
	options := m.sampling(r, most)
	if len(r.Messages) > 0 {
		err = m.stream.Chat(watched, m.chatRequest(r, options), func(a api.ChatResponse) error {
			return part(a.Message.Content, a.Done, a.DoneReason, a.Metrics)
		})
	} else {
		no := false
		err = m.stream.Generate(watched, &api.GenerateRequest{
			Model: m.info.Name, Prompt: in.Text, Raw: true, Think: &api.ThinkValue{Value: false}, Truncate: &no, Shift: &no, Options: options,
		}, func(a api.GenerateResponse) error {
			return part(a.Response, a.Done, a.DoneReason, a.Metrics)
		})
	}
	switch {
	case failed == errStopped:
		return end, nil
	case failed != nil:
		return end, failed
	case ctx.Err() != nil:
		return end, context.Cause(ctx)
	case errors.Is(context.Cause(watched), context.DeadlineExceeded):
		return end, m.explain(ctx, m.info.Name, context.DeadlineExceeded)
	case err != nil:
		return end, m.explain(ctx, m.info.Name, err)
	case !complete:
		return end, &brokenOffError{server: m.server, err: errors.New("the answer is not marked as complete")}
	}
	return end, nil
}

// sampling is how the server is told to sample: as the request says, and without
// what else servers and Modelfiles do.
func (m *Model) sampling(r lm.Request, most int) map[string]any {
	options := m.plainOptions()
	options["num_predict"] = most
	options["seed"] = r.Seed
	options["stop"] = append([]string{}, r.Stop...)
	options["temperature"] = r.Temperature
	options["top_k"] = r.TopK
	if r.TopP != 0 {
		options["top_p"] = r.TopP
	}
	return options
}

// plainOptions are the options of a request under which nothing but the model's own
// probabilities, and temperature and top_k, has a say in which token comes.
func (m *Model) plainOptions() map[string]any {
	return map[string]any{
		"num_ctx":           m.context.Load(),
		"num_keep":          0,
		"stop":              []string{},
		"top_p":             1,
		"min_p":             0,
		"typical_p":         1,
		"repeat_last_n":     0,
		"repeat_penalty":    1,
		"presence_penalty":  0,
		"frequency_penalty": 0,
	}
}

func (m *Model) chatRequest(r lm.Request, options map[string]any) *api.ChatRequest {
	no := false
	req := &api.ChatRequest{Model: m.info.Name, Think: &api.ThinkValue{Value: false}, Truncate: &no, Shift: &no, Options: options}
	if options == nil {
		req.Options = map[string]any{"num_ctx": m.context.Load()}
	}
	for _, message := range r.Messages {
		req.Messages = append(req.Messages, api.Message{Role: string(message.Role), Content: message.Content})
	}
	return req
}

// hasChatTemplate says whether a model's template is more than its prompt.
func hasChatTemplate(template, renderer string) bool {
	return renderer != "" || strings.Join(strings.Fields(template), "") != "{{.Prompt}}" && strings.TrimSpace(template) != ""
}
