package cuc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modellog/modellog/lm"
)

// Variant is a way to write an answer, and the token that stands for it.
type Variant struct {
	Text  string   `json:"text"` // " Yes"
	Token lm.Token `json:"token"`
	Piece string   `json:"piece"` // the token's text, the whole of the variant unless First
}

// Answers are the tokens of a model's vocabulary whose probabilities make up that of an answer: of the
// answer as the prompt has it, in capitals, capitalised and in small letters, each with a space before it and
// without. Variants that are several tokens are left out; where an answer has no other, First is true, and
// the first tokens of all variants of both stand for them, which other words may begin with as well.
type Answers struct {
	Format  Format    `json:"-"`
	Yes     []Variant `json:"yes"`
	No      []Variant `json:"no"`
	First   bool      `json:"first,omitempty"`
	LeftOut []string  `json:"left_out,omitempty"` // variants of several tokens, or shared by both answers
	Asked   lm.Token  `json:"asked"`              // the token for a YES as the prompt would have it: the event M(Q, YES)
}

// variants are the ways to write an answer. The first is what goes on from the prompt: with a space behind a
// word, without in a turn of a conversation.
func variants(answer string, style Style) []string {
	first, second := " ", ""
	if style == ChatStyle {
		first, second = second, first
	}
	lower := strings.ToLower(answer)
	var out []string
	for _, w := range []string{answer, strings.ToUpper(answer), strings.ToUpper(lower[:1]) + lower[1:], lower} {
		for _, space := range []string{first, second} {
			if v := space + w; !slices.Contains(out, v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// findAnswers finds the tokens. It is an error if nothing tells the two answers apart.
func findAnswers(ctx context.Context, m lm.Model, f Format, style Style) (*Answers, error) {
	a := &Answers{Format: f}
	type found struct {
		text   string
		tokens []lm.Token
	}
	var all [2][]found
	single := [2]bool{}
	for k, answer := range []string{f.Yes, f.No} {
		for _, text := range variants(answer, style) {
			// What stands before matters for tokenisers that put a space in front of a text.
			_, tokens, err := lm.Continue(ctx, m, "Answer:", text)
			var merged *lm.BoundaryError
			if errors.As(err, &merged) {
				a.LeftOut = append(a.LeftOut, text)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("the answer %q: %w", text, err)
			}
			all[k] = append(all[k], found{text, tokens})
			single[k] = single[k] || len(tokens) == 1
		}
	}
	a.First = !single[0] || !single[1]
	tokens := func(k int) (out []lm.Token) {
		for _, v := range all[k] {
			if a.First || len(v.tokens) == 1 {
				out = append(out, v.tokens[0])
			}
		}
		return out
	}
	of := [2][]lm.Token{tokens(0), tokens(1)} // what stands for each answer, if not for the other, too
	for k, to := range []*[]Variant{&a.Yes, &a.No} {
		for _, v := range all[k] {
			t := v.tokens[0]
			known := slices.ContainsFunc(*to, func(x Variant) bool { return x.Token == t })
			switch {
			case !a.First && len(v.tokens) > 1 || slices.Contains(of[1-k], t):
				a.LeftOut = append(a.LeftOut, v.text)
			case !known:
				*to = append(*to, Variant{Text: v.text, Token: t, Piece: lm.Printable(m.Piece(t))})
			}
		}
	}
	if len(a.Yes) == 0 || len(a.No) == 0 {
		return nil, fmt.Errorf("the vocabulary of %s has no tokens that tell %s from %s; take other answers with --answers", m.Info().Name, f.Yes, f.No)
	}
	a.Asked = a.Yes[0].Token
	return a, nil
}

// all are the tokens of both answers.
func (a *Answers) all() []Variant { return slices.Concat(a.Yes, a.No) }

// String is the answers' tokens in a line: YES = "YES", " YES" against NO = "NO".
func (a *Answers) String() string {
	list := func(vs []Variant) string {
		var out []string
		for _, v := range vs {
			out = append(out, fmt.Sprintf("%q", v.Piece))
		}
		return strings.Join(out, " ")
	}
	s := fmt.Sprintf("%s = %s, %s = %s", a.Format.Yes, list(a.Yes), a.Format.No, list(a.No))
	if a.First {
		s += " (first tokens: the vocabulary has an answer only in parts)"
	}
	return s
}
