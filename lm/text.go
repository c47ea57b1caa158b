package lm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Join puts a target behind its prefix. They are joined by one space, unless
//
//   - the prefix is empty or ends in white space,
//   - the target starts with white space or with closing punctuation, or
//   - the character on either side of the seam is of a script that is written
//     without spaces between words (Han, kana, Thai, Lao, Khmer, Burmese).
//
// It returns the whole text and how many of its bytes come before the target.
func Join(prefix, target string) (text string, seam int) {
	if joinsBySpace(prefix, target) {
		prefix += " "
	}
	return prefix + target, len(prefix)
}

func joinsBySpace(prefix, target string) bool {
	before, _ := utf8.DecodeLastRuneInString(prefix)
	after, _ := utf8.DecodeRuneInString(target)
	switch {
	case prefix == "" || target == "":
		return false
	case unicode.IsSpace(before) || unicode.IsSpace(after):
		return false
	case closing(after):
		return false
	}
	return !unspaced(before) && !unspaced(after)
}

// closing reports whether r is punctuation that follows a word with no space.
func closing(r rune) bool {
	return strings.ContainsRune(".,;:!?%…。、，；：！？", r) || unicode.In(r, unicode.Pe, unicode.Pf)
}

// unspaced reports whether r is of a script that writes words without spaces.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// Prompt returns the tokens that a model is given for a text's own tokens: the
// beginning-of-sequence token in front exactly when the model's metadata asks
// for one. It fails with [ErrEmptyPrefix] where nothing would be left to read.
func Prompt(m Model, tokens []Token) ([]Token, error) {
	info := m.Info()
	if info.AddBOS {
		return append([]Token{info.BOS}, tokens...), nil
	}
	if len(tokens) == 0 {
		return nil, ErrEmptyPrefix
	}
	return slices.Clone(tokens), nil
}

// Continue tokenises a prefix and its continuation as one text and returns the
// two parts' tokens. The continuation has its joining white space in front. It
// fails with a [*BoundaryError] where the prefix's own tokens are not the first
// of the whole text's, for then no reading after the prefix has the
// continuation's tokens next, and with an error where the continuation has no
// token.
func Continue(ctx context.Context, m Model, prefix, continuation string) (before, after []Token, err error) {
	if before, err = m.Tokenize(ctx, prefix); err != nil {
		return nil, nil, fmt.Errorf("tokenising the prefix %q: %w", prefix, err)
	}
	whole, err := m.Tokenize(ctx, prefix+continuation)
	if err != nil {
		return nil, nil, fmt.Errorf("tokenising %q: %w", prefix+continuation, err)
	}
	if len(whole) < len(before) || !slices.Equal(whole[:len(before)], before) {
		return nil, nil, &BoundaryError{Prefix: prefix, Continuation: continuation, Alone: Pieces(m, before), Together: Pieces(m, whole)}
	}
	after = whole[len(before):]
	if len(after) == 0 {
		return nil, nil, fmt.Errorf("the target %q has no token in this model's vocabulary", continuation)
	}
	return before, after, nil
}

// Pieces returns the text of each token. Bytes that are no UTF-8 by themselves
// are written as \x and two hexadecimal digits.
func Pieces(m Model, tokens []Token) []string {
	out := make([]string, len(tokens))
	for i, t := range tokens {
		out[i] = Printable(m.Piece(t))
	}
	return out
}

// Printable writes a token's bytes as text that can be shown: what is UTF-8
// stays, other bytes are written as \x and two hexadecimal digits.
func Printable(piece []byte) string {
	if utf8.Valid(piece) {
		return string(piece)
	}
	var b strings.Builder
	for len(piece) > 0 {
		r, n := utf8.DecodeRune(piece)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, piece[0])
		} else {
			b.Write(piece[:n])
		}
		piece = piece[n:]
	}
	return b.String()
}

// BoundaryError reports a prefix and a continuation whose tokens merge across
// the seam between them.
type BoundaryError struct {
	Prefix, Continuation string
	Alone                []string // the prefix's pieces by itself
	Together             []string // the pieces of both as one text
}

func (e *BoundaryError) Error() string {
	return fmt.Sprintf("the tokens merge across the boundary of %q and %q: the prefix alone is %s and with the target it is %s; move the boundary to where a token ends (often: white space belongs in front of the target, not at the end of the prefix)",
		e.Prefix, e.Continuation, show(e.Alone), show(e.Together))
}

func show(pieces []string) string {
	quoted := make([]string, len(pieces))
	for i, p := range pieces {
		quoted[i] = fmt.Sprintf("%q", p)
	}
	return strings.Join(quoted, "·")
}
