package calibrate

import "math"

// nucleus bounds the nucleus of threshold p, given bounds of the whole entropy.
//
// It may end at one of several listed tokens, because their cumulative mass is known
// only within the slack, and it may go on into the unseen ones. Each possibility is
// bounded for itself; the answer contains them all.
//
// In every case the entropy is that of positive weights v (the probabilities of the
// nucleus) after normalisation. We bound it with the listed weights w in place of
// the true p, which are larger by a factor between 1 and e^2δ. Normalised weights
// then change by factors between e^−ε and e^ε, ε = 2δ, and for such r, r′ on one
// support
//
//	H(r′) = Σ r′ ln(1/r′) ≤ Σ e^ε r (ln(1/r) + ε) = e^ε (H(r) + ε),
//
// and by symmetry H(r′) ≥ e^−ε H(r) − ε. That is what loosen does.
func (t *top) nucleus(p float64, whole Interval) Nucleus {
	k := float64(len(t.w))
	if p == 1 { // all tokens that have a probability
		least := k
		if t.m.Lo > 0 {
			least += math.Ceil(t.m.Lo / t.c)
		}
		return Nucleus{P: p, Size: Interval{least, k + t.n}, Entropy: whole, Mass: Exact(1)}
	}
	var all []Nucleus

	// Ending at the j-th listed token: the first j reach p, the first j−1 do not.
	// p is compared from below because a mass within rounding of p reaches it.
	least := p * (1 - 2*reached)
	var sum, terms float64 // Σw, Σh(w) over the first j
	const shrink = 2 * printSlack
	for j, w := range t.w {
		before := sum * math.Exp(-shrink)
		if before >= p {
			break
		}
		sum += w
		terms += h(w)
		if sum >= least {
			all = append(all, Nucleus{
				Size:    Exact(float64(j + 1)),
				Mass:    Interval{math.Max(least, sum*math.Exp(-shrink)), math.Min(1, sum)},
				Entropy: loosen(Exact(math.Log(sum) + terms/sum)),
			})
		}
	}
	if t.n > 0 && (t.s.Lo < p || len(all) == 0) {
		all = append(all, t.extended(p, least))
	}
	n := all[0]
	for _, a := range all[1:] {
		n.Size = n.Size.hull(a.Size)
		n.Mass = n.Mass.hull(a.Mass)
		n.Entropy = n.Entropy.hull(a.Entropy)
	}
	n.P = p
	// A nucleus of n tokens has at most ln n. It also has at most the entropy of the
	// whole, whose probabilities it majorises once renormalised.
	n.Entropy.Hi = math.Min(n.Entropy.Hi, math.Min(above(math.Log(n.Size.Hi)), above(whole.Hi)))
	n.Entropy.Lo = math.Min(n.Entropy.Lo, n.Entropy.Hi)
	return n
}

func loosen(h Interval) Interval {
	const eps = 2 * printSlack
	return Interval{math.Max(0, h.Lo*math.Exp(-eps)-eps), math.Exp(eps) * (h.Hi + eps)}
}

// extended bounds a nucleus that holds all k listed tokens and m ≥ 1 unseen ones, of
// mass Q_m = q₁ + … + q_m, so that with r = p − S
//
//	Q_(m−1) < r ≤ Q_m.
//
// Size. Since q ≤ c, m ≥ ⌈r/c⌉. The m largest of N numbers hold at least m/N of their
// sum, so that no more than ⌈rN/M⌉ are needed; r/M = (p − S)/(1 − S) falls with S.
//
// Mass. The last token carries it past p by less than its own probability, at most c.
//
// Entropy, H = ln V + (Σh(w) + Σh(q))/V with V = Σw + Q_m. The derivative of H with
// respect to one weight v is (ln(V/v) − H)/V, which is not negative if v is the
// smallest of all; no q exceeds any w.
//
// From below: shrink q_m, and when it is gone q_(m−1), until the mass of the q is
// the least possible r. Each was the smallest weight, so H only fell. Now V is
// fixed, and Σh(q) is least for the packed sequence of that mass.
//
// From above, for a given m: given Q_m = T, equal q = T/m maximise Σh(q) and make
// Q_(m−1) smallest, so they are feasible if anything is; and H grows with T while
// T/m ≤ c. The largest T is min(mc, rm/(m−1), M): call the entropy there G(m).
// Which m is best? Where T = mc or T = M, G grows with m (one more weight that is
// smallest, or the same mass spread further). Where T = rm/(m−1), that is from some
// m on, let u = T/m and D = ln(V/u) − H ≥ 0; then
//
//	dG/dm = (T/m − (r/(m−1)²)·D)/V,   of the sign of (m−1) − D.
//
// Where this is not negative, G does not fall, so that dD/dm ≤ 1/(m−1) ≤ 1 (V falls)
// and m − 1 − D does not fall either: once G has begun to rise it rises for good. On that part
// the best m is the first or the last. So the best of all is among ⌈r/c⌉, where the
// first part ends, the integer after it, those around m = M/(M−r), where M stops being
// the smallest of the three, and the largest m.
func (t *top) extended(p, least float64) Nucleus {
	k := float64(len(t.w))
	r := Interval{math.Max(0, least-t.s.Hi), math.Max(0, math.Min(p-t.s.Lo, t.m.Hi))}
	first := math.Max(1, math.Ceil(r.Lo/t.c))
	last := math.Ceil(t.n * (p - t.s.Lo) / (1 - t.s.Lo))
	last = math.Min(math.Max(last, 1), t.n)
	first = math.Min(first, last)

	var sum, terms float64
	for _, w := range t.w {
		sum += w
		terms += h(w)
	}
	v := sum + r.Lo
	low := math.Log(v) + (terms+packed(r.Lo, t.c))/v

	high := 0.0
	turn := t.m.Hi / (t.m.Hi - r.Hi) // +Inf when r = M
	for _, m := range []float64{
		math.Ceil(r.Hi / t.c), math.Ceil(r.Hi/t.c) + 1,
		math.Floor(turn), math.Ceil(turn), last,
	} {
		m = math.Min(math.Max(m, 1), last)
		mass := math.Min(m*t.c, t.m.Hi)
		if m > 1 {
			mass = math.Min(mass, r.Hi*m/(m-1))
		}
		if mass > 0 {
			v := sum + mass
			high = math.Max(high, math.Log(v)+(terms+mass*math.Log(m/mass))/v)
		}
	}
	return Nucleus{
		Size:    Interval{k + first, k + last},
		Mass:    Interval{least, math.Min(1, p+t.c)},
		Entropy: loosen(Interval{low, high}),
	}
}
