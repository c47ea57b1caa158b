package answers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

// Variant is a way to write an answer, and the token that stands for it.
type Variant struct {
	Text  string   `json:"text"` // " A"
	Token lm.Token `json:"token"`
	Piece string   `json:"piece"` // the token's text, the whole of the variant unless First
}

// Pair are the tokens of a model's vocabulary whose probabilities make up those of two answers. Spelling k of the
// one belongs to spelling k of the other: where either is several tokens, or stands for both answers, both are left
// out, so that neither answer is seen better than the other. Where no spelling is a single token of both, First
// is true, and the first tokens stand for the answers, which other words may begin with as well.
type Pair struct {
	Names    [2]string
	Variants [2][]Variant // of the first and of the second answer, equally many
	First    bool
	LeftOut  []string // variants that are not asked for
}

// Spaced are an answer's spellings with a space before it and without; what goes on from the prompt is
// the first: with a space behind a word, without in a turn of a conversation.
func Spaced(answer string, style Style) []string {
	if style == Chat {
		return []string{answer, " " + answer}
	}
	return []string{" " + answer, answer}
}

// Find finds the tokens of two answers in their spellings, of which there are equally many. It is an error if
// nothing tells the answers apart.
func Find(ctx context.Context, m lm.Model, names [2]string, spellings [2][]string) (*Pair, error) {
	if len(spellings[0]) != len(spellings[1]) || len(spellings[0]) == 0 {
		return nil, fmt.Errorf("the answers %s and %s have %d and %d spellings; each needs one beside each of the other", names[0], names[1], len(spellings[0]), len(spellings[1]))
	}
	p := &Pair{Names: names}
	type found struct {
		text   [2]string
		tokens [2][]lm.Token
	}
	var all []found
	for k := range spellings[0] {
		f := found{}
		whole := true
		for of := range f.text {
			f.text[of] = spellings[of][k]
			// What stands before matters for tokenisers that put a space in front of a text.
			_, tokens, err := lm.Continue(ctx, m, "Answer:", f.text[of])
			var merged *lm.BoundaryError
			switch {
			case errors.As(err, &merged):
				whole = false
			case err != nil:
				return nil, fmt.Errorf("the answer %q: %w", f.text[of], err)
			}
			f.tokens[of] = tokens
		}
		if whole {
			all = append(all, f)
		} else {
			p.LeftOut = append(p.LeftOut, f.text[:]...)
		}
	}
	single := func(f found) bool { return len(f.tokens[0]) == 1 && len(f.tokens[1]) == 1 }
	p.First = !slices.ContainsFunc(all, single)
	of := func(k int, t lm.Token) bool { // whether a token may stand for an answer
		return slices.ContainsFunc(all, func(f found) bool { return (p.First || single(f)) && f.tokens[k][0] == t })
	}
	for _, f := range all {
		a, b := f.tokens[0][0], f.tokens[1][0]
		known := slices.ContainsFunc(p.Variants[0], func(v Variant) bool { return v.Token == a }) ||
			slices.ContainsFunc(p.Variants[1], func(v Variant) bool { return v.Token == b })
		switch {
		case !p.First && !single(f), of(1, a), of(0, b):
			p.LeftOut = append(p.LeftOut, f.text[:]...)
		case !known:
			for k, t := range []lm.Token{a, b} {
				p.Variants[k] = append(p.Variants[k], Variant{Text: f.text[k], Token: t, Piece: lm.Printable(m.Piece(t))})
			}
		}
	}
	if len(p.Variants[0]) == 0 {
		return nil, fmt.Errorf("the vocabulary of %s has no tokens that tell %s from %s", m.Info().Name, names[0], names[1])
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

// String is the answers' tokens in a line: A = " A" "A", B = " B" "B".
func (p *Pair) String() string {
	list := func(vs []Variant) string {
		var out []string
		for _, v := range vs {
			out = append(out, fmt.Sprintf("%q", v.Piece))
		}
		return strings.Join(out, " ")
	}
	s := fmt.Sprintf("%s = %s, %s = %s", p.Names[0], list(p.Variants[0]), p.Names[1], list(p.Variants[1]))
	if p.First {
		s += " (first tokens: the vocabulary has an answer only in parts)"
	}
	return s
}
