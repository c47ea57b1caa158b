package syntax

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// token is a kind of word or sign.
type token uint8

const (
	tokEOF token = iota
	tokNewline
	tokName
	tokString
	tokNumber
	tokLparen
	tokRparen
	tokComma
	tokAssign
	tokSemi
	tokPercent
	tokIff
	tokImplies
	tokOr
	tokXor
	tokAnd
	tokNot
	tokTrue
	tokFalse
)

// lexeme is a token with its place and its value.
type lexeme struct {
	tok        token
	start, end Pos
	text       string  // as written; the name or the string's value
	number     float64 // of a tokNumber
}

const bom = '\uFEFF'

// scanner splits a source into lexemes.
type scanner struct {
	src   *Source
	end   int // byte offset at which to stop
	pos   Pos
	depth int  // open parentheses
	cont  bool // the last token wants something after it: the line goes on
	opens []Pos
}

func newScanner(src *Source, r region) *scanner {
	s := &scanner{src: src, pos: r.start, end: r.end}
	if s.pos.off == 0 && strings.HasPrefix(src.text, string(bom)) {
		s.pos.off = len(string(bom))
	}
	return s
}

// peek returns the next code point without taking it, and 0 at the end. The
// width is 0 only at the end; a NUL byte has width 1.
func (s *scanner) peek() (rune, int) {
	if s.pos.off >= s.end {
		return 0, 0
	}
	if c := s.src.text[s.pos.off]; c < utf8.RuneSelf {
		return rune(c), 1
	}
	return utf8.DecodeRuneInString(s.src.text[s.pos.off:s.end])
}

// take moves over the next code point, which is not a line's end.
func (s *scanner) take(width int) {
	s.pos.off += width
	s.pos.Col++
}

// rest is what has not been read.
func (s *scanner) rest() string { return s.src.text[s.pos.off:s.end] }

// newline moves over a line's end.
func (s *scanner) newline() {
	if strings.HasPrefix(s.rest(), "\r\n") {
		s.pos.off++
	}
	s.pos.off++
	s.pos.Line++
	s.pos.Col = 1
}

// skipLine moves to the end of the line.
func (s *scanner) skipLine() {
	for {
		r, w := s.peek()
		if w == 0 || r == '\n' || r == '\r' {
			return
		}
		s.take(w)
	}
}

// aliases are signs of other notations, with what is written here instead.
// Longer ones come before those that they start with.
var aliases = []struct{ sign, here string }{
	{"<=>", "<->"}, {"===", "<->"}, {"==>", "->"}, {"-->", "->"}, {"=>", "->"}, {"==", "<->"},
	{"&&", "&"}, {"||", "|"}, {"!=", "xor"}, {"⇒", "->"}, {"⟹", "->"}, {"⟶", "->"}, {"⊃", "->"},
	{"⇔", "<->"}, {"⟺", "<->"}, {"⟷", "<->"}, {"≡", "<->"}, {"⊻", "xor"}, {"≢", "xor"}, {"−", "-"},
	{"[", "("}, {"]", ")"}, {"{", "("}, {"}", ")"}, {"“", `"`}, {"”", `"`}, {"„", `"`}, {"«", `"`}, {"»", `"`},
	{"‘", "'"}, {"’", "'"}, {":=", "="}, {"**", "&"}, {"*", "&"}, {"+", "|"}, {"\\/", "|"}, {"/\\", "&"}, {"`", `"`},
}

// signs are the language's own, longest first.
var signs = []struct {
	sign string
	tok  token
}{
	{"<->", tokIff}, {"->", tokImplies},
	{"|", tokOr}, {"^", tokXor}, {"&", tokAnd}, {"!", tokNot}, {"~", tokNot},
	{"↔", tokIff}, {"→", tokImplies}, {"∨", tokOr}, {"⊕", tokXor}, {"∧", tokAnd}, {"¬", tokNot},
	{"⊤", tokTrue}, {"⊥", tokFalse},
	{"(", tokLparen}, {")", tokRparen}, {",", tokComma}, {"=", tokAssign}, {";", tokSemi}, {"%", tokPercent},
}

