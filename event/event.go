// Package event goes from a pair of texts to the probability of an event.
//
// The event M(x, w) of the ModelLog paper says that a model takes token w as a
// valid continuation of prefix x. An [Event] is that pair as a user writes it.
// [Reader.Resolve] turns it into token events, the [Step]s: one where the target
// is one token, and several, each in its own context, where it is more. Their
// conjunction is the event, as in the paper's Formula 1. [Reader.Read] reads the
// model's next-token distribution after each step's prefix, once for each
// distinct prefix, and calibrates the token's probability into that of the
// event (Eq. 4).
//
// What was read is kept in a [Cache] by the model's digest, the precision and
// revision of what computes it, the prefix's token ids and the question asked, so
// a second look at the same event does not run the model, under whichever
// calibration. A list of the most probable tokens is kept whole and answers all
// that is asked of its prefix, so that no report mixes two readings of a server
// whose second may differ from its first.
package event

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// Event is the proposition that the model takes Target as a valid continuation
// of Prefix.
type Event struct {
	Prefix, Target string

	// Join is the text put between the two; nil stands for what [lm.Join]
	// puts there, a space between words.
	Join *string
}

// text returns the event as one text, and the part of it behind the prefix.
func (e Event) text() (whole, continuation string) {
	if e.Join != nil {
		whole = e.Prefix + *e.Join + e.Target
	} else {
		whole, _ = lm.Join(e.Prefix, e.Target)
	}
	return whole, whole[len(e.Prefix):]
}

// Step is one token event: the model takes the token Target after the tokens
// Prefix.
type Step struct {
	Prefix []lm.Token // what the model is given, with its beginning-of-sequence token
	Target lm.Token

	PrefixText   string   // the prefix as text, without the beginning-of-sequence token
	PrefixPieces []string // the text of each token of Prefix
	Piece        string   // the text of Target
}

// Key is the same for two steps exactly when they ask the same of the same
// model: same prefix tokens, same target token.
func (s Step) Key() string {
	return string(binary.LittleEndian.AppendUint32(prefixKey(s.Prefix), uint32(s.Target)))
}

func prefixKey(tokens []lm.Token) []byte {
	b := make([]byte, 0, 4*len(tokens)+4)
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return b
}

// Resolved is an event with its token events in a model's vocabulary.
type Resolved struct {
	Event Event
	Steps []Step // at least one
}

// Reader asks a model about events.
type Reader struct {
	Model lm.Model

	// Cache keeps what was read; nil for none.
	Cache Cache

	// Progress, where it is not nil, is told how many of the prefixes that
	// the model must run on have been read.
	Progress func(done, total int)
}

// Resolve finds the token events of each event. It does not run the model. The
// pair is tokenised as one text; it is an error where the tokens of the prefix
// merge with those of the target ([*lm.BoundaryError]), where the target is
// empty, and where the prefix is empty and the model has no
// beginning-of-sequence token ([lm.ErrEmptyPrefix]). A text that cannot fit the
// model's context is refused before it is tokenised ([*LengthError]). An error names the event.
func (r *Reader) Resolve(ctx context.Context, events []Event) ([]Resolved, error) {
	out := make([]Resolved, len(events))
	for i, e := range events {
		steps, err := r.resolve(ctx, e)
		if err != nil {
			return nil, fmt.Errorf("M(%q, %q): %w", brief(e.Prefix), brief(e.Target), err)
		}
		out[i] = Resolved{Event: e, Steps: steps}
	}
	return out, nil
}

func (r *Reader) resolve(ctx context.Context, e Event) ([]Step, error) {
	if e.Target == "" {
		return nil, fmt.Errorf("the target is empty; name the token that should follow the prefix")
	}
	_, continuation := e.text()
	return r.steps(ctx, e.Prefix, continuation)
}

// steps are the token events of a continuation, token by token.
func (r *Reader) steps(ctx context.Context, prefix, continuation string) ([]Step, error) {
	if err := fits(r.Model, len(prefix)+len(continuation)); err != nil {
		return nil, err
	}
	before, after, err := lm.Continue(ctx, r.Model, prefix, continuation)
	if err != nil {
		return nil, err
	}
	prompt, err := lm.Prompt(r.Model, before)
	if err != nil {
		return nil, err
	}
	all := append(prompt, after...)
	pieces := lm.Pieces(r.Model, all)
	steps := make([]Step, len(after))
	var text strings.Builder
	text.WriteString(prefix)
	for i, t := range after {
		n := len(prompt) + i
		steps[i] = Step{
			Prefix:       all[:n:n],
			Target:       t,
			PrefixText:   text.String(),
			PrefixPieces: pieces[:n:n],
			Piece:        pieces[n],
		}
		text.WriteString(pieces[n])
	}
	return steps, nil
}

// Likelihood returns the token events of Formula 1 for a text: one for each of
// its tokens, in the context of those before it. With a prefix that is not
// empty the text continues it, joined as an event's target is, and only the
// text's tokens are events. Without one the first token follows the model's
// beginning-of-sequence token, and the error is [lm.ErrEmptyPrefix] where the
// model has none.
func (r *Reader) Likelihood(ctx context.Context, prefix, text string) ([]Step, error) {
	if text == "" {
		return nil, fmt.Errorf("the likelihood formula of an empty text has no events")
	}
	_, continuation := Event{Prefix: prefix, Target: text}.text()
	steps, err := r.steps(ctx, prefix, continuation)
	if err != nil {
		return nil, fmt.Errorf("the likelihood formula of %q: %w", brief(text), err)
	}
	return steps, nil
}

// TopToken is one of a model's most probable next tokens.
type TopToken struct {
	Token lm.Token
	Piece string
	LogP  calibrate.Interval // natural logarithm of its probability

	// Among are the tokens that it may be where a server's name for it is
	// shared by several, of which Token is the likeliest guess; nil where it
	// is certain.
	Among []lm.Token
}

// Top returns the k most probable tokens after a prefix, the most probable
// first and ties by id; fewer where the model's vocabulary, or what its backend
// tells of it, has fewer.
func (r *Reader) Top(ctx context.Context, prefix string, k int) ([]TopToken, error) {
	if k < 1 {
		return nil, fmt.Errorf("top %d tokens: at least 1 is needed", k)
	}
	if err := fits(r.Model, len(prefix)); err != nil {
		return nil, fmt.Errorf("the prefix %q: %w", brief(prefix), err)
	}
	tokens, err := r.Model.Tokenize(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("tokenising the prefix %q: %w", brief(prefix), err)
	}
	prompt, err := lm.Prompt(r.Model, tokens)
	if err != nil {
		return nil, err
	}
	top, err := r.top(ctx, prompt, k)
	if err != nil {
		return nil, err
	}
	for i := range top {
		top[i].Piece = lm.Printable(r.Model.Piece(top[i].Token))
	}
	return top, nil
}

// brief cuts a text for a message.
func brief(s string) string {
	const most = 80
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
