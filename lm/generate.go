package lm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Generator is what a [Model] is besides if it can write: it continues a text,
// or answers in a conversation. Its methods may be called from several
// goroutines.
type Generator interface {
	// Generate continues the request's input, one token after the other.
	// It samples from the model's own distribution as the request says and
	// leaves no penalties or other filters of a backend in place. Where it
	// fails, the response has what was written before. The errors are the
	// context's (after at most one more token, where the model runs in this
	// program), a [*ContextError] where the input does not fit the model's
	// context, [ErrNoChatTemplate] for Messages to a model without a
	// template, the error that the request's Stream returned, and the
	// backend's own.
	Generate(ctx context.Context, r Request) (Response, error)

	// Input returns what Generate gives the model for a request: its Prompt
	// with nothing around it but a beginning-of-sequence token where the
	// metadata asks for one, or its Messages as the chat template has them.
	// The tokens are good for [Model.Read], too. Where only a server knows,
	// parts or all of it are missing.
	Input(ctx context.Context, r Request) (Input, error)
}

// Sampler is what a [Generator] is besides if it can be followed token by token,
// from a prompt that is given in tokens. The models that run in this program are.
type Sampler interface {
	// Sample draws the tokens that follow a prompt, one after the other, as
	// Generate does for the same request, and hands each to yield with the
	// distribution that it was drawn from, before the request's Temperature,
	// TopK and TopP, which does not change afterwards. The model is busy
	// until Sample returns, and must not be used in yield. The token that ends the text, where one does, is handed over,
	// too. Of the request, Prompt, Messages, Stop and Stream are not
	// looked at. An error of yield ends the drawing and is returned. The
	// others are those of Generate, and [ErrEmptyPrefix].
	Sample(ctx context.Context, prompt []Token, r Request, yield func(t Token, d Distribution) error) (Finish, error)

	// Mark says whether a token is a control token, which stands for no text
	// though it has a name, and whether the writing ends at it.
	Mark(t Token) (control, ends bool)
}

// ErrNoChatTemplate is returned, wrapped, for a conversation with a model that
// has no chat template: a base model, which continues texts and answers nobody.
var ErrNoChatTemplate = errors.New("the model has no chat template: it is a base model, which continues a text; give it a plain prompt, or take an instruct model")

// Role says who speaks.
type Role string

// The roles that chat templates know. Some refuse a system's message, and most
// want user and assistant to take turns; their refusal is an error.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of a conversation. Content that spells a special token of
// the model's is text, and is given to the model as text.
type Message struct {
	Role    Role
	Content string
}

// Request is what is to be written and how.
//
// Several samples are several calls, with another Seed each.
type Request struct {
	// Either Messages, a conversation that the model is to go on with as the
	// assistant, or Prompt, a text that it is to continue.
	Messages []Message
	Prompt   string

	// MaxTokens is how many tokens are written at most, at least 1. Less
	// are, where the model ends the text, a Stop is met, or the model's
	// context is full.
	MaxTokens int

	// Temperature divides the logits: 1 samples from the model's own
	// distribution, and 0 takes the most probable token each time (of
	// several, the one with the least id). From 0 to 100.
	Temperature float64

	// TopK, where it is not 0, leaves the k most probable tokens to sample
	// from.
	TopK int

	// TopP, where it is not 0, leaves the nucleus: of the tokens after
	// Temperature and TopK, the fewest most probable ones whose
	// probabilities sum to TopP. From 0 to 1; 1 leaves all.
	TopP float64

	// Seed decides the samples: the embedded engine writes the same text
	// for the same request, model, precision and machine. Servers take it,
	// and keep to it as far as they do. From 0 to 2³¹ − 1, which all of
	// them take.
	Seed int64

	// Stop are texts that end the writing where they first appear in what
	// is written; neither they nor what follows is in the response's text.
	// At most 16, none of them empty.
	Stop []string

	// Stream, where it is not nil, is given the text as it is written, in
	// parts of whole characters. A part that may be the beginning of a Stop
	// is held back until it is clear. Together, the parts are the response's
	// text. An error of Stream's ends the writing and is returned.
	Stream func(part string) error
}

const (
	maxStops       = 16
	maxTemperature = 100
)