// next returns the next lexeme. Within parentheses and after a connective, a
// comma or "=" a line's end is white space.
func (s *scanner) next() (lexeme, error) {
	for {
		r, w := s.peek()
		switch {
		case w == 0:
			return lexeme{tok: tokEOF, start: s.pos, end: s.pos}, nil
		case r == '\n' || r == '\r':
			start := s.pos
			s.newline()
			if s.depth > 0 || s.cont {
				continue
			}
			return lexeme{tok: tokNewline, start: start, end: start}, nil
		case r == '#':
			if err := s.comment(); err != nil {
				return lexeme{}, err
			}
			continue
		case r == utf8.RuneError && w == 1:
			return lexeme{}, s.badByte()
		case unicode.IsSpace(r):
			s.take(w)
			continue
		}
		l, err := s.scan(r, w)
		if err != nil {
			return lexeme{}, err
		}
		switch l.tok {
		case tokLparen:
			s.depth++
			s.opens = append(s.opens, l.start)
		case tokRparen:
			if s.depth > 0 {
				s.depth--
				s.opens = s.opens[:len(s.opens)-1]
			}
		}
		s.cont = l.tok >= tokIff && l.tok <= tokNot || l.tok == tokAssign
		return l, nil
	}
}

// comment moves over a comment, which must be text too.
func (s *scanner) comment() error {
	for {
		r, w := s.peek()
		if w == 0 || r == '\n' || r == '\r' {
			return nil
		}
		if r == utf8.RuneError && w == 1 {
			return s.badByte()
		}
		s.take(w)
	}
}

func (s *scanner) badByte() error {
	c := s.src.text[s.pos.off]
	end := s.pos
	end.Col++
	return s.src.errorf(s.pos, end, "the byte 0x%02X is not UTF-8 text; save the program as UTF-8", c)
}

func (s *scanner) scan(r rune, w int) (lexeme, error) {
	start := s.pos
	rest := s.rest()
	if isNameStart(r) {
		if (r == 'r' || r == 'R') && len(rest) > 1 && (rest[1] == '"' || rest[1] == '\'') {
			s.take(1)
			return s.string(start, true)
		}
		return s.name()
	}
	if r == '"' || r == '\'' {
		return s.string(start, false)
	}
	if isDigit(r) || (r == '.' || r == '-') && startsNumber(rest[1:]) {
		return s.number()
	}
	// "===" must not be taken for "=".
	for _, a := range aliases {
		if strings.HasPrefix(rest, a.sign) {
			end := start
			end.Col += int32(utf8.RuneCountInString(a.sign))
			return lexeme{}, s.src.errorf(start, end, "%q is not used here; write %s", a.sign, quoteSign(a.here))
		}
	}
	for _, g := range signs {
		if strings.HasPrefix(rest, g.sign) {
			for range utf8.RuneCountInString(g.sign) {
				_, w := s.peek()
				s.take(w)
			}
			return lexeme{tok: g.tok, start: start, end: s.pos, text: g.sign}, nil
		}
	}
	end := start
	end.Col++
	switch {
	case r == 0:
		return lexeme{}, s.src.errorf(start, end, "there is a NUL byte here, which is not text")
	case r == '?':
		before := strings.TrimRightFunc(s.src.text[:s.pos.off], unicode.IsSpace)
		word := before[strings.LastIndexFunc(before, func(r rune) bool { return !isNamePart(r) })+1:]
		if !IsName(word) {
			word = ""
		}
		return lexeme{}, s.src.errorf(start, end, `"?" is not used here; try %s`, strings.TrimSpace("%help "+trim(word, 40)))
	case r == '<' || r == '-' || r == '>':
		return lexeme{}, s.src.errorf(start, end, `%q is not a connective; "->" is implication and "<->" equivalence`, string(r))
	case unicode.IsControl(r) || !unicode.IsPrint(r):
		return lexeme{}, s.src.errorf(start, end, "there is an invisible character here (U+%04X); delete it", r)
	}
	return lexeme{}, s.src.errorf(start, end, "%q has no meaning here; put text in quotes", string(r))
}

// quoteSign quotes what a message tells to write.
func quoteSign(sign string) string {
	if strings.ContainsRune(sign, '"') {
		return "'" + sign + "'"
	}
	return `"` + sign + `"`
}

