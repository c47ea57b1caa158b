// Package tokens turns text into a model's tokens and tokens back into bytes,
// from the metadata that a GGUF file carries. It needs no weights and no
// engine, so a backend that talks to a server counts and names tokens exactly
// as the one that runs the model itself.
//
// # What a tokenizer does here
//
// [Tokenizer.Encode] takes every text as text. A control token's spelling,
// such as "<bos>" or "<|im_end|>", is tokenised like any other characters and
// never becomes the control token. Tokens that the vocabulary lists as defined
// by its user (runs of blank lines or of spaces, mostly) are part of the text's
// own tokenisation and are matched first, leftmost and longest. Nothing is put in
// front and nothing behind: whether a beginning-of-sequence token belongs
// there is told by [Tokenizer.AddBOS], and is the caller's to do.
//
// Any bytes can be encoded. Bytes that are no UTF-8 are kept as they are, as
// long as the vocabulary has tokens for single bytes; where it has not, the
// error is an [*UnknownBytesError].
//
// # Kinds of vocabulary
//
// The metadata key tokenizer.ggml.model says which algorithm applies:
//
//   - "llama": SentencePiece's byte-pair merging, by the tokens' scores. A
//     space is written ▁ (so the character ▁ in a text is taken as a space,
//     the one thing that does not come back as it went in), and bytes without
//     a token of their own become byte tokens such as <0x0A>.
//   - "gpt2": byte-pair encoding by a list of merges, over the bytes of words.
//     What a word is depends on the model; the key tokenizer.ggml.pre names
//     the rule. A rule that is not known here is an error, because a guess
//     would give other tokens, and other probabilities, without a sign of it.
//
// The rules follow llama.cpp's where the metadata leaves something open, since
// the files are written for it.
package tokens

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
)

// Metadata is the part of a GGUF file's key-value metadata that a tokenizer is
// built from. Keys are complete ("tokenizer.ggml.tokens"). A missing key, or
// one of another type, gives the default, or else the zero value.
//
// The engine's fs.Config and ggml.KV satisfy it.
type Metadata interface {
	Architecture() string
	String(key string, defaultValue ...string) string
	Uint(key string, defaultValue ...uint32) uint32
	Bool(key string, defaultValue ...bool) bool
	Strings(key string, defaultValue ...[]string) []string
	Ints(key string, defaultValue ...[]int32) []int32
	Floats(key string, defaultValue ...[]float32) []float32
	Value(key string) any // nil when the key is missing
}

// MaxText is the longest text, in bytes, that is tokenised. It is far beyond
// any model's context.
const MaxText = 16 << 20

// maxVocabulary bounds the memory that a hostile file can ask for.
const maxVocabulary = 1 << 24

// The types of tokens, as tokenizer.ggml.token_type has them.
const (
	typeNormal      = 1
	typeUnknown     = 2
	typeControl     = 3
	typeUserDefined = 4
	typeUnused      = 5
	typeByte        = 6
)

// ErrUnsupported is wrapped by the errors of [New] for a vocabulary of a kind
// that is not known here.
var ErrUnsupported = errors.New("unsupported tokenizer")

// UnknownBytesError reports text that the vocabulary has no token for.
type UnknownBytesError struct {
	Bytes []byte // what has no token
}

func (e *UnknownBytesError) Error() string {
	return fmt.Sprintf("the model's vocabulary has no token for %s; leave it out of the text", strconv.QuoteToASCII(string(e.Bytes)))
}

// TooLongError reports a text beyond [MaxText].
type TooLongError struct {
	Bytes int // the text's length
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("the text has %d bytes, and at most %d can be tokenised; shorten it", e.Bytes, MaxText)
}

// Tokenizer converts between text and the tokens of one vocabulary. It is
// immutable, and may be used from several goroutines.
type Tokenizer struct {
	values []string
	types  []int32
	addBOS bool
	bos    lm.Token // meaningful only when addBOS
	eos    []lm.Token
	begin  string // the name of the beginning-of-sequence token, whether or not it is added

	userDefined byFirstByte // matched before anything else
	control     byFirstByte // matched by EncodeMarked only
	marked      byFirstByte // both
	algorithm   algorithm
}

// algorithm encodes text between user-defined tokens.
type algorithm interface {
	// encode appends the tokens of text to dst. atStart says that nothing
	// but user-defined tokens, or nothing at all, stands before it.
	encode(dst []lm.Token, text string, atStart bool) ([]lm.Token, error)
	// decode returns the bytes of an ordinary token's value.
	decode(value string) []byte
}

