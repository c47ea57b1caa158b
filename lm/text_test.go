package lm

import "testing"

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
