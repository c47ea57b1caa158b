package cuc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/lm"
)

// Variant is a way to write an answer, and the token that stands for it.
type Variant struct {
	Text  string   `json:"text"` // " Yes"
	Token lm.Token `json:"token"`
	Piece string   `json:"piece"` // the token's text, which is the whole of the variant
}

// LeftOut is a way to write both answers that a vocabulary does not have as one token each.
type LeftOut struct {
	Yes string `json:"yes"` // "YES"
	No  string `json:"no"`  // "NO"
	Why string `json:"why"` // `"YES" is "Y" + "ES"`
}

// Answers are the tokens of a model's vocabulary whose probabilities make up that of an answer: of the
// answer as the prompt has it, in capitals, capitalised and in small letters, each with a space before it and
// without. Yes[i] and No[i] are written alike: a variant counts for both answers or for neither, for one that
// the vocabulary has of NO alone would make P(YES) too small against P(NO).
type Answers struct {
	Format  Format    `json:"-"`
	Yes     []Variant `json:"yes,omitempty"`
	No      []Variant `json:"no,omitempty"` // as many
	LeftOut []LeftOut `json:"left_out,omitempty"`
	Asked   lm.Token  `json:"asked"`           // of Yes[0]: the event M(Q, YES)
	Lacks   string    `json:"lacks,omitempty"` // why the model cannot be asked under this format, and was not
}

// lacking is the error that a vocabulary has no variant of two answers.
type lacking struct{ model, why string }

func (e *lacking) Error() string {
	return fmt.Sprintf("%s cannot be asked: %s; ask under another format of answers (--answers)", e.model, e.why)
}

// variants are the ways to write both answers. The first is what goes on from the prompt: with a space behind a
// word, without in a turn of a conversation.
func variants(f Format, style Style) [][2]string {
	spaces := []string{" ", ""}
	if style == ChatStyle {
		slices.Reverse(spaces)
	}
	capitalised := func(s string) string {
		_, n := utf8.DecodeRuneInString(s)
		return strings.ToUpper(s[:n]) + strings.ToLower(s[n:])
	}
	var out [][2]string
	for _, form := range []func(string) string{func(s string) string { return s }, strings.ToUpper, capitalised, strings.ToLower} {
		for _, space := range spaces {
			if v := [2]string{space + form(f.Yes), space + form(f.No)}; !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// findAnswers finds the tokens. It is an error, a lacking one, if no variant of both answers is left.
func findAnswers(ctx context.Context, m lm.Model, f Format, style Style) (*Answers, error) {
	a := &Answers{Format: f}
	type pair struct {
		texts  [2]string
		tokens [2]lm.Token
	}
	var whole []pair // the variants that are one token each
	var of [2][]lm.Token
	for _, texts := range variants(f, style) {
		p := pair{texts: texts}
		var why []string
		for k, text := range texts {
			// What stands before matters for tokenisers that put a space in front of a text.
			_, tokens, err := lm.Continue(ctx, m, "Answer:", text)
			var merged *lm.BoundaryError
			switch {
			case errors.As(err, &merged):
				why = append(why, fmt.Sprintf("%q grows together with what is before it", text))
			case err != nil:
				return nil, fmt.Errorf("the answer %q: %w", text, err)
			case len(tokens) != 1:
				var parts []string
				for _, piece := range lm.Pieces(m, tokens) {
					parts = append(parts, strconv.Quote(piece))
				}
				why = append(why, fmt.Sprintf("%q is %s", text, strings.Join(parts, " + ")))
			default:
				p.tokens[k] = tokens[0]
			}
		}
		if len(why) > 0 {
			a.LeftOut = append(a.LeftOut, LeftOut{texts[0], texts[1], strings.Join(why, " and ")})
			continue
		}
		whole = append(whole, p)
		for k := range of {
			of[k] = append(of[k], p.tokens[k])
		}
	}
	for _, p := range whole {
		known := func(vs []Variant, t lm.Token) int {
			return slices.IndexFunc(vs, func(v Variant) bool { return v.Token == t })
		}
		y, n := known(a.Yes, p.tokens[0]), known(a.No, p.tokens[1])
		switch {
		case slices.Contains(of[1], p.tokens[0]) || slices.Contains(of[0], p.tokens[1]):
			a.LeftOut = append(a.LeftOut, LeftOut{p.texts[0], p.texts[1], "a token is of both answers"})
		case y >= 0 && y == n: // the tokeniser makes the same of two variants
		case y >= 0 || n >= 0:
			a.LeftOut = append(a.LeftOut, LeftOut{p.texts[0], p.texts[1], "one of the two is the token of another variant"})
		default:
			for k, to := range []*[]Variant{&a.Yes, &a.No} {
				*to = append(*to, Variant{Text: p.texts[k], Token: p.tokens[k], Piece: lm.Printable(m.Piece(p.tokens[k]))})
			}
		}
	}
	if len(a.Yes) == 0 {
		return nil, &lacking{m.Info().Name, fmt.Sprintf("its vocabulary has no way to write both %s and %s in one token each (%s)", f.Yes, f.No, a.LeftOut[0].Why)}
	}
	a.Asked = a.Yes[0].Token
	return a, nil
}

// all are the tokens of both answers.
func (a *Answers) all() []Variant { return slices.Concat(a.Yes, a.No) }

// String is the answers' tokens in a line, and what is left out: YES = "Yes" " Yes", NO = "No" " No"; left out of
// both, "YES" / "NO" ("YES" is "Y" + "ES").
func (a *Answers) String() string {
	if a.Lacks != "" {
		return fmt.Sprintf("%s is not asked: %s", a.Format, a.Lacks)
	}
	list := func(vs []Variant) string {
		var out []string
		for _, v := range vs {
			out = append(out, fmt.Sprintf("%q", v.Piece))
		}
		return strings.Join(out, " ")
	}
	s := fmt.Sprintf("%s = %s, %s = %s", a.Format.Yes, list(a.Yes), a.Format.No, list(a.No))
	for i, l := range a.LeftOut {
		if i == 0 {
			s += "; left out of both"
		}
		s += fmt.Sprintf(", %q / %q (%s)", l.Yes, l.No, l.Why)
	}
	return s
}
