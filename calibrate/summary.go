package calibrate

import "math"

// A Summary is all that any calibration needs of one next-token distribution.
// For a whole distribution every interval is exact; for a truncated one each
// surely contains the value of the whole.
type Summary struct {
	// LogZ is what to subtract from a given value to have its log-probability:
	// the logarithm of the sum of all exponentiated logits for a whole
	// distribution, zero within the printing slack for the log-probabilities
	// of a truncated one. See LogP.
	LogZ Interval
	// Entropy of the whole distribution in nats, in [0, ln Vocabulary].
	Entropy Interval
	// Nuclei has one entry for each threshold asked for, in the order asked.
	Nuclei []Nucleus
	// Vocabulary is the number of tokens, Seen the number of those with a
	// probability of their own: all of them for a whole distribution.
	Vocabulary, Seen int
	// Unseen is the log-probability of any one token that is not among those
	// seen. It is exactly −Inf when all are seen.
	Unseen Interval
}

// A Nucleus is the smallest set of most probable tokens whose mass reaches P.
type Nucleus struct {
	P       float64  // the threshold, in (0, 1]
	Size    Interval // number of tokens, at least 1
	Entropy Interval // nats, of the distribution renormalised over the nucleus
	Mass    Interval // probability of the nucleus, in [P, 1] up to rounding
}

// LogP returns the log-probability of a token from the value it was given: its
// logit for a whole distribution, its listed log-probability for a truncated one.
// A floor that stands for "not among the top" (see [SummarizeTop]) gives Unseen.
func (s Summary) LogP(value float64) Interval {
	if s.Seen < s.Vocabulary && isFloor(value) {
		return s.Unseen
	}
	if math.IsInf(value, -1) {
		return Exact(value)
	}
	// Rounding may carry the logarithm of a probability near 1 above zero.
	return Interval{math.Min(0, value-s.LogZ.Hi), math.Min(0, value-s.LogZ.Lo)}
}

// minLogP is the logarithm at and below which a probability (relative to that of the
// most probable token) counts as zero: the edge of what float64 holds, and far below
// anything that the softmax of a model yields for a token that has not been masked.
const minLogP = -700

// isFloor reports whether a listed log-probability is one of the stand-ins that
// servers write for tokens they have no value for: −Inf, −9999, −3.4e38, −100. The
// probabilities of a float32 softmax end at e⁻¹⁰³, and to take a measurement for
// unseen would still be sure: an unseen token may have any probability up to the
// last one listed.
func isFloor(logp float64) bool { return logp <= -100 }

// reached is the relative slack with which a cumulative mass reaches a threshold,
// so that rounding in its sum does not decide the size of a nucleus.
const reached = 1e-12
