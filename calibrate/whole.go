package calibrate

import (
	"errors"
	"fmt"
	"math"
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
	bins    [binCount]bin
	wanted  [binCount]bool // the bins in which a nucleus ends
	members []member       // the tokens of those bins
	group   []member       // the tokens of one of them
}

// The tokens are binned by their distance x from the most probable one, in steps
// of 1/binsPerNat down to −64: the rest share the last bin, which has less than
// e⁻⁶⁴ of the mass each.
const (
	binsPerNat = 24
	binCount   = 64*binsPerNat + 1
)

// A bin sums over the tokens whose distance from the maximum falls into it. The
// bins are also the blocks of a blocked sum: within one all terms are of the same
// size, and the bins are added from the smallest terms to the largest.
type bin struct {
	e  float64 // Σ exp(x)
	xe float64 // Σ −x·exp(x)
	n  int     // number of tokens
}

type member struct {
	x, e float64
}

// binOf returns the bin of a token at distance x ≤ 0. It is monotone in x.
func binOf(x float64) int {
	d := x * -binsPerNat
	if d >= binCount-1 {
		return binCount - 1
	}
	return int(d)
}

// Summarize is like the function of that name, with the memory of s.
func (s *Summarizer) Summarize(logits []float32, ps []float64) (Summary, error) {
	for _, p := range ps {
		if err := checkThreshold(p); err != nil {
			return Summary{}, err
		}
	}
	top := float32(math.Inf(-1))
	for id, v := range logits {
		if !(v <= top) { // also true for NaN
			if v != v || math.IsInf(float64(v), 1) {
				return Summary{}, fmt.Errorf("token %d has the logit %v: the model's output is not a distribution", id, v)
			}
			top = v
		}
	}
	if math.IsInf(float64(top), -1) {
		if len(logits) == 0 {
			return Summary{}, fmt.Errorf("summarising an empty list of logits: %w", ErrNoToken)
		}
		return Summary{}, fmt.Errorf("summarising %d logits, all −Inf: %w", len(logits), ErrNoToken)
	}
	if !s.ready {
		s.exp.init()
		s.ready = true
	}
	max := float64(top)
	support := s.fill(logits, max)

	// The most probable token contributes exactly 1 to z = Σ eˣ and 0 to Σ −x·eˣ.
	// It is left out of the sums so that they stay accurate when it has nearly
	// all the mass: both are then sums of small terms of one sign.
	var rest, xe float64
	for i := binCount - 1; i >= 0; i-- {
		rest += s.bins[i].e
		xe += s.bins[i].xe
	}
	z := 1 + rest
	sum := Summary{
		LogZ:       Exact(max + math.Log1p(rest)),
		Entropy:    Exact(math.Log1p(rest) + xe/z),
		Vocabulary: len(logits),
		Seen:       len(logits),
		Unseen:     Exact(math.Inf(-1)),
	}
	if len(ps) > 0 {
		sum.Nuclei = make([]Nucleus, len(ps))
		s.nuclei(sum.Nuclei, ps, logits, max, z)
		for i, p := range ps {
			if p == 1 {
				sum.Nuclei[i] = Nucleus{P: 1, Size: Exact(float64(support)), Entropy: sum.Entropy, Mass: Exact(1)}
			}
		}
	}
	return sum, nil
}

// fill sorts the tokens into bins, without the most probable one, and returns the
// number of tokens that have a probability.
func (s *Summarizer) fill(logits []float32, max float64) int {
	s.bins = [binCount]bin{}
	zero := 0
	for _, v := range logits {
		x := float64(v) - max
		if x <= minLogP {
			zero++
			continue
		}
		e := s.exp.exp(x)
		b := &s.bins[binOf(x)]
		b.e += e
		b.xe -= x * e
		b.n++
	}
	s.bins[0].e-- // exp(0) is exactly 1, and no other term there is below e^(−1/binsPerNat)
	s.bins[0].n--
	return len(logits) - zero
}

// nuclei fills out with the nucleus of each threshold below 1.
//
// The bins tell in which of them a nucleus ends. Only the tokens of that bin are
// looked at again, all thresholds' in one pass, and of them only as many are put
// in order as are needed to find the last token.
func (s *Summarizer) nuclei(out []Nucleus, ps []float64, logits []float32, max, z float64) {
	last := -1
	for _, p := range ps {
		if b, _, _, _ := s.find(p, z); p < 1 && b >= 0 {
			s.wanted[b] = true
			if b > last {
				last = b
			}
		}
	}
	s.members = s.members[:0]
	if last >= 0 {
		// Most tokens are improbable and stop at this comparison.
		low := float32(math.Nextafter32(float32(max-float64(last+1)/binsPerNat), float32(math.Inf(-1))))
		if last == binCount-1 {
			low = float32(math.Inf(-1))
		}
		for _, v := range logits {
			if v < low {
				continue
			}
			x := float64(v) - max
			if x <= minLogP || !s.wanted[binOf(x)] {
				continue
			}
			s.members = append(s.members, member{x, s.exp.exp(x)})
		}
	}
	for i, p := range ps {
		if p == 1 {
			continue
		}
		b, n, e, xe := s.find(p, z)
		if b >= 0 {
			skip := b == 0 // the most probable token is counted already
			s.group = s.group[:0]
			for _, m := range s.members {
				if binOf(m.x) != b {
					continue
				}
				if skip && m.x == 0 {
					skip = false
					continue
				}
				s.group = append(s.group, m)
			}
			gn, ge, gxe := take(s.group, p*z*(1-reached)-(1+e))
			n, e, xe = n+gn, e+ge, xe+gxe
		}
		out[i] = Nucleus{
			P:       p,
			Size:    Exact(float64(n)),
			Entropy: Exact(math.Log1p(e) + xe/(1+e)),
			Mass:    Exact(math.Min(1, (1+e)/z)),
		}
	}
	if last >= 0 {
		s.wanted = [binCount]bool{}
	}
}

// find returns the bin in which the nucleus of p ends, with what lies before that
// bin: n tokens, the most probable one included, and the sums e and xe over all of
// them but that one. The bin is −1 if the nucleus is what lies before: the most
// probable token alone, or everything.
func (s *Summarizer) find(p, z float64) (b, n int, e, xe float64) {
	target := p * z * (1 - reached)
	n = 1
	if 1 >= target {
		return -1, n, 0, 0
	}
	for b := range s.bins {
		c := &s.bins[b]
		if 1+e+c.e >= target {
			return b, n, e, xe
		}
		n, e, xe = n+c.n, e+c.e, xe+c.xe
	}
	return -1, n, e, xe
}
