package answers

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
)

// Bounds are the ends between which a number lies that a backend does not tell exactly. In JSON it is a number,
// or two.
type Bounds calibrate.Interval

// Middle is the middle between the ends.
func (b Bounds) Middle() float64 { return (b.Lo + b.Hi) / 2 }

// MarshalJSON writes a number that is known exactly as one, and others as two.
func (b Bounds) MarshalJSON() ([]byte, error) {
	if b.Lo == b.Hi {
		return json.Marshal(b.Lo)
	}
	return json.Marshal([2]float64{b.Lo, b.Hi})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (b *Bounds) UnmarshalJSON(text []byte) error {
	var x float64
	if json.Unmarshal(text, &x) == nil {
		*b = Bounds{x, x}
		return nil
	}
	var two []float64
	if err := json.Unmarshal(text, &two); err != nil || len(two) != 2 {
		return fmt.Errorf("%.40s is no number and no two ends of an interval", text)
	}
	*b = Bounds{two[0], two[1]}
	return nil
}

// Reading is how probable two answers are after a prompt. All numbers are in [0, 1].
type Reading struct {
	First, Second Bounds // of all tokens of each
	Share         Bounds // P(first) / (P(first) + P(second))
}

// Neither is the probability of a token that is no answer.
func (r Reading) Neither() float64 { return math.Max(0, 1-r.First.Middle()-r.Second.Middle()) }

// Read puts together what was read of a prompt's steps, in the order of [Pair.Steps].
func (p *Pair) Read(of []event.Reading) Reading {
	first, second := sum(of[:len(p.Variants[0])]), sum(of[len(p.Variants[0]):p.Len()])
	return Reading{
		First:  Bounds{math.Exp(first.Lo), math.Exp(first.Hi)},
		Second: Bounds{math.Exp(second.Lo), math.Exp(second.Hi)},
		Share:  Bounds{share(first.Lo, second.Hi), share(first.Hi, second.Lo)},
	}
}

// sum is the logarithm of the tokens' probability together.
func sum(of []event.Reading) calibrate.Interval {
	s := calibrate.Exact(math.Inf(-1))
	for _, r := range of {
		s.Lo, s.Hi = logAdd(s.Lo, r.LogP.Lo), logAdd(s.Hi, r.LogP.Hi)
	}
	return calibrate.Interval{Lo: math.Min(s.Lo, 0), Hi: math.Min(s.Hi, 0)}
}

// logAdd is log(eᵃ + eᵇ).
func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// share is eᵃ / (eᵃ + eᵇ), also where both are too small for a float64. Of nothing against nothing, which is
// unknown, the worst case is for the caller: it asks for the share with each at either end.
func share(a, b float64) float64 {
	switch {
	case math.IsInf(a, -1):
		return 0
	case math.IsInf(b, -1):
		return 1
	}
	return 1 / (1 + math.Exp(b-a))
}
