package answers

import (
	"context"
	"errors"
	"fmt"

	"github.com/modellog/modellog/lm"
)

// Style is which prompt a model gets.
type Style string

// The styles.
const (
	Auto  Style = "auto"  // Chat where the model has a chat template
	Plain Style = "plain" // a text to continue
	Chat  Style = "chat"  // a conversation
)

// Asker puts questions into the form that a model reads.
type Asker struct {
	Model lm.Model
	Style Style // Plain or Chat
}

// NewAsker decides between the styles. A server that has a chat template and does not tell what it makes of
// a question cannot be asked in a conversation where its answer's tokens are to be read: unread says that they
// are not, because the model writes its answer.
func NewAsker(ctx context.Context, m lm.Model, style Style, unread bool) (*Asker, error) {
	a := &Asker{Model: m, Style: style}
	if style == Plain {
		return a, nil
	}
	a.Style = Chat
	var in lm.Input
	err := lm.ErrNoChatTemplate
	if g, ok := m.(lm.Generator); ok {
		in, err = g.Input(ctx, Conversation("x"))
	}
	switch {
	case err == nil && (unread || len(in.Tokens) > 0):
		return a, nil
	case style == Auto && (err == nil || errors.Is(err, lm.ErrNoChatTemplate)):
		a.Style = Plain
		return a, nil
	case err == nil:
		return nil, fmt.Errorf("%s: the server does not tell what its chat template makes of a question, so the answer's probability cannot be read; ask with the plain prompt", m.Info().Name)
	}
	return nil, fmt.Errorf("asking %s: %w", m.Info().Name, err)
}

// Conversation is a request with one message of the user's.
func Conversation(message string) lm.Request {
	return lm.Request{Messages: []lm.Message{{Role: lm.User, Content: message}}, MaxTokens: 1}
}

// Input is what a model is given for a text: a message in a conversation, or a text to continue.
func (a *Asker) Input(ctx context.Context, text string) (lm.Input, error) {
	if a.Style == Chat {
		return a.Model.(lm.Generator).Input(ctx, Conversation(text))
	}
	own, err := a.Model.Tokenize(ctx, text)
	if err != nil {
		return lm.Input{}, err
	}
	tokens, err := lm.Prompt(a.Model, own)
	return lm.Input{Text: text, Tokens: tokens}, err
}