// New builds the tokenizer that the metadata describes. A vocabulary of an
// unknown kind gives an error that wraps [ErrUnsupported] and names the
// metadata key; metadata that contradicts itself give an error too.
func New(m Metadata) (*Tokenizer, error) {
	t := &Tokenizer{values: m.Strings("tokenizer.ggml.tokens"), types: m.Ints("tokenizer.ggml.token_type")}
	n := len(t.values)
	switch {
	case n == 0:
		return nil, errors.New("the metadata has no vocabulary (tokenizer.ggml.tokens is missing or empty); the file may be a projector or adapter and not a language model")
	case n > maxVocabulary:
		return nil, fmt.Errorf("the metadata lists %d tokens (tokenizer.ggml.tokens), and no more than %d are read", n, maxVocabulary)
	case len(t.types) == 0:
		t.types = make([]int32, n)
		for i := range t.types {
			t.types[i] = typeNormal
		}
	case len(t.types) != n:
		return nil, fmt.Errorf("the metadata contradicts itself: %d tokens (tokenizer.ggml.tokens) but %d types (tokenizer.ggml.token_type)", n, len(t.types))
	}
	if err := t.readSpecial(m); err != nil {
		return nil, err
	}
	var err error
	switch kind := m.String("tokenizer.ggml.model"); kind {
	case "llama":
		t.algorithm, err = newSentencePiece(m, t.values, t.types)
	case "gpt2":
		t.algorithm, err = newBytePair(m, t.values, t.types)
	case "":
		err = errors.New("the metadata does not say what kind of tokenizer the vocabulary is for (tokenizer.ggml.model is missing)")
	case "bert":
		err = fmt.Errorf("%w: tokenizer.ggml.model is \"bert\", the kind of an encoder, which does not predict a next token; use a causal language model", ErrUnsupported)
	default:
		err = fmt.Errorf("%w: tokenizer.ggml.model is %q; \"llama\" and \"gpt2\" are known", ErrUnsupported, kind)
	}
	if err != nil {
		return nil, err
	}
	_, spaces := t.algorithm.(*sentencePiece)
	for i, v := range t.values {
		if v == "" {
			continue
		}
		switch t.types[i] {
		case typeUserDefined:
			if spaces {
				v = strings.ReplaceAll(v, spaceMark, " ")
			}
			t.userDefined.add(v, lm.Token(i))
			t.marked.add(v, lm.Token(i))
		case typeControl:
			t.control.add(v, lm.Token(i))
			t.marked.add(v, lm.Token(i))
		}
	}
	t.userDefined.sort()
	t.control.sort()
	t.marked.sort()
	return t, nil
}

// readSpecial reads which tokens begin and end a text.
func (t *Tokenizer) readSpecial(m Metadata) error {
	id := func(key string) (lm.Token, bool, error) {
		if m.Value(key) == nil {
			return 0, false, nil
		}
		// Some converters write -1 for "none".
		const none = 1<<32 - 1
		v := m.Uint(key, none)
		if v == none {
			return 0, false, nil
		}
		if uint64(v) >= uint64(len(t.values)) {
			return 0, false, fmt.Errorf("the metadata contradicts itself: %s is %d, and there are %d tokens", key, v, len(t.values))
		}
		return lm.Token(v), true, nil
	}
	bos, hasBOS, err := id("tokenizer.ggml.bos_token_id")
	if err != nil {
		return err
	}
	t.addBOS = m.Bool("tokenizer.ggml.add_bos_token", addsBOS(m))
	if t.addBOS && !hasBOS {
		// SentencePiece's own convention is 1.
		if m.String("tokenizer.ggml.model") != "llama" || len(t.values) < 2 {
			if m.Value("tokenizer.ggml.add_bos_token") != nil {
				return errors.New("the metadata contradicts itself: a beginning-of-sequence token is asked for (tokenizer.ggml.add_bos_token) but not named (tokenizer.ggml.bos_token_id)")
			}
			t.addBOS = false
		} else {
			bos = 1
		}
	}
	if t.addBOS {
		t.bos = bos
	}
	if hasBOS || t.addBOS {
		t.begin = t.values[bos]
	}
	for _, key := range []string{"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id"} {
		eos, has, err := id(key)
		if err != nil {
			return err
		}
		if has && !slices.Contains(t.eos, eos) {
			t.eos = append(t.eos, eos)
		}
	}
	for _, eos := range m.Ints("tokenizer.ggml.eos_token_ids") {
		if eos < 0 || int(eos) >= len(t.values) {
			return fmt.Errorf("the metadata contradicts itself: tokenizer.ggml.eos_token_ids has %d, and there are %d tokens", eos, len(t.values))
		}
		if !slices.Contains(t.eos, eos) {
			t.eos = append(t.eos, eos)
		}
	}
	return nil
}

// addsBOS is what a missing tokenizer.ggml.add_bos_token means.
func addsBOS(m Metadata) bool {
	switch m.String("tokenizer.ggml.model") {
	case "llama":
		return true
	case "gpt2":
		rule, ok := preTokenizers[m.String("tokenizer.ggml.pre")]
		return ok && rule.addBOS
	}
	return false
}

// Size returns the number of tokens in the vocabulary.
func (t *Tokenizer) Size() int { return len(t.values) }

// AddBOS says whether the metadata asks for a beginning-of-sequence token in
// front of a text.
func (t *Tokenizer) AddBOS() bool { return t.addBOS }

