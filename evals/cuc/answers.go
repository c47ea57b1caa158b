package cuc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/lm"
)

// Variant is a way to write an answer, and the token that stands for it.
type Variant = answers.Variant

// Answers are the tokens of a model's vocabulary whose probabilities make up that of an answer: of the
// answer as the prompt has it, in capitals, capitalised and in small letters, each with a space before it and
// without. Yes[i] and No[i] are written alike, as [answers.Pair] has it.
type Answers struct {
	Format  Format            `json:"-"`
	Yes     []Variant         `json:"yes,omitempty"`
	No      []Variant         `json:"no,omitempty"` // as many
	LeftOut []answers.LeftOut `json:"left_out,omitempty"`
	Asked   lm.Token          `json:"asked"`           // of Yes[0]: the event M(Q, YES)
	Lacks   string            `json:"lacks,omitempty"` // why the model cannot be asked under this format, and was not
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
	p, err := answers.Find(ctx, m, [2]string{f.Yes, f.No}, variants(f, style))
	var without *answers.LackingError
	switch {
	case errors.As(err, &without):
		return nil, &lacking{without.Model, "its vocabulary has no way to write " + without.Why}
	case err != nil:
		return nil, err
	}
	return &Answers{Format: f, Yes: p.Variants[0], No: p.Variants[1], LeftOut: p.LeftOut, Asked: p.Variants[0][0].Token}, nil
}

// pair are the same as package answers has them.
func (a *Answers) pair() *answers.Pair {
	return &answers.Pair{Names: [2]string{a.Format.Yes, a.Format.No}, Variants: [2][]Variant{a.Yes, a.No}, LeftOut: a.LeftOut}
}

// String is the answers' tokens in a line, and what is left out: YES = "Yes" " Yes", NO = "No" " No"; left out of
// both, "YES" / "NO" ("YES" is "Y" + "ES").
func (a *Answers) String() string {
	if a.Lacks != "" {
		return fmt.Sprintf("%s is not asked: %s", a.Format, a.Lacks)
	}
	return a.pair().String()
}
