package listed

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/tokens"
)

// PromptError reports a prefix that cannot be put to a server which takes text where a
// model takes tokens.
type PromptError struct {
	Text   string // of the prefix
	Reason string
}

func (e *PromptError) Error() string {
	return fmt.Sprintf("no text that the server takes has the tokens of %q: %s", e.Text, e.Reason)
}

// Prompt returns the text that a server must be given so that it reads exactly the
// tokens of a prefix. The server puts the beginning-of-sequence token in front where
// the model's metadata asks for one, and takes the spelling of a control token for the
// token. The error is [lm.ErrEmptyPrefix] or a [*PromptError] where there is no such
// text, and says so of a token outside the vocabulary.
func Prompt(tok *tokens.Tokenizer, prefix []lm.Token) (string, error) {
	if len(prefix) == 0 {
		return "", lm.ErrEmptyPrefix
	}
	for _, t := range prefix {
		if t < 0 || int(t) >= tok.Size() {
			return "", fmt.Errorf("token %d is outside the vocabulary, which has %d tokens", t, tok.Size())
		}
	}
	own := prefix
	if tok.AddBOS() {
		if prefix[0] != tok.BOS() {
			return "", &PromptError{Text: string(tok.Text(prefix)), Reason: fmt.Sprintf("the server puts the beginning-of-sequence token %q in front, as the model's metadata asks, and the prefix does not begin with it", tok.Piece(tok.BOS()))}
		}
		own = prefix[1:]
	}
	if len(own) == 0 {
		return "", &PromptError{Reason: "the server does not answer an empty prompt"}
	}
	text := string(tok.Text(own))
	if !utf8.ValidString(text) {
		return "", &PromptError{Text: text, Reason: "the prefix is no valid UTF-8, which the server's JSON cannot carry"}
	}
	read, err := tok.EncodeMarked(text)
	if err != nil {
		return "", &PromptError{Text: text, Reason: err.Error()}
	}
	if !slices.Equal(read, own) {
		reason := "the server takes text, and would split this one into other tokens than the prefix has"
		if id, ok := tok.Control(text); ok {
			reason = fmt.Sprintf("the server would take %q in it for the control token of that name", tok.Piece(id))
		}
		return "", &PromptError{Text: text, Reason: reason}
	}
	return text, nil
}

// Quote shows the end of a text, which is where a reading happens.
func Quote(text string) string {
	const most = 60
	if len(text) <= most {
		return fmt.Sprintf("%q", text)
	}
	cut := len(text) - most
	for cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut++
	}
	return fmt.Sprintf("…%q", text[cut:])
}