// BOS returns the beginning-of-sequence token; it means something only when
// AddBOS is true.
func (t *Tokenizer) BOS() lm.Token { return t.bos }

// EOS returns the tokens that end a text or a turn, as the metadata lists them.
func (t *Tokenizer) EOS() []lm.Token { return slices.Clone(t.eos) }

// Encode returns the tokens of a text, and nothing but the text: no
// beginning-of-sequence token, no control token. The errors are
// [*UnknownBytesError] and [*TooLongError].
func (t *Tokenizer) Encode(text string) ([]lm.Token, error) { return t.encode(text, &t.userDefined) }

// EncodeMarked is like Encode, but a control token's spelling becomes the
// control token: what a program makes of a prompt that it is handed as text.
func (t *Tokenizer) EncodeMarked(text string) ([]lm.Token, error) { return t.encode(text, &t.marked) }

// encode tokenises text, taking the tokens of whole as they are spelt.
func (t *Tokenizer) encode(text string, whole *byFirstByte) ([]lm.Token, error) {
	if len(text) > MaxText {
		return nil, &TooLongError{Bytes: len(text)}
	}
	var (
		tokens  []lm.Token
		atStart = true
		start   int // of the text not encoded yet
		err     error
	)
	flush := func(end int) error {
		if start == end {
			return nil
		}
		tokens, err = t.algorithm.encode(tokens, text[start:end], atStart)
		atStart = false
		return err
	}
	for i := 0; i < len(text); {
		id, length := whole.match(text[i:])
		if length == 0 {
			i++
			continue
		}
		if err := flush(i); err != nil {
			return nil, err
		}
		tokens = append(tokens, id)
		atStart = true
		i += length
		start = i
	}
	if err := flush(len(text)); err != nil {
		return nil, err
	}
	return tokens, nil
}

// Piece returns the bytes that a token stands for. They need not be UTF-8 by
// themselves: a byte token is its byte. A control token gives its name. The
// result is the caller's; it is nil for a token outside the vocabulary.
func (t *Tokenizer) Piece(id lm.Token) []byte {
	if id < 0 || int(id) >= len(t.values) {
		return nil
	}
	v := t.values[id]
	switch t.types[id] {
	case typeControl, typeUnknown:
		return []byte(v)
	case typeUserDefined:
		if _, ok := t.algorithm.(*sentencePiece); !ok {
			return []byte(v)
		}
	case typeByte:
		if b, ok := byteValue(v); ok {
			return []byte{b}
		}
	}
	return t.algorithm.decode(v)
}

// Text returns the bytes of the tokens, one after the other.
func (t *Tokenizer) Text(ids []lm.Token) []byte {
	var b bytes.Buffer
	for _, id := range ids {
		b.Write(t.Piece(id))
	}
	return b.Bytes()
}

// IsControl says whether a token is none of text but a mark, such as the
// beginning of a sequence.
func (t *Tokenizer) IsControl(id lm.Token) bool { return t.is(id, typeControl) }

// IsByte says whether a token is for a single byte of what has no token of its
// own.
func (t *Tokenizer) IsByte(id lm.Token) bool { return t.is(id, typeByte) }

// IsUnused says whether a token only fills a row of the vocabulary.
func (t *Tokenizer) IsUnused(id lm.Token) bool { return t.is(id, typeUnused) }

func (t *Tokenizer) is(id lm.Token, kind int32) bool {
	return id >= 0 && int(id) < len(t.types) && t.types[id] == kind
}

// Control finds the first place where a text spells a control token, as
// in "<bos>". Encode takes it as text; a program that is handed the text alone
// may take it as the token.
func (t *Tokenizer) Control(text string) (id lm.Token, ok bool) {
	for i := range len(text) {
		if id, length := t.control.match(text[i:]); length > 0 {
			return id, true
		}
	}
	return 0, false
}

// byteValue reads the value of a byte token, "<0x0A>".
func byteValue(value string) (byte, bool) {
	if len(value) != len("<0x0A>") || !strings.HasPrefix(value, "<0x") || value[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(value[3:5], 16, 8)
	return byte(b), err == nil
}

// byFirstByte finds the longest of a set of strings at the start of a text.
type byFirstByte [256][]entry

type entry struct {
	text string
	id   lm.Token
}

func (s *byFirstByte) add(text string, id lm.Token) {
	s[text[0]] = append(s[text[0]], entry{text, id})
}

func (s *byFirstByte) sort() {
	for _, entries := range s {
		slices.SortStableFunc(entries, func(a, b entry) int { return len(b.text) - len(a.text) })
	}
}

// match returns length 0 when none is found.
func (s *byFirstByte) match(text string) (id lm.Token, length int) {
	for _, e := range s[text[0]] {
		if strings.HasPrefix(text, e.text) {
			return e.id, len(e.text)
		}
	}
	return 0, 0
}

// runeLen returns how many bytes of text make its first symbol: a code point,
// or one byte that is no UTF-8.
func runeLen(text string) int {
	_, n := utf8.DecodeRuneInString(text)
	return n
}
