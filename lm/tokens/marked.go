package tokens

import (
	"slices"
	"strings"

	"github.com/modellog/modellog/lm"
)

// Mark puts a mark into each spelling of a control token in a text, so that
// EncodeExcept takes it as text in whatever larger text it comes to stand: a chat
// template puts messages, which are text, between control tokens. A text's end that
// may be the beginning of a spelling is marked, and a beginning that may be the end
// of one. The mark must not stand in the text.
func (t *Tokenizer) Mark(text string, mark rune) string {
	var cuts []int // where a mark is put
	for i := range len(text) {
		if _, length := t.control.match(text[i:]); length > 0 {
			cuts = append(cuts, i+runeLen(text[i:]))
		}
	}
	// Templates trim messages, so these are looked for without white space.
	trimmed := strings.TrimSpace(text)
	if begin := strings.Index(text, trimmed); trimmed != "" {
		end := begin + len(trimmed)
		for _, entries := range t.control {
			for _, e := range entries {
				for n := 1; n < len(e.text); n++ {
					if strings.HasSuffix(trimmed, e.text[:n]) {
						cuts = append(cuts, end)
					}
					if strings.HasPrefix(trimmed, e.text[n:]) {
						cuts = append(cuts, begin)
					}
				}
			}
		}
	}
	if len(cuts) == 0 {
		return text
	}
	slices.Sort(cuts)
	var b strings.Builder
	last := 0
	for _, at := range slices.Compact(cuts) {
		b.WriteString(text[last:at])
		b.WriteRune(mark)
		last = at
	}
	b.WriteString(text[last:])
	return b.String()
}

// EncodeExcept is EncodeMarked for a text with marks, which are taken out: a
// spelling of a control token that a mark interrupted is text.
func (t *Tokenizer) EncodeExcept(text string, mark rune) ([]lm.Token, error) {
	if len(text) > MaxText {
		return nil, &TooLongError{Bytes: len(text)}
	}
	var tokens []lm.Token
	start := 0
	flush := func(end int) error {
		part, err := t.Encode(strings.ReplaceAll(text[start:end], string(mark), ""))
		tokens = append(tokens, part...)
		return err
	}
	for i := 0; i < len(text); {
		id, length := t.marked.match(text[i:])
		if length == 0 || !t.IsControl(id) {
			i += max(1, length)
			continue
		}
		if err := flush(i); err != nil {
			return nil, err
		}
		tokens = append(tokens, id)
		i += length
		start = i
	}
	if err := flush(len(text)); err != nil {
		return nil, err
	}
	return tokens, nil
}

// Names returns what the beginning-of-sequence and the end-of-sequence token are
// called, empty where the metadata name none.
func (t *Tokenizer) Names() (bos, eos string) {
	if len(t.eos) > 0 {
		eos = t.values[t.eos[0]]
	}
	return t.begin, eos
}
