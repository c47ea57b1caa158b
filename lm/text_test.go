package lm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestJoin(t *testing.T) {
	for _, test := range []struct{ prefix, target, text string }{
		{"A robin is a", "bird", "A robin is a bird"},
		{"A robin is a ", "bird", "A robin is a bird"},
		{"A robin is a\n", "bird", "A robin is a\nbird"},
		{"A robin is a", " bird", "A robin is a bird"},
		{"", "Paris", "Paris"},
		{"A robin is a bird", ".", "A robin is a bird."},
		{"(a robin", ")", "(a robin)"},
		{"“a robin", "”", "“a robin”"},
		{"A robin is", "(a", "A robin is (a"},
		{"100", "%", "100%"},
		{"法国的首都是", "巴黎", "法国的首都是巴黎"},
		{"首都は", "パリ", "首都はパリ"},
		{"ฝรั่งเศสคือ", "ปารีส", "ฝรั่งเศสคือปารีส"},
		{"เมืองคือ", "Paris", "เมืองคือParis"},
		{"The capital is", "巴黎", "The capital is巴黎"},
		// Marks that Unicode counts to no one script.
		{"コーヒー", "latte", "コーヒーlatte"},
		{"ｺｰﾋｰ", "latte", "ｺｰﾋｰlatte"},
		{"The island of", "〆", "The island of〆"},
		{"人々", "and", "人々and"},
		{"二〇〇〇", "AD", "二〇〇〇AD"},
		{"パリです。", "Yes", "パリです。Yes"},
		{"答えは「", "Paris", "答えは「Paris"},
		{"수도는", "파리", "수도는 파리"},
		{"I like my 🐶", "dog", "I like my 🐶 dog"},
		{"A robin is a", "", "A robin is a"},
	} {
		text, seam := Join(test.prefix, test.target)
		if text != test.text {
			t.Errorf("Join(%q, %q) = %q, want %q", test.prefix, test.target, text, test.text)
		}
		if text[seam:] != test.target {
			t.Errorf("Join(%q, %q): what follows the seam is %q", test.prefix, test.target, text[seam:])
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, test := range []struct {
		piece []byte
		want  string
	}{
		{[]byte(" dog"), " dog"},
		{[]byte{0xf0, 0x9f}, `\xf0\x9f`},
		{[]byte{'a', 0xff, 'b'}, `a\xffb`},
		{nil, ""},
	} {
		if got := Printable(test.piece); got != test.want {
			t.Errorf("Printable(%q) = %q, want %q", test.piece, got, test.want)
		}
	}
}

// merging is a model whose tokens are the characters of a text, but for a pair
// of them that is one token.
type merging struct {
	Model
	pair string
}

func (m merging) Tokenize(_ context.Context, text string) ([]Token, error) {
	if strings.Contains(text, "\xff") {
		return nil, errors.New("no token for a byte")
	}
	var out []Token
	for len(text) > 0 {
		if m.pair != "" && strings.HasPrefix(text, m.pair) {
			out = append(out, -1)
			text = text[len(m.pair):]
			continue
		}
		r, n := utf8.DecodeRuneInString(text)
		out = append(out, r)
		text = text[n:]
	}
	return out, nil
}

func (m merging) Piece(t Token) []byte {
	if t < 0 {
		return []byte(m.pair)
	}
	return []byte(string(t))
}

func TestContinue(t *testing.T) {
	before, after, err := Continue(t.Context(), merging{}, "ab", "cd")
	if err != nil || !slices.Equal(before, []Token{'a', 'b'}) || !slices.Equal(after, []Token{'c', 'd'}) {
		t.Errorf("%v, %v, %v", before, after, err)
	}
	_, _, err = Continue(t.Context(), merging{pair: "bc"}, "ab", "cd")
	var boundary *BoundaryError
	if !errors.As(err, &boundary) {
		t.Fatalf("%v, want a BoundaryError", err)
	}
	for _, want := range []string{`"ab" and "cd"`, `alone is "a"·"b" and`, `it is "a"·"bc"·"d";`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to have %s", err, want)
		}
	}
}

// However long the texts, a message shows what is near the boundary.
func TestContinueErrorsAreBrief(t *testing.T) {
	prefix, target := strings.Repeat("Größe ", 5000)+"Ans", "wer"+strings.Repeat(" naïve", 5000)
	for name, test := range map[string]struct {
		prefix, target string
		want           []string
	}{
		"merging":      {prefix, target, []string{`Größe Ans" and`, `"wer naïve`, `is …·"ö"·"ß"·"e"·" "·"A"·"n"·"s" and`, `it is …·"ö"·"ß"·"e"·" "·"A"·"n"·"sw"·"e"·"r"·" "·"n"·"a"·…`}},
		"the prefix":   {"\xff" + prefix, target, []string{`Ans"`, "no token for a byte"}},
		"the target":   {prefix, target + "\xff", []string{`Ans"`, `"wer naïve`, "no token for a byte"}},
		"an empty one": {prefix, "", []string{`the target ""`}},
	} {
		_, _, err := Continue(t.Context(), merging{pair: "sw"}, test.prefix, test.target)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		if len(err.Error()) > 600 || !utf8.ValidString(err.Error()) {
			t.Errorf("%s: a message of %d bytes: %q", name, len(err.Error()), err)
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want it to have %s", name, err, want)
			}
		}
	}
}
