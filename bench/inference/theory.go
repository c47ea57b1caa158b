// Package inference measures exact inference beside other programs that compile and count
// propositional theories: PySDD, dd and ProbLog, each called by peers.py in a process of its own.
//
// A [Theory] is clauses and "exactly k of these". Three things are measured, each by itself: the
// time from the theory in memory to a first count, the time of one count more under other
// weights, and the largest theory of a [Family] that is counted within a limit of time and memory.
// The weighted counts of all programs have to be the same number.
package inference

import (
	"hash/fnv"
	"math/big"
	"math/rand/v2"

	"github.com/modellog/modellog/logic"
)

// Theory is a conjunction of clauses and thresholds over the variables 1 … Vars.
type Theory struct {
	Family  string      `json:"-"`
	Name    string      `json:"-"` // "grid of 8 × 8"
	Vars    int         `json:"vars"`
	Clauses [][]int     `json:"clauses"` // of DIMACS's literals
	Exactly []Exactly   `json:"exactly"`
	Weights [][]float64 `json:"weights"` // two lists of probabilities, one a variable

	Models *big.Int `json:"-"` // by a closed form or a recurrence; nil where there is none
}

// Exactly says that K of the literals are true.
type Exactly struct {
	K  int   `json:"k"`
	Of []int `json:"of"`
}

// Formula is the theory as a formula; its variable v-1 is the theory's v.
func (t *Theory) Formula() *logic.Formula {
	literals := make([]*logic.Formula, 2*t.Vars+1)
	at := func(l int) *logic.Formula {
		i := l + t.Vars
		if literals[i] == nil {
			if l > 0 {
				literals[i] = logic.Literal(logic.Var(l - 1))
			} else {
				literals[i] = logic.Not(logic.Literal(logic.Var(-l - 1)))
			}
		}
		return literals[i]
	}
	parts := make([]*logic.Formula, 0, len(t.Clauses)+len(t.Exactly))
	var args []*logic.Formula
	of := func(literals []int) []*logic.Formula {
		args = args[:0]
		for _, l := range literals {
			args = append(args, at(l))
		}
		return args
	}
	for _, c := range t.Clauses {
		parts = append(parts, logic.Or(of(c)...))
	}
	for _, e := range t.Exactly {
		parts = append(parts, logic.Exactly(e.K, of(e.Of)...))
	}
	return logic.And(parts...)
}

// Holds tells whether the theory holds where value says which variables are true.
func (t *Theory) Holds(value func(v int) bool) bool {
	holds := func(l int) bool {
		if l < 0 {
			return !value(-l)
		}
		return value(l)
	}
	for _, c := range t.Clauses {
		ok := false
		for _, l := range c {
			ok = ok || holds(l)
		}
		if !ok {
			return false
		}
	}
	for _, e := range t.Exactly {
		n := 0
		for _, l := range e.Of {
			if holds(l) {
				n++
			}
		}
		if n != e.K {
			return false
		}
	}
	return true
}

// weigh draws the two lists of probabilities. With rare, the probability that a variable has the
// value false shrinks with the number of variables (or true, where rare is negative), so that the
// weighted count of a theory of thousands stays within the range of float64 for every program.
func (t *Theory) weigh(seed uint64, rare int) {
	h := fnv.New64a()
	h.Write([]byte(t.Name))
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	scale := 1.0
	if rare != 0 {
		scale = min(1, 40/float64(t.Vars))
	}
	if t.Clauses == nil {
		t.Clauses = [][]int{} // null is no list in JSON
	}
	if t.Exactly == nil {
		t.Exactly = []Exactly{}
	}
	t.Weights = make([][]float64, 2)
	for i := range t.Weights {
		t.Weights[i] = make([]float64, t.Vars)
		for v := range t.Weights[i] {
			p := (0.3 + 0.4*r.Float64()) * scale
			if rare > 0 {
				p = 1 - p
			}
			t.Weights[i][v] = p
		}
	}
}
