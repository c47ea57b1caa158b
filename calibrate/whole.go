package calibrate

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrNoToken is returned (wrapped) for a distribution in which no token at all has
// a probability: an empty list, only masked logits, only floors.
var ErrNoToken = errors.New("no token has a probability")

// Summarize reads a whole next-token distribution: one unnormalised natural-log
// weight for every token, indexed by token id. It returns the exact summary with
// one nucleus for each threshold in ps, each in (0, 1].
//
// A logit of −Inf is a masked token of probability 0. NaN and +Inf are errors, as
// is a distribution in which every token is masked.
//
// Callers that read many distributions keep a [Summarizer].
func Summarize(logits []float32, ps []float64) (Summary, error) {
	return new(Summarizer).Summarize(logits, ps)
}

// A Summarizer summarises whole distributions one after the other and keeps its
// working memory between them. The zero value is ready to use. It must not be used
// from several goroutines at once.
type Summarizer struct {
	exp     expTable
	ready   bool
	head    []float32 // the logits among which the nuclei end
	bins    [binCount]bin
	wanted  [binCount]bool // the bins in which a nucleus ends
	members []member       // their tokens
	cuts    []cut          // one for each threshold
}

// Summarize is like the function of that name, with the memory of s.
//
// It passes over the logits twice, for the largest and for the sums. Those so near to
// the largest that a nucleus can end there, a few thousand of a vocabulary as a rule,
// are counted in a histogram besides, and those of its bins in which one ends are looked
// at once more.
func (s *Summarizer) Summarize(logits []float32, ps []float64) (Summary, error) {
	for _, p := range ps {
		if err := checkThreshold(p); err != nil {
			return Summary{}, err
		}
	}
	at, least, err := extremes(logits)
	if err != nil {
		return Summary{}, err
	}
	if !s.ready {
		s.exp.init()
		s.ready = true
	}
	// The most probable token contributes exactly 1 to z = Σ eˣ and 0 to Σ −x·eˣ,
	// x being the distance from its logit. It is left out of the sums so that they
	// stay accurate when it has nearly all the mass: both are then sums of small
	// terms of one sign.
	max := float64(logits[at])
	d := depth(ps, len(logits))
	s.head = s.head[:0]
	rest, after := s.sum(logits[:at], max, d), s.sum(logits[at+1:], max, d)
	rest.add(&after)
	sum := Summary{
		LogZ:       Exact(max + math.Log1p(rest.e)),
		Entropy:    Exact(rest.entropy()),
		Vocabulary: len(logits),
		Seen:       len(logits),
		Unseen:     Exact(math.Inf(-1)),
	}
	if len(ps) > 0 {
		b := newBinning(math.Max(float64(least)-max, -d))
		s.bins = [binCount]bin{}
		s.fill(max, b)
		sum.Nuclei = s.nuclei(ps, max, b, &rest)
	}
	return sum, nil
}

// extremes returns the id of the first of the largest logits, and the least one.
func extremes(logits []float32) (at int, least float32, err error) {
	if n := len(logits) &^ 7; wide && n > 0 {
		var most, lowest [8]float32
		if extremes8(&logits[0], n, &most, &lowest) {
			top := slices.Max(append(most[:], logits[n:]...)) // NaN where one is
			if at := slices.Index(logits, top); at >= 0 && !math.IsInf(float64(top), 0) {
				return at, slices.Min(append(lowest[:], logits[n:]...)), nil
			}
		} // or what is wrong is told below
	}
	top := float32(math.Inf(-1))
	at, least = -1, math.MaxFloat32
	for id, v := range logits {
		if v < least {
			least = v
		}
		if !(v <= top) { // also true for NaN
			if v != v || math.IsInf(float64(v), 1) {
				return 0, 0, fmt.Errorf("token %d has the logit %v: the model's output is not a distribution", id, v)
			}
			top, at = v, id
		}
	}
	switch {
	case len(logits) == 0:
		return 0, 0, fmt.Errorf("summarising an empty list of logits: %w", ErrNoToken)
	case at < 0:
		return 0, 0, fmt.Errorf("summarising %d logits, all −Inf: %w", len(logits), ErrNoToken)
	}
	return at, least, nil
}
