package cuc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// Status says what became of an example under a format.
type Status string

// What becomes of an example.
const (
	StatusMeasured Status = "measured"
	StatusBad      Status = "bad"      // cannot be asked
	StatusUnsure   Status = "not sure" // the backend tells too little of the answers
)

// certain is how wide the bounds of p(φ) may be at most where a backend tells only of the most probable
// tokens: a tenth of the default δ.
const certain = 0.01

// Measured is a row of a run's file of rows: what a model says of an example under one format of
// answers. It has no text of the data.
type Measured struct {
	Data   string `json:"data"`
	Line   int    `json:"line"`
	Format string `json:"format"`
	Status Status `json:"status"`
	Why    string `json:"why,omitempty"`  // of another status than measured
	Rule   Rule   `json:"rule,omitempty"` // by which ¬φ was made
	Label  Label  `json:"label,omitempty"`

	Phi    *Answer `json:"phi,omitempty"`     // to Q_φ
	NotPhi *Answer `json:"not_phi,omitempty"` // to Q_¬φ

	// The same as a constraint: M(Q_φ, YES) ⊕ M(Q_¬φ, YES) with calibrated event probabilities.
	WMC  *Bounds `json:"wmc,omitempty"`
	Rho  *Bounds `json:"rho,omitempty"`
	CAcc string  `json:"cacc,omitempty"` // "consistent", "inconsistent" or "undecided"
}

// Answer is what is read of one question.
type Answer struct {
	Yes    Bounds `json:"yes"`    // P(YES), of all its tokens
	No     Bounds `json:"no"`     // P(NO)
	P      Bounds `json:"p"`      // P(YES) / (P(YES) + P(NO))
	EventP Bounds `json:"event"`  // probability of the event M(Q, YES), calibrated (Eq. 4 of ModelLog)
	Tokens int    `json:"tokens"` // that the question has
}

// Neither is the probability of a token that is no answer.
func (a *Answer) Neither() float64 {
	return math.Max(0, 1-a.Yes.Middle()-a.No.Middle())
}

// Bounds are the ends between which a number lies that a backend does not tell exactly. In JSON it is a number,
// or two.
type Bounds = answers.Bounds

// point is what the metrics need of a row.
func (m *Measured) point(unnormalised bool) Point {
	if unnormalised {
		return Point{P: m.Phi.Yes.Middle(), NotP: m.NotPhi.Yes.Middle(), Label: m.Label}
	}
	return Point{P: m.Phi.P.Middle(), NotP: m.NotPhi.P.Middle(), Label: m.Label}
}

// tokens returns how many tokens the row's questions have.
func (m *Measured) tokens() int {
	if m.Phi == nil {
		return 0
	}
	return m.Phi.Tokens + m.NotPhi.Tokens
}

// elicitor asks a model about examples.
type elicitor struct {
	reader  *event.Reader
	asker   *asker
	answers []*Answers
	xor     *logic.Diagram
}

func newElicitor(ctx context.Context, r *event.Reader, p Prompts, style Style, formats []Format) (*elicitor, error) {
	a, err := newAsker(ctx, r.Model, p, style)
	if err != nil {
		return nil, err
	}
	e := &elicitor{reader: r, asker: a}
	for i, f := range formats {
		found, err := findAnswers(ctx, r.Model, f, a.Style)
		var without *lacking
		switch {
		case errors.As(err, &without) && i > 0:
			// The tables are of the first format; a model that lacks another is compared under what it has.
			found = &Answers{Format: f, Lacks: without.why}
		case err != nil:
			return nil, err
		}
		e.answers = append(e.answers, found)
	}
	e.xor, err = logic.Compile(ctx, logic.Xor(logic.Literal(0), logic.Literal(1)))
	return e, err
}

// question is a question in tokens, with its tokens' readings in a list of all.
type question struct {
	tokens []lm.Token
	begin  int // of the list
}

// measure asks about the examples of a data set under all formats that the model can be asked under, two readings
// for each. The rows come in the order of the examples, and of the formats within.
func (e *elicitor) measure(ctx context.Context, d *Data) ([]*Measured, error) {
	var rows []*Measured
	var of []*Answers // of each row
	var pairs [][2]question
	var steps []event.Step
	limit := e.reader.Model.Info().Context
	for _, x := range d.Examples {
		for _, a := range e.answers {
			if a.Lacks != "" {
				continue
			}
			row := &Measured{Data: d.Name, Line: x.Line, Format: a.Format.Name, Status: StatusMeasured, Rule: x.Rule, Label: x.Label}
			rows, of = append(rows, row), append(of, a)
			pairs = append(pairs, [2]question{})
			if x.Bad != "" {
				row.Status, row.Why = StatusBad, x.Bad
				continue
			}
			var asked [2]lm.Input
			for k, statement := range []string{x.Phi, x.NotPhi} {
				in, err := e.asker.question(ctx, x.Premises, statement, a.Format)
				switch {
				case err == nil && len(in.Tokens) > limit:
					err = &lm.ContextError{Tokens: len(in.Tokens), Context: limit}
				case err == nil:
					asked[k] = in
					continue
				}
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				row.Status, row.Why = StatusBad, err.Error()
				break
			}
			if row.Status == StatusBad {
				continue
			}
			for k, in := range asked {
				pairs[len(pairs)-1][k] = question{tokens: in.Tokens, begin: len(steps)}
				steps = append(steps, a.pair().Steps(in)...)
			}
		}
	}
	readings, err := e.reader.ReadUnder(ctx, steps, []calibrate.Calibration{calibrate.Default()})
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if row.Status != StatusMeasured {
			continue
		}
		row.Phi = answer(of[i], pairs[i][0], readings[0])
		row.NotPhi = answer(of[i], pairs[i][1], readings[0])
		for k, a := range []*Answer{row.Phi, row.NotPhi} {
			if a.P.Hi-a.P.Lo > certain {
				row.Status = StatusUnsure
				row.Why = fmt.Sprintf("of the model's most probable tokens, which are all that the backend tells, follows only that p(%s) is between %.3g and %.3g", []string{"φ", "¬φ"}[k], a.P.Lo, a.P.Hi)
			}
		}
		if err := e.constrain(ctx, row, readings[0], pairs[i]); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// answer puts together what was read of a question.
func answer(a *Answers, q question, readings []event.Reading) *Answer {
	of := readings[q.begin : q.begin+len(a.Yes)+len(a.No)]
	r := a.pair().Read(of)
	return &Answer{
		Yes: r.First, No: r.Second, P: r.Share,
		EventP: Bounds(of[0].EventP), // of the token a.Asked, which is the first
		Tokens: len(q.tokens),
	}
}

// constrain scores M(Q_φ, YES) ⊕ M(Q_¬φ, YES).
func (e *elicitor) constrain(ctx context.Context, row *Measured, readings []event.Reading, pair [2]question) error {
	var lo, hi [2]logic.Weight
	for k, q := range pair {
		l := readings[q.begin].Logit
		lo[k], hi[k] = logic.WeightFromLogit(l.Lo), logic.WeightFromLogit(l.Hi)
	}
	s, err := logic.ScoreBounds(ctx, e.xor, lo[:], hi[:])
	if err != nil {
		return fmt.Errorf("scoring the constraint of line %d: %w", row.Line, err)
	}
	row.WMC, row.Rho, row.CAcc = &Bounds{Lo: s.WMC.Lo, Hi: s.WMC.Hi}, &Bounds{Lo: s.Rho.Lo, Hi: s.Rho.Hi}, s.CAcc.String()
	return nil
}
