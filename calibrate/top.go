package calibrate

import (
	"fmt"
	"math"
)

// printSlack is how far a listed log-probability may lie from the true one:
// servers compute in float32, sum a vocabulary in it, and print a few decimals.
const printSlack = 1e-5

// SummarizeTop reads a truncated distribution: the log-probabilities of the most
// probable tokens in descending order, normalised over the whole vocabulary, and the
// number of tokens in that vocabulary. It returns intervals in which the values of
// the whole distribution surely lie, for one nucleus for each threshold in ps.
//
// The listed values are trusted to within 1e−5. A value of −100 or less (−Inf,
// −9999, −3.4e38) is a floor that stands for "no value": it says nothing of a
// token's probability, and the token counts among the unseen.
//
// It is an error if a value is NaN or clearly above 0, if the values ascend, if they
// are more than the vocabulary or sum to clearly more than 1, if the tokens not
// listed cannot hold the mass that is missing (a distribution that was not normalised
// over the whole vocabulary), or if nothing but floors is listed ([ErrNoToken]).
func SummarizeTop(logprobs []float64, vocabulary int, ps []float64) (Summary, error) {
	for _, p := range ps {
		if err := checkThreshold(p); err != nil {
			return Summary{}, err
		}
	}
	t, err := readTop(logprobs, vocabulary)
	if err != nil {
		return Summary{}, fmt.Errorf("summarising the top %d of %d tokens: %w", len(logprobs), vocabulary, err)
	}
	s := Summary{
		LogZ:       Interval{-printSlack, printSlack},
		Entropy:    t.entropy(),
		Vocabulary: vocabulary,
		Seen:       len(t.w),
		Unseen:     t.unseen(),
	}
	for _, p := range ps {
		s.Nuclei = append(s.Nuclei, t.nucleus(p, s.Entropy))
	}
	return s, nil
}

// A top is what is known of a distribution of which only k tokens were listed.
//
// The truth is some p₁ ≥ … ≥ p_k, each within a factor e^±δ of what was listed
// (δ = printSlack), and N unseen tokens q₁ ≥ … ≥ q_N with q₁ ≤ p_k and
// Σp + Σq = 1. Write S = Σp, M = Σq = 1 − S, c = an upper bound of q₁.
type top struct {
	w []float64 // upper bounds of the p: the listed probability times e^δ
	n float64   // N, the number of unseen tokens
	s Interval  // S
	m Interval  // M
	c float64   // c, the upper bound of p_k
}

func readTop(logprobs []float64, vocabulary int) (*top, error) {
	if vocabulary < 1 {
		return nil, fmt.Errorf("a vocabulary of %d tokens is not possible", vocabulary)
	}
	if len(logprobs) > vocabulary {
		return nil, fmt.Errorf("more tokens are listed than the vocabulary has")
	}
	t := &top{}
	var sum float64
	for i, l := range logprobs {
		switch {
		case math.IsNaN(l):
			return nil, fmt.Errorf("log-probability %d is NaN", i+1)
		case l > printSlack:
			return nil, fmt.Errorf("log-probability %d is %g; a probability cannot exceed 1", i+1, l)
		case isFloor(l):
			continue
		case i > 0 && l > logprobs[i-1]+2*printSlack:
			return nil, fmt.Errorf("log-probability %d (%g) is greater than the one before it (%g); list them in descending order", i+1, l, logprobs[i-1])
		}
		t.w = append(t.w, math.Exp(l+printSlack))
		sum += math.Exp(l)
	}
	k := len(t.w)
	if k == 0 {
		return nil, fmt.Errorf("nothing but floors is listed: %w", ErrNoToken)
	}
	t.n = float64(vocabulary - k)
	t.c = math.Min(1, t.w[k-1])
	t.s = Interval{sum * math.Exp(-printSlack), sum * math.Exp(printSlack)}
	if t.s.Lo > 1 {
		return nil, fmt.Errorf("the listed probabilities sum to %.6g", sum)
	}
	t.s.Hi = math.Min(1, t.s.Hi)
	// N unseen tokens hold at most N·c between them.
	if 1-t.s.Hi > t.n*t.c {
		return nil, fmt.Errorf("the listed probabilities sum to %.6g, and %v tokens of at most %.3g each cannot hold the rest: the list is not normalised over the whole vocabulary, or ends in a floor", sum, t.n, t.c)
	}
	// Both ways round, since a tiny N·c is lost in 1 − N·c.
	t.m = Interval{1 - t.s.Hi, math.Min(1-t.s.Lo, t.n*t.c)}
	t.s.Lo = math.Max(t.s.Lo, 1-t.n*t.c)
	return t, nil
}

// unseen bounds the log-probability of one unseen token. It is at most c and at
// most M; it is at least what of M the other N − 1 cannot hold.
func (t *top) unseen() Interval {
	if t.n == 0 {
		return Exact(math.Inf(-1))
	}
	return Interval{
		math.Log(math.Max(0, t.m.Lo-(t.n-1)*t.c)),
		math.Log(math.Min(t.c, t.m.Hi)),
	}
}
