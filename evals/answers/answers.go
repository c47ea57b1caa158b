package answers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

// Variant is a way to write an answer, and the token that stands for it.
type Variant struct {
	Text  string   `json:"text"` // " A"
	Token lm.Token `json:"token"`
	Piece string   `json:"piece"` // the token's text, which is the whole of the variant
}

// LeftOut is a spelling of both answers that a vocabulary does not have as one token each.
type LeftOut struct {
	First  string `json:"first"`  // "YES"
	Second string `json:"second"` // "NO"
	Why    string `json:"why"`    // `"YES" is "Y" + "ES"`
}

// Pair are the tokens of a model's vocabulary whose probabilities make up those of two answers. Variants[0][i] and
// Variants[1][i] are written alike: a spelling counts for both answers or for neither, for one that the vocabulary
// has of the second alone would make the first too small against it.
type Pair struct {
	Names    [2]string
	Variants [2][]Variant // of the first and of the second answer, equally many
	LeftOut  []LeftOut
}

// LackingError says that a vocabulary has no spelling of two answers.
type LackingError struct{ Model, Why string }

func (e *LackingError) Error() string {
	return fmt.Sprintf("%s cannot be asked: its vocabulary has no way to write %s", e.Model, e.Why)
}

// Spaced are two answers' spellings with a space before them and without. The first is what goes on from the prompt:
// with a space behind a word, without in a turn of a conversation.
func Spaced(names [2]string, style Style) [][2]string {
	spaces := []string{" ", ""}
	if style == Chat {
		slices.Reverse(spaces)
	}
	var out [][2]string
	for _, space := range spaces {
		out = append(out, [2]string{space + names[0], space + names[1]})
	}
	return out
}

// Find finds the tokens of two answers among their spellings. It is an error, a [*LackingError], if no spelling of
// both is left.
func Find(ctx context.Context, m lm.Model, names [2]string, spellings [][2]string) (*Pair, error) {
	p := &Pair{Names: names}
	type pair struct {
		texts  [2]string
		tokens [2]lm.Token
	}
	var whole []pair // the spellings that are one token each
	var of [2][]lm.Token
	for _, texts := range spellings {
		x := pair{texts: texts}
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
				x.tokens[k] = tokens[0]
			}
		}
		if len(why) > 0 {
			p.LeftOut = append(p.LeftOut, LeftOut{texts[0], texts[1], strings.Join(why, " and ")})
			continue
		}
		whole = append(whole, x)
		for k := range of {
			of[k] = append(of[k], x.tokens[k])
		}
	}
	for _, x := range whole {
		known := func(k int) int {
			return slices.IndexFunc(p.Variants[k], func(v Variant) bool { return v.Token == x.tokens[k] })
		}
		a, b := known(0), known(1)
		switch {
		case slices.Contains(of[1], x.tokens[0]) || slices.Contains(of[0], x.tokens[1]):
			p.LeftOut = append(p.LeftOut, LeftOut{x.texts[0], x.texts[1], "a token is of both answers"})
		case a >= 0 && a == b: // the tokeniser makes the same of two spellings
		case a >= 0 || b >= 0:
			p.LeftOut = append(p.LeftOut, LeftOut{x.texts[0], x.texts[1], "one of the two is the token of another spelling"})
		default:
			for k, t := range x.tokens {
				p.Variants[k] = append(p.Variants[k], Variant{Text: x.texts[k], Token: t, Piece: lm.Printable(m.Piece(t))})
			}
		}
	}
	if len(p.Variants[0]) == 0 {
		why := fmt.Sprintf("both %s and %s in one token each", names[0], names[1])
		if len(p.LeftOut) > 0 {
			why += fmt.Sprintf(" (%s)", p.LeftOut[0].Why)
		}
		return nil, &LackingError{m.Info().Name, why}
	}
	return p, nil
}

// Steps are what [event.Reader] is asked after a prompt: the variants of the first answer, and then those of the
// second.
func (p *Pair) Steps(prompt lm.Input) []event.Step {
	var out []event.Step
	for _, v := range slices.Concat(p.Variants[0], p.Variants[1]) {
		out = append(out, event.Step{Prefix: prompt.Tokens, Target: v.Token, PrefixText: prompt.Text, Piece: v.Piece})
	}
	return out
}

// Len is how many steps a prompt has.
func (p *Pair) Len() int { return len(p.Variants[0]) + len(p.Variants[1]) }

// String is the answers' tokens in a line, and what is left out: YES = "Yes" " Yes", NO = "No" " No"; left out of
// both, "YES" / "NO" ("YES" is "Y" + "ES").
func (p *Pair) String() string {
	list := func(vs []Variant) string {
		var out []string
		for _, v := range vs {
			out = append(out, fmt.Sprintf("%q", v.Piece))
		}
		return strings.Join(out, " ")
	}
	s := fmt.Sprintf("%s = %s, %s = %s", p.Names[0], list(p.Variants[0]), p.Names[1], list(p.Variants[1]))
	for i, l := range p.LeftOut {
		if i == 0 {
			s += "; left out of both"
		}
		s += fmt.Sprintf(", %q / %q (%s)", l.First, l.Second, l.Why)
	}
	return s
}
