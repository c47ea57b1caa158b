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
//     without spaces between words (Han, kana and the marks among them, Thai,
//     Lao, Khmer, Burmese).
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
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, amongKana)
}

// amongKana has what Unicode counts to no single script because Han and kana
// share it: the marks of length, voice and repetition, and the punctuation.
var amongKana = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x3001, Hi: 0x3004, Stride: 1}, // 、。〃〄
	{Lo: 0x3006, Hi: 0x3006, Stride: 1}, // 〆
	{Lo: 0x3008, Hi: 0x3020, Stride: 1}, // brackets, 〒, 〜
	{Lo: 0x3030, Hi: 0x3037, Stride: 1}, // 〰〱…
	{Lo: 0x303c, Hi: 0x303f, Stride: 1}, // 〼〽
	{Lo: 0x309b, Hi: 0x309c, Stride: 1}, // ゛゜
	{Lo: 0x30a0, Hi: 0x30a0, Stride: 1}, // ゠
	{Lo: 0x30fb, Hi: 0x30fc, Stride: 1}, // ・ー
	{Lo: 0xff01, Hi: 0xff01, Stride: 1}, // ！
	{Lo: 0xff08, Hi: 0xff09, Stride: 1}, // （）
	{Lo: 0xff0c, Hi: 0xff0c, Stride: 1}, // ，
	{Lo: 0xff1a, Hi: 0xff1b, Stride: 1}, // ：；
	{Lo: 0xff1f, Hi: 0xff1f, Stride: 1}, // ？
	{Lo: 0xff61, Hi: 0xff65, Stride: 1}, // ｡｢｣､･
	{Lo: 0xff70, Hi: 0xff70, Stride: 1}, // ｰ
	{Lo: 0xff9e, Hi: 0xff9f, Stride: 1}, // ﾞﾟ
}}

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
		return nil, nil, fmt.Errorf("tokenising the prefix %s: %w", ending(prefix), err)
	}
	whole, err := m.Tokenize(ctx, prefix+continuation)
	if err != nil {
		return nil, nil, fmt.Errorf("tokenising %s behind the prefix %s: %w", beginning(continuation), ending(prefix), err)
	}
	if len(whole) < len(before) || !slices.Equal(whole[:len(before)], before) {
		return nil, nil, &BoundaryError{Prefix: prefix, Continuation: continuation, Alone: Pieces(m, before), Together: Pieces(m, whole)}
	}
	after = whole[len(before):]
	if len(after) == 0 {
		return nil, nil, fmt.Errorf("the target %s has no token in this model's vocabulary", beginning(continuation))
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
	// Up to where they part, both are the same.
	seam := 0
	for seam < min(len(e.Alone), len(e.Together)) && e.Alone[seam] == e.Together[seam] {
		seam++
	}
	return fmt.Sprintf("the tokens merge across the boundary of %s and %s: the prefix alone is %s and with the target it is %s; move the boundary to where a token ends (often: white space belongs in front of the target, not at the end of the prefix)",
		ending(e.Prefix), beginning(e.Continuation), around(e.Alone, seam), around(e.Together, seam))
}

// around shows the pieces near the one at index seam.
func around(pieces []string, seam int) string {
	const most = 6 // on either side
	first, end := max(0, seam-most), min(len(pieces), seam+most)
	quoted := make([]string, 0, 2*most+2)
	if first > 0 {
		quoted = append(quoted, "…")
	}
	for _, p := range pieces[first:end] {
		quoted = append(quoted, beginning(p))
	}
	if end < len(pieces) {
		quoted = append(quoted, "…")
	}
	return strings.Join(quoted, "·")
}

// mostShown is how many bytes of a text a message shows.
const mostShown = 60

// beginning quotes the beginning of a text for a message.
func beginning(s string) string {
	if len(s) <= mostShown {
		return fmt.Sprintf("%q", s)
	}
	cut := mostShown
	for cut > mostShown-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%q…", s[:cut])
}

// ending quotes the end of a text for a message.
func ending(s string) string {
	if len(s) <= mostShown {
		return fmt.Sprintf("%q", s)
	}
	cut := len(s) - mostShown
	for cut < len(s)-mostShown+utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut++
	}
	return fmt.Sprintf("…%q", s[cut:])
}