// Check returns an error that says what of a request is out of its range.
func (r *Request) Check() error {
	switch {
	case r.Prompt != "" && len(r.Messages) > 0:
		return errors.New("the request has both a prompt and messages; give one of them")
	case r.MaxTokens < 1:
		return fmt.Errorf("at most %d tokens are asked for; ask for 1 or more", r.MaxTokens)
	case !(r.Temperature >= 0 && r.Temperature <= maxTemperature):
		return fmt.Errorf("the temperature is %g; it lies between 0 and %d", r.Temperature, maxTemperature)
	case r.TopK < 0 || r.TopK > math.MaxInt32:
		return fmt.Errorf("top-k is %d; it is 0 (all tokens) or the number of tokens to sample from", r.TopK)
	case !(r.TopP >= 0 && r.TopP <= 1):
		return fmt.Errorf("top-p is %g; it lies between 0 and 1", r.TopP)
	case r.Seed < 0 || r.Seed > math.MaxInt32:
		return fmt.Errorf("the seed is %d; it lies between 0 and %d", r.Seed, math.MaxInt32)
	case len(r.Stop) > maxStops:
		return fmt.Errorf("the request has %d stop texts; at most %d are looked for", len(r.Stop), maxStops)
	case slices.Contains(r.Stop, ""):
		return errors.New("a stop text is empty, and would stop everything; leave it out")
	}
	for i, m := range r.Messages {
		switch {
		case m.Role != System && m.Role != User && m.Role != Assistant:
			return fmt.Errorf("message %d has the role %q; the roles are %q, %q and %q", i+1, m.Role, System, User, Assistant)
		case !utf8.ValidString(m.Content):
			return fmt.Errorf("message %d is no valid UTF-8; convert it", i+1)
		}
	}
	return nil
}

// Input is what a model is given.
type Input struct {
	Text   string  // as the template wrote it, special tokens by their names; without the beginning-of-sequence token that the tokenizer puts in front
	Tokens []Token // with that token; nil where only a server knows
}

// Finish says why the writing ended.
type Finish string

const (
	Stop   Finish = "stop"   // the model ended the text, or a Stop was met
	Length Finish = "length" // MaxTokens were written, or the context is full
)

// Response is what was written.
type Response struct {
	Text      string // without special tokens; bytes that are no UTF-8 are U+FFFD
	Finish    Finish // empty where Generate failed
	Input     Input  // what the model was given, as far as it is known
	Prompt    int    // tokens of the input; 0 where a server does not tell
	Generated int    // tokens written (some servers count the one that ended the text); 0 where a server does not tell
}

// Writer turns the pieces of the tokens that a backend generates into a
// response's text: characters whole, though their bytes may come with several
// tokens, and ended by the request's Stop, though it may begin in one token and
// end in another. The zero value with its fields set is ready.
type Writer struct {
	Stop   []string
	Stream func(part string) error // may be nil

	text strings.Builder // what is certain to be in the response
	held []byte          // what may be the beginning of a character or a Stop
}

// Write adds a piece. It returns true when a Stop has been met, after which
// nothing more is written.
func (w *Writer) Write(piece []byte) (stopped bool, err error) {
	w.held = append(w.held, piece...)
	at := -1
	for _, stop := range w.Stop {
		if i := strings.Index(string(w.held), stop); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at >= 0 {
		err := w.release(at)
		w.held = nil
		return true, err
	}
	return false, w.release(len(w.held) - w.open())
}

// open returns how many of the last bytes held must wait: those that a Stop may
// begin with, or a character that is not all there.
func (w *Writer) open() int {
	open := 0
	for n := 1; n < utf8.UTFMax && n <= len(w.held); n++ {
		if tail := w.held[len(w.held)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				open = n
			}
			break
		}
	}
	for _, stop := range w.Stop {
		for n := min(len(stop)-1, len(w.held)); n > open; n-- {
			if strings.HasPrefix(stop, string(w.held[len(w.held)-n:])) {
				open = n
				break
			}
		}
	}
	return open
}

// release moves the first n bytes held to the text.
func (w *Writer) release(n int) error {
	if n == 0 {
		return nil
	}
	part := validUTF8(w.held[:n])
	w.held = append(w.held[:0], w.held[n:]...)
	w.text.WriteString(part)
	if w.Stream != nil {
		return w.Stream(part)
	}
	return nil
}

// Close writes what was held back, and is called when nothing more comes.
func (w *Writer) Close() error { return w.release(len(w.held)) }

// Text returns what has been written.
func (w *Writer) Text() string { return w.text.String() }

// validUTF8 replaces each byte that is no UTF-8 by U+FFFD.
func validUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}
