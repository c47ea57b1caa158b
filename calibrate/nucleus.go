package calibrate

import "math"

// A cut is where a nucleus ends: in a bin, after all the tokens before that bin. The
// most probable token is in every nucleus and is not counted.
type cut struct {
	bin    int // −1: the nucleus has exactly what is counted before
	before bin
}

// A member is a token of a bin in which a nucleus ends.
type member struct {
	x, e float64 // distance from the largest logit, exp(x)
	bin  int
}

// nuclei returns the nucleus of each threshold, max being the largest logit; rest has the
// sums over all the other tokens.
//
// Only the tokens of the bins in which nuclei end are looked at again, and only as
// many of them are put in order as are needed to find the last token.
func (s *Summarizer) nuclei(ps []float64, max float64, b binning, rest *bin) []Nucleus {
	z := 1 + rest.e
	s.cuts = s.cuts[:0]
	ends := false // a nucleus within a bin
	for _, p := range ps {
		c := s.find(p, rest)
		s.cuts = append(s.cuts, c)
		if c.bin >= 0 {
			s.wanted[c.bin] = true
			ends = true
		}
	}
	s.members = s.members[:0]
	if ends {
		s.gather(max, b)
		s.wanted = [binCount]bool{}
	}
	nuclei := make([]Nucleus, len(ps))
	for i, p := range ps {
		c := s.cuts[i]
		if c.bin >= 0 {
			more := take(s.only(c.bin), target(p, z)-(1+c.before.e))
			c.before.add(&more)
		}
		n := &c.before
		nuclei[i] = Nucleus{
			P:       p,
			Size:    Exact(float64(1 + n.n)),
			Entropy: Exact(n.entropy()),
			Mass:    Exact(math.Min(1, (1+n.e)/z)),
		}
	}
	return nuclei
}

// target returns the Σ exp(x) that a nucleus of p must reach.
func target(p, z float64) float64 { return p * z * (1 - reached) }

// find returns the cut of the nucleus of p.
func (s *Summarizer) find(p float64, rest *bin) cut {
	z := 1 + rest.e
	c := cut{bin: -1}
	switch {
	case p == 1: // all tokens that have a probability
		c.before = *rest
		return c
	case 1 >= target(p, z): // the most probable one alone
		return c
	}
	for i := range s.bins {
		if 1+c.before.e+s.bins[i].e >= target(p, z) {
			c.bin = i
			return c
		}
		c.before.add(&s.bins[i])
	}
	return c
}

// gather appends the tokens of the wanted bins.
func (s *Summarizer) gather(max float64, b binning) {
	for _, v := range s.head {
		x := float64(v) - max
		if i := b.of(stepsOf(x)); s.wanted[i] {
			e, _ := s.exp.exp(x)
			s.members = append(s.members, member{x, e, i})
		}
	}
}

// only returns the members of one bin, moved together.
func (s *Summarizer) only(bin int) []member {
	n := 0
	for i := range s.members {
		if s.members[i].bin == bin {
			s.members[i], s.members[n] = s.members[n], s.members[i]
			n++
		}
	}
	return s.members[:n]
}
