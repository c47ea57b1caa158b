package syntax

import (
	"strings"
	"testing"
)

// TestLiterals: numbers that no float64 tells from 0, and escapes that are no characters, have
// messages of their own.
func TestLiterals(t *testing.T) {
	for src, want := range map[string]string{
		`prob(1e-400)`:              `1:6: "1e-400" is above 0 and smaller than any number here; write 0, or at least 1e-300`,
		`prob(0.01E-999)`:           `1:6: "0.01E-999" is above 0`,
		`prob(1e400)`:               `1:6: "1e400" is not a number`,
		`prob(0e-400)`:              "",
		`prob(1e-320)`:              "",
		`prob(0.000)`:               "",
		`M("\u0000", "b")`:          `1:4: this is a NUL byte; no tokenizer reads it`,
		`M("\U00000000", "b")`:      `1:4: this is a NUL byte; no tokenizer reads it`,
		`M("\ud83d\udc36", "b")`:    `1:4: this is one half of a surrogate pair and no character by itself; write the whole one, as in \U0001F436, or type it`,
		`M("\U0000DFFF", "b")`:      `1:4: this is one half of a surrogate pair`,
		`M("\U00110000", "b")`:      `1:4: \U is followed by the 8 hexadecimal digits of a Unicode code point`,
		`M("\uD7FF\uE000", "b")`:    "",
		`M("\U0001F436", "\u0001")`: "",
	} {
		p, err := NewParser("", src)
		if err == nil {
			_, err = p.Next()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: got %v, want %s", src, err, want)
		}
	}
	for text, want := range map[string]bool{"1e-400": false, "-1e-400": false, "1e400": false, "0x1p-2": false, "inf": false, "nan": false, "1_0": false, "": false, "-0.5": true, "0": true, "00.0e5": true} {
		if _, err := ParseNumber(text); (err == nil) != want {
			t.Errorf("ParseNumber(%q): %v", text, err)
		}
	}
}
