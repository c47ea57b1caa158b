package event

import (
	"fmt"

	"github.com/modellog/modellog/lm"
)

// LengthError reports a text that cannot fit a model's context, however it would be tokenised.
type LengthError struct {
	Bytes   int
	Context int // in tokens
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("the text has %d bytes and cannot fit the model's context of %d tokens; shorten it", e.Bytes, e.Context)
}

// fits returns a [*LengthError] for a text of so many bytes that no tokens within the model's context,
// and the one after it, have as many. Tokenising such a text could take minutes to no use.
func fits(m lm.Model, bytes int) error {
	const usual = 16 // few tokens have more bytes; below it the vocabulary need not be looked through
	info := m.Info()
	tokens := info.Context + 1
	if info.Context <= 0 || bytes/tokens <= usual {
		return nil
	}
	longest := 0
	for t := range lm.Token(info.Vocabulary) {
		longest = max(longest, len(m.Piece(t)))
	}
	if longest == 0 || bytes/tokens <= longest {
		return nil
	}
	return &LengthError{bytes, info.Context}
}
