package syntax_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/modellog/modellog/lang/syntax"
	"pgregory.net/rapid"
)

func TestLaTeX(t *testing.T) {
	for src, want := range map[string]string{
		"dog -> mammal":                         `\text{dog} \to \text{mammal}`,
		"(a | b) & !c":                          `(\text{a} \lor \text{b}) \land \lnot \text{c}`,
		"a xor b <-> true":                      `\text{a} \oplus \text{b} \leftrightarrow \top`,
		"!(a & false)":                          `\lnot (\text{a} \land \bot)`,
		"P₁ -> x_1":                             `\text{P₁} \to \text{x\_1}`,
		`M("A {50%} $5 \\ is", "a_b", join="")`: `\mathcal{M}(\text{“A \{50\%\} \$5 }\backslash\text{ is”}, \text{“a\_b”}, \text{join}=\text{“”})`,
		"prob(1e-6)":                            `\text{prob}(1 \times 10^{-6})`,
		`M("a\nb^~", "#")`:                      `\mathcal{M}(\text{“a b}\hat{\ }\text{}{\sim}\text{”}, \text{“\#”})`,
	} {
		x, err := syntax.ParseExpr(src)
		if err != nil {
			t.Fatal(err)
		}
		if got := syntax.Format(x, syntax.LaTeX); got != want {
			t.Errorf("%s\n got %s\nwant %s", src, got, want)
		}
	}
}

// fromLaTeX turns what Format wrote in LaTeX into the language again, and reports whether
// its braces are balanced.
func fromLaTeX(s string) (string, bool) {
	var b strings.Builder
	for s != "" {
		rest, ok := strings.CutPrefix(s, `\text{`)
		if !ok {
			r := []rune(s)[0]
			if r == '{' || r == '}' {
				return "", false
			}
			if r != '\\' {
				b.WriteRune(r)
				s = s[len(string(r)):]
				continue
			}
			found := false
			for _, sign := range [][2]string{{`\leftrightarrow`, "↔"}, {`\top`, "⊤"}, {`\to`, "→"}, {`\lor`, "∨"}, {`\oplus`, "⊕"}, {`\land`, "∧"}, {`\lnot`, "¬"}, {`\bot`, "⊥"}, {`\mathcal{M}`, "M"}, {` \times 10^{`, "e"}} {
				if rest, ok := strings.CutPrefix(s, sign[0]); ok {
					b.WriteString(sign[1])
					s, found = rest, true
					break
				}
			}
			if !found {
				return "", false
			}
			continue
		}
		// A text: up to the brace that is not escaped.
		var text strings.Builder
		for {
			if rest == "" {
				return "", false
			}
			found := false
			for _, c := range [][2]string{{`}\backslash\text{`, `\`}, {`}\hat{\ }\text{`, "^"}, {`}{\sim}\text{`, "~"}, {`\{`, "{"}, {`\}`, "}"}, {`\$`, "$"}, {`\%`, "%"}, {`\&`, "&"}, {`\#`, "#"}, {`\_`, "_"}} {
				if after, ok := strings.CutPrefix(rest, c[0]); ok {
					text.WriteString(c[1])
					rest, found = after, true
					break
				}
			}
			if found {
				continue
			}
			if rest[0] == '}' {
				break
			}
			r := []rune(rest)[0]
			if strings.ContainsRune(`\{}$%&#_^~`, r) {
				return "", false
			}
			text.WriteRune(r)
			rest = rest[len(string(r)):]
		}
		s = rest[1:]
		if inner, ok := strings.CutPrefix(text.String(), "“"); ok {
			b.WriteString(syntax.Quote(strings.TrimSuffix(inner, "”")))
		} else {
			b.WriteString(text.String())
		}
	}
	return b.String(), true
}

// TestLaTeXRoundTrip: read back sign by sign, LaTeX is the same expression.
func TestLaTeXRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := syntax.Map(exprs(4).Draw(t, "x"), func(x syntax.Expr) syntax.Expr {
			switch x := x.(type) {
			case *syntax.String: // what is not printed is a space
				return &syntax.String{Value: strings.Map(func(r rune) rune {
					if !unicode.IsPrint(r) {
						return ' '
					}
					return r
				}, x.Value)}
			case *syntax.Number: // whose powers have braces of their own
				return &syntax.Number{Text: strings.ReplaceAll(x.Text, "1e-6", "0.1")}
			}
			return x
		})
		latex := syntax.Format(x, syntax.LaTeX)
		text, ok := fromLaTeX(latex)
		if !ok {
			t.Fatalf("braces or escapes: %s", latex)
		}
		y, err := syntax.ParseExpr(text)
		if err != nil {
			t.Fatalf("%s is %s: %v", latex, text, err)
		}
		if shape(x) != shape(y) {
			t.Fatalf("%s\n got %s\nwant %s", latex, shape(y), shape(x))
		}
	})
}

func FuzzLaTeXText(f *testing.F) {
	for _, s := range []string{"", "a_b", `\{}$%&#^~`, "\x00\n\u202e", "“”", "\xff", "$5 and $6"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if text, ok := fromLaTeX(syntax.LaTeXText(s)); !ok {
			t.Fatalf("%q: %q is not escaped", s, syntax.LaTeXText(s))
		} else if !strings.HasPrefix(s, "“") && len([]rune(text)) != len([]rune(s)) {
			t.Fatalf("%q became %q", s, text)
		}
	})
}
