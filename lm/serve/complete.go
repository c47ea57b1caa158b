package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modellog/modellog/lm"
)

// completionAnswer is an answer, or a part of one that is streamed.
type completionAnswer struct {
	ID          string   `json:"id"`
	Object      string   `json:"object"`
	Created     int64    `json:"created"`
	Model       string   `json:"model"`
	Fingerprint string   `json:"system_fingerprint,omitempty"` // of the weights, and the precision
	Choices     []choice `json:"choices"`
	Usage       *usage   `json:"usage,omitempty"`
}

type choice struct {
	Index          int        `json:"index"`
	Text           string     `json:"text"`
	LogProbs       *logProbs  `json:"logprobs"`
	Finish         *lm.Finish `json:"finish_reason"`
	PromptLogProbs []*ranking `json:"prompt_logprobs,omitempty"`
	PromptTokens   []lm.Token `json:"prompt_token_ids,omitempty"`
	Tokens         []lm.Token `json:"token_ids,omitempty"`
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// input is a prompt as the model is given it.
type input struct {
	tokens []lm.Token
	bos    int    // tokens that were put in front: 0 or 1
	text   string // without control tokens
	length int    // of the text, in characters

	entries []entry // of the tokens, where they are read
	next    *entry  // the most probable token after the prompt, where that is all that is written
}

// complete answers /v1/completions.
func (s *Server) complete(ctx context.Context, w http.ResponseWriter, r *http.Request) error {
	f, err := s.body(w, r)
	if err != nil {
		return err
	}
	c, err := parseCompletion(f, s.options.Limits)
	if err != nil {
		return err
	}
	m, err := s.model(c.Model)
	if err != nil {
		return err
	}
	if !c.seeded {
		c.seed = rand.Int64N(math.MaxInt32)
	}
	a := &answering{server: s, model: m, completion: c, ctx: ctx, w: w}
	a.sampler, _ = m.Model.(lm.Sampler)
	if err := a.prepare(); err != nil {
		return err
	}
	if c.maxTokens > 0 && !a.fromReading() && a.sampler == nil {
		return invalid("max_tokens", "unsupported", "the backend of %s cannot be followed token by token: of it one token at temperature 0 can be had, and readings", m.info.Name)
	}
	if err := a.read(); err != nil {
		return err
	}
	if c.stream {
		return a.streamed()
	}
	return a.whole()
}

// answering is a request for completions that is being answered.
type answering struct {
	*completion
	ctx     context.Context
	w       http.ResponseWriter
	server  *Server
	model   *served
	sampler lm.Sampler // nil where the model is none
	inputs  []*input
	head    completionAnswer
	used    usage
}

// fromReading says whether what is to be written is the most probable next token alone: then it is read with everything else.
func (a *answering) fromReading() bool {
	return a.maxTokens == 1 && (a.temperature == 0 || a.topK == 1)
}

// prepare makes the prompts what the model is given, within the limits.
func (a *answering) prepare() error {
	m, info := a.model, a.model.info
	tokens, deep := 0, 0
	for i, p := range a.prompts {
		in := &input{tokens: p.tokens}
		if p.isText {
			own, err := m.Tokenize(a.ctx, p.text)
			if err != nil {
				return err
			}
			if in.tokens = own; info.AddBOS && a.special {
				in.tokens, in.bos = append([]lm.Token{info.BOS}, own...), 1
			}
		} else if info.AddBOS && len(p.tokens) > 0 && p.tokens[0] != info.BOS && a.server.options.Warn != nil && !a.server.bare.Swap(true) {
			a.server.options.Warn(fmt.Sprintf("a prompt of tokens does not begin with %s's beginning-of-sequence token %d, without which the model was not trained; it is read as it is (lm-evaluation-harness: tokenized_requests=False)", info.Name, info.BOS))
		}
		switch {
		case len(in.tokens) == 0:
			return fmt.Errorf("prompt %d: %w", i, lm.ErrEmptyPrefix)
		case len(in.tokens) > info.Context:
			return fmt.Errorf("prompt %d: %w", i, &lm.ContextError{Tokens: len(in.tokens), Context: info.Context})
		}
		for _, t := range in.tokens {
			if t < 0 || int(t) >= info.Vocabulary {
				return invalid("prompt", "vocabulary", "prompt %d has the token %d, and the model's are 0 to %d", i, t, info.Vocabulary-1)
			}
		}
		if in.text = p.text; !p.isText {
			in.text = a.text(in.tokens)
		}
		in.length = len([]rune(in.text))
		if tokens += len(in.tokens); tokens > a.server.options.Limits.Tokens {
			return tooManyTokens(a.server.options.Limits)
		}
		positions := len(in.tokens)
		if !a.echoed() && a.promptProbs == none {
			positions = 0
		}
		if a.logProbs != none {
			positions += a.n * min(a.maxTokens, info.Context)
		}
		if deep += positions * min(a.depth(), info.Vocabulary); deep > a.server.options.Limits.LogProbs {
			return invalid("logprobs", "too_many_logprobs", "more than %d log-probabilities are asked for, the most of an answer; ask for fewer at a time", a.server.options.Limits.LogProbs)
		}
		a.used.Prompt += len(in.tokens)
		a.inputs = append(a.inputs, in)
	}
	fingerprint := info.Digest[:min(12, len(info.Digest))] + "-" + info.Precision
	a.head = completionAnswer{ID: fmt.Sprintf("cmpl-%016x", rand.Uint64()), Object: "text_completion", Created: time.Now().Unix(), Model: info.Name, Fingerprint: fingerprint}
	return nil
}

// echoed says whether the prompt's own log-probabilities are in the answer.
func (a *answering) echoed() bool { return a.echo && a.logProbs != none }

// depth is how many of the most probable tokens are needed.
func (a *answering) depth() int { return max(a.logProbs, a.promptProbs) }

// mark says what a token is besides text.
func (a *answering) mark(t lm.Token) (control, ends bool) {
	if a.sampler != nil {
		return a.sampler.Mark(t)
	}
	ends = slices.Contains(a.model.info.EOS, t)
	return ends, ends
}

// text is what tokens stand for.
func (a *answering) text(tokens []lm.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		if control, _ := a.mark(t); !control {
			b.Write(a.model.Piece(t))
		}
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// read reads all that is asked of the prompts.
func (a *answering) read() error {
	type place struct {
		*input
		at int // of the token that is predicted
	}
	var places []place
	var prefixes [][]lm.Token
	for _, in := range a.inputs {
		if a.echoed() || a.promptProbs != none {
			in.entries = make([]entry, len(in.tokens))
			in.entries[0].token = in.tokens[0]
			in.entries[0].control, _ = a.mark(in.tokens[0])
			for at := 1; at < len(in.tokens); at++ {
				places, prefixes = append(places, place{in, at}), append(prefixes, in.tokens[:at])
			}
		}
		if a.fromReading() {
			places, prefixes = append(places, place{in, len(in.tokens)}), append(prefixes, in.tokens)
		}
	}
	return a.model.queue.Read(a.ctx, prefixes, func(i int, d lm.Distribution) error {
		p := places[i]
		if p.at < len(p.tokens) {
			e, err := newEntry(d, p.tokens[p.at], a.depth())
			e.control, _ = a.mark(e.token)
			p.entries[p.at] = e
			return err
		}
		t, err := best(d)
		if err != nil {
			return err
		}
		e, err := newEntry(d, t, a.logProbs)
		e.control, _ = a.mark(t)
		p.next = &e
		return err
	})
}

// write writes the i-th continuation of a prompt, and hands over each part with the entries of its
// tokens. The last part has the reason why it ended.
func (a *answering) write(in *input, i int, each func(part string, entries []entry, finish lm.Finish) error) error {
	if a.maxTokens == 0 {
		return each("", nil, lm.Length)
	}
	request := a.request(i)
	var pending []entry
	w := lm.Writer{Stop: request.Stop, Stream: func(part string) error {
		err := each(part, pending, "")
		pending = nil
		return err
	}}
	take := func(e entry) error {
		a.used.Completion++
		pending = append(pending, e)
		if _, ends := a.mark(e.token); ends || e.control {
			return nil
		}
		stopped, err := w.Write(a.model.Piece(e.token))
		if err == nil && stopped {
			err = errStopMet
		}
		return err
	}
	var finish lm.Finish
	var err error
	if in.next != nil {
		finish = lm.Length
		if _, ends := a.mark(in.next.token); ends {
			finish = lm.Stop
		}
		err = take(*in.next)
	} else {
		finish, err = a.sampler.Sample(a.ctx, in.tokens, request, func(t lm.Token, d lm.Distribution) error {
			e := entry{token: t}
			if a.logProbs != none {
				var err error
				if e, err = newEntry(d, t, a.logProbs); err != nil {
					return err
				}
			}
			e.control, _ = a.mark(t)
			return take(e)
		})
	}
	if errors.Is(err, errStopMet) {
		finish, err = lm.Stop, nil
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return each("", pending, finish)
}

// errStopMet ends the writing at a text of stop.
var errStopMet = errors.New("a stop text was met")

// choice begins a choice: with what the answer says of the prompt.
func (a *answering) choice(in *input, index int) (c choice, at int) {
	c = choice{Index: index}
	if at = in.length; a.echo {
		c.Text = in.text
	}
	if a.logProbs != none {
		c.LogProbs = noLogProbs()
		if a.echo {
			at = c.LogProbs.add(a.model, cut(in.entries[in.bos:], a.logProbs), 0, a.tokensAsIDs)
		}
	}
	if a.promptProbs != none {
		c.PromptLogProbs = promptLogProbs(a.model, cut(in.entries, a.promptProbs))
	}
	if a.returnTokens {
		c.PromptTokens = in.tokens
	}
	return c, at
}

// noLogProbs are those of no token, which are empty lists in JSON.
func noLogProbs() *logProbs {
	return &logProbs{Tokens: []string{}, TokenLogProbs: []*float64{}, TopLogProbs: []*ranking{}, TextOffset: []int{}}
}

// extend adds what was written to a choice, of which so many characters are known, and returns how many are then.
func (a *answering) extend(c *choice, text string, entries []entry, finish lm.Finish, at int) int {
	c.Text += text
	if c.LogProbs != nil {
		at = c.LogProbs.add(a.model, entries, at, a.tokensAsIDs)
	}
	if a.returnTokens {
		for _, e := range entries {
			c.Tokens = append(c.Tokens, e.token)
		}
	}
	if finish != "" {
		c.Finish = &finish
	}
	return at
}

// cut leaves so many of the most probable tokens in each entry.
func cut(entries []entry, depth int) []entry {
	out := slices.Clone(entries)
	for i := range out {
		out[i].top = out[i].top[:min(depth, len(out[i].top))]
	}
	return out
}

// whole answers in one piece.
func (a *answering) whole() error {
	a.head.Choices = []choice{}
	for _, in := range a.inputs {
		for i := range a.n {
			c, at := a.choice(in, len(a.head.Choices))
			err := a.write(in, i, func(part string, entries []entry, finish lm.Finish) error {
				at = a.extend(&c, part, entries, finish, at)
				return nil
			})
			if err != nil {
				return err
			}
			a.head.Choices = append(a.head.Choices, c)
		}
	}
	a.used.Total = a.used.Prompt + a.used.Completion
	a.head.Usage = &a.used
	send(a.w, http.StatusOK, a.head)
	return nil
}

// streamed answers in server-sent events, one continuation after the other. What goes wrong on the way is an event, too.
func (a *answering) streamed() error {
	out := newEvents(a.ctx, a.w)
	err := a.parts(out)
	if err != nil {
		_ = out.add(a.server.refusal(a.ctx, err).form()) // who has gone misses nothing
	} else {
		err = out.addData([]byte("[DONE]"))
	}
	return errors.Join(err, out.close())
}

// parts adds the parts of the answer.
func (a *answering) parts(out *events) error {
	add := func(c choice) error {
		answer := a.head
		answer.Choices = []choice{c}
		return out.add(answer)
	}
	for k, in := range a.inputs {
		for i := range a.n {
			c, at := a.choice(in, k*a.n+i)
			if a.echo || a.returnTokens {
				if err := add(c); err != nil {
					return err
				}
			}
			err := a.write(in, i, func(text string, entries []entry, finish lm.Finish) error {
				c := choice{Index: c.Index}
				if a.logProbs != none {
					c.LogProbs = noLogProbs()
				}
				at = a.extend(&c, text, entries, finish, at)
				return add(c)
			})
			if err != nil {
				return err
			}
		}
	}
	if !a.usage {
		return nil
	}
	a.used.Total = a.used.Prompt + a.used.Completion
	answer := a.head
	answer.Choices, answer.Usage = []choice{}, &a.used
	return out.add(answer)
}