func isNameStart(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.IsDigit(r) || unicode.In(r, unicode.Mn, unicode.Mc) ||
		'₀' <= r && r <= '₉' // P₁, as papers write it
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// startsNumber reports whether a number goes on after its sign or point.
func startsNumber(s string) bool {
	s = strings.TrimPrefix(s, ".")
	return s != "" && isDigit(rune(s[0]))
}

// IsName reports whether s can be a name: a letter or "_", then letters,
// digits, subscript digits and combining marks, and no keyword.
func IsName(s string) bool {
	for i, r := range s {
		if i == 0 && !isNameStart(r) || !isNamePart(r) || r == utf8.RuneError {
			return false
		}
	}
	_, keyword := keywords[s]
	return s != "" && !keyword
}

func (s *scanner) name() (lexeme, error) {
	start := s.pos
	for {
		r, w := s.peek()
		if w == 0 || !isNamePart(r) {
			break
		}
		s.take(w)
	}
	if n := s.pos.Col - start.Col; n > maxName {
		return lexeme{}, s.src.errorf(start, s.pos, "this name has %d letters, and a name has at most %d; text goes into quotes", n, maxName)
	}
	text := norm.NFC.String(s.src.text[start.off:s.pos.off])
	l := lexeme{tok: tokName, start: start, end: s.pos, text: text}
	if tok, ok := keywords[text]; ok {
		l.tok = tok
	}
	return l, nil
}

// maxName is how long a name may be in code points.
const maxName = 1000

func (s *scanner) number() (lexeme, error) {
	start := s.pos
	prev := rune(0)
	for {
		r, w := s.peek()
		sign := (r == '+' || r == '-') && (prev == 'e' || prev == 'E')
		if w == 0 || !isDigit(r) && r != '.' && !isNamePart(r) && !sign && s.pos != start {
			break
		}
		s.take(w)
		prev = r
	}
	text := s.src.text[start.off:s.pos.off]
	v, err := ParseNumber(text)
	if errors.Is(err, errUnderflow) {
		return lexeme{}, s.src.errorf(start, s.pos, "%q is above 0 and smaller than any number here; write 0, or at least 1e-300", trim(text, 40))
	}
	if err != nil {
		return lexeme{}, s.src.errorf(start, s.pos, "%q is not a number; write it like 0.3, 12 or 1e-6 (a name starts with a letter)", trim(text, 40))
	}
	return lexeme{tok: tokNumber, start: start, end: s.pos, text: text, number: v}, nil
}

var errUnderflow = errors.New("it is above 0 and smaller than any number here")

// ParseNumber reads a decimal number. It is an error if that is too large for a float64, or too
// small for one and not 0.
func ParseNumber(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0, err
	case math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(text, "_xX"):
		return 0, strconv.ErrSyntax
	case v == 0:
		mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
		if strings.ContainsAny(mantissa, "123456789") {
			return 0, errUnderflow
		}
	}
	return v, nil
}

// string reads a quoted text; the scanner stands at the quote.
func (s *scanner) string(start Pos, raw bool) (lexeme, error) {
	quote, _ := s.peek()
	s.take(1)
	var b strings.Builder
	for {
		r, w := s.peek()
		switch {
		case w == 0 || r == '\n' || r == '\r':
			return lexeme{}, s.src.errorf(start, s.pos, `this text has no closing %c; it must end on its own line (write \n for a line's end)`, quote)
		case r == utf8.RuneError && w == 1:
			return lexeme{}, s.badByte()
		case r == 0:
			end := s.pos
			end.Col++
			return lexeme{}, s.src.errorf(s.pos, end, "there is a NUL byte in this text; no tokenizer reads it")
		case r == quote:
			s.take(w)
			return lexeme{tok: tokString, start: start, end: s.pos, text: b.String()}, nil
		case r == '\\' && !raw:
			if err := s.escape(&b); err != nil {
				return lexeme{}, err
			}
		default:
			b.WriteString(s.src.text[s.pos.off : s.pos.off+w])
			s.take(w)
		}
	}
}

// escape reads a backslash and what follows it.
func (s *scanner) escape(b *strings.Builder) error {
	start := s.pos
	s.take(1)
	r, w := s.peek()
	if w > 0 && r != '\n' && r != '\r' {
		s.take(w)
	}
	digits := 0
	switch r {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '\\', '"', '\'':
		b.WriteRune(r)
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		return s.src.errorf(start, s.pos, `this escape is not known; there are \n \t \r \\ \" \' \u0041 \U0001F436, and r"…" takes a backslash as it is`)
	}
	if digits == 0 {
		return nil
	}
	rest := s.rest()
	if len(rest) >= digits {
		if v, err := strconv.ParseUint(rest[:digits], 16, 32); err == nil && v <= unicode.MaxRune {
			for range digits {
				s.take(1)
			}
			switch {
			case v == 0:
				return s.src.errorf(start, s.pos, "this is a NUL byte; no tokenizer reads it")
			case utf16.IsSurrogate(rune(v)):
				return s.src.errorf(start, s.pos, `this is one half of a surrogate pair and no character by itself; write the whole one, as in \U0001F436, or type it`)
			}
			b.WriteRune(rune(v))
			return nil
		}
	}
	return s.src.errorf(start, s.pos, `\%c is followed by the %d hexadecimal digits of a Unicode code point`, r, digits)
}

// trim cuts a text that is quoted in a message.
func trim(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
