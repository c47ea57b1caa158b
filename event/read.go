package event

import (
	"container/heap"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// Reading is what a model says of one token event. Where the backend gives whole
// distributions every interval is exact.
type Reading struct {
	LogP    calibrate.Interval // natural logarithm of the token's raw probability
	Summary calibrate.Summary  // of the distribution it was read from
	C       calibrate.Interval // the calibration's offset, Eq. 4
	Size    calibrate.Interval // number of tokens in the live region; 0 under raw probabilities, which have none
	Logit   calibrate.Interval // log odds of the event, logit(P) + C
	EventP  calibrate.Interval // probability of the event, σ(logit(P) + C)
}

// Nuclei are the nucleus thresholds that every distribution is summarised at, so
// that a change among them needs no second reading: those the paper's tables
// average over.
var nuclei = calibrate.TableThresholds()

// Read reads each step under a calibration. What the cache has is taken from
// there; the model runs once for each distinct prefix that is left, and what it
// says is put into the cache even when the context ends the reading half-way.
func (r *Reader) Read(ctx context.Context, steps []Step, cal calibrate.Calibration) ([]Reading, error) {
	readings, err := r.ReadUnder(ctx, steps, []calibrate.Calibration{cal})
	if err != nil {
		return nil, err
	}
	return readings[0], nil
}

// ReadUnder is Read under several calibrations at once: the model still runs at
// most once for each distinct prefix. The result has one list of readings for
// each calibration, in their order.
func (r *Reader) ReadUnder(ctx context.Context, steps []Step, cals []calibrate.Calibration) ([][]Reading, error) {
	thresholds, err := thresholdsOf(cals)
	if err != nil {
		return nil, err
	}
	raw, err := r.observe(ctx, steps, thresholds)
	if err != nil {
		return nil, err
	}
	out := make([][]Reading, len(cals))
	for k, cal := range cals {
		out[k] = make([]Reading, len(steps))
		for i, o := range raw {
			if out[k][i], err = o.calibrated(cal); err != nil {
				return nil, fmt.Errorf("calibrating %q after %q: %w", steps[i].Piece, brief(steps[i].PrefixText), err)
			}
		}
	}
	return out, nil
}

// Prefetch puts into the cache what [Reader.ReadUnder] would read. Without one, or where nothing tells the model's
// readings from another's, it reads nothing.
func (r *Reader) Prefetch(ctx context.Context, steps []Step, cals []calibrate.Calibration) error {
	thresholds, err := thresholdsOf(cals)
	if err != nil {
		return err
	}
	if newShelf(r, thresholds).cache == nil {
		return nil
	}
	_, err = r.observe(ctx, steps, thresholds)
	return err
}

// thresholdsOf are the nucleus thresholds that distributions are summarised at for calibrations.
func thresholdsOf(cals []calibrate.Calibration) ([]float64, error) {
	var others []float64
	for _, cal := range cals {
		if err := cal.Validate(); err != nil {
			return nil, err
		}
		for _, p := range cal.Thresholds() {
			if !slices.Contains(nuclei, p) && !slices.Contains(others, p) {
				others = append(others, p)
			}
		}
	}
	if len(others) == 0 {
		return nuclei, nil
	}
	return slices.Concat(nuclei, slices.Sorted(slices.Values(others))), nil
}

// observation is a reading before calibration.
type observation struct {
	logP    calibrate.Interval
	summary calibrate.Summary
}

func (o observation) calibrated(cal calibrate.Calibration) (Reading, error) {
	c, err := cal.Offset(o.summary)
	if err != nil {
		return Reading{}, err
	}
	r := Reading{LogP: o.logP, Summary: o.summary, C: c}
	switch {
	case cal.Method.UsesNucleus():
		for _, n := range o.summary.Nuclei {
			if n.P == cal.P {
				r.Size = n.Size
			}
		}
	case cal.Method != calibrate.Raw:
		r.Size = calibrate.Interval{Lo: math.Exp(c.Lo), Hi: math.Exp(c.Hi)}
	}
	r.Logit = calibrate.EventLogit(o.logP, c)
	r.EventP = calibrate.EventProbability(o.logP, c)
	return r, nil
}

// prefix gathers what is asked about one distinct prefix.
type prefix struct {
	tokens  []lm.Token
	text    string     // as it is written
	targets []lm.Token // distinct
	steps   []int      // indices of the steps that ask
}

func (p *prefix) failed(err error) error {
	return fmt.Errorf("reading after %q: %w", brief(p.text), err)
}

// observe answers each step from the cache or from the model.
func (r *Reader) observe(ctx context.Context, steps []Step, thresholds []float64) ([]observation, error) {
	var prefixes []*prefix
	byTokens := make(map[string]*prefix)
	for i, s := range steps {
		key := string(prefixKey(s.Prefix))
		p := byTokens[key]
		if p == nil {
			p = &prefix{tokens: s.Prefix, text: s.PrefixText}
			byTokens[key] = p
			prefixes = append(prefixes, p)
		}
		if !slices.Contains(p.targets, s.Target) {
			p.targets = append(p.targets, s.Target)
		}
		p.steps = append(p.steps, i)
	}
	// Neighbours then begin alike, and a backend that reads that once has the most of it.
	slices.SortFunc(prefixes, func(a, b *prefix) int { return slices.Compare(a.tokens, b.tokens) })

	out := make([]observation, len(steps))
	store := newShelf(r, thresholds)
	known, whole, err := store.fetch(ctx, prefixes)
	if err != nil {
		return nil, err
	}
	total := 0
	for i, p := range prefixes {
		if !whole[i] {
			total++
			continue
		}
		p.give(known[i], steps, out)
	}
	if total == 0 {
		return out, nil
	}

	defer store.flush(ctx)
	done := 0
	var before []*answers // of a batch's prefixes
	answering := newAnswering(thresholds, func(i int, p *prefix, d lm.Distribution, answer *answers) error {
		answer.keep(before[i])
		p.give(answer, steps, out)
		store.add(ctx, p, d, answer)
		if done++; r.Progress != nil {
			r.Progress(done, total)
		}
		return nil
	})
	all := make([][]lm.Token, len(prefixes))
	for i, p := range prefixes {
		all[i] = p.tokens
	}
	for len(prefixes) > 0 {
		// Batches are made of all prefixes, and what is known is left out of them: so
		// a reading that goes on after an interruption has the same neighbours, and
		// the same last digits, as one that was never interrupted.
		n := r.together(all)
		var missing []*prefix
		before = nil
		var tokens [][]lm.Token
		for i, p := range prefixes[:n] {
			if !whole[i] {
				missing = append(missing, p)
				before = append(before, known[i])
				tokens = append(tokens, p.tokens)
			}
		}
		prefixes, known, whole, all = prefixes[n:], known[n:], whole[n:], all[n:]
		if len(missing) == 0 {
			continue
		}
		if lender, ok := r.Model.(lm.Lender); ok {
			err = lender.Lend(ctx, tokens, func(at []int, d []lm.Distribution) error { return answering.addLent(at, missing, d) })
		} else {
			err = r.Model.Read(ctx, tokens, func(i int, d lm.Distribution) error { return answering.add(i, missing[i], d) })
		}
		// What was read before an error is kept, too.
		if late := answering.finish(); err == nil {
			err = late
		}
		if err != nil {
			return nil, err
		}
		store.batchDone(ctx)
	}
	return out, nil
}

// together returns how many of the first prefixes are read at once.
func (r *Reader) together(prefixes [][]lm.Token) int {
	b, ok := r.Model.(lm.Batcher)
	if !ok {
		return len(prefixes)
	}
	return min(max(b.Batch(prefixes), 1), len(prefixes))
}

// answers is what is known about one prefix: the distribution's summary, and the
// log-probability of each target.
type answers struct {
	summary    calibrate.Summary
	summarised bool // the summary is there
	logP       map[lm.Token]calibrate.Interval
}

// keep puts what an earlier reading said in the place of what this one says, so that what
// has once been said of a prefix stays the same when more is asked of it.
func (a *answers) keep(before *answers) {
	if before == nil {
		return
	}
	if before.summarised {
		a.summary = before.summary
	}
	maps.Copy(a.logP, before.logP)
}

func (p *prefix) give(a *answers, steps []Step, out []observation) {
	for _, i := range p.steps {
		out[i] = observation{logP: a.logP[steps[i].Target], summary: a.summary}
	}
}

// answer reads the distribution after the prefix; s is needed for a whole one.
func (p *prefix) answer(d lm.Distribution, s *calibrate.Summarizer, thresholds []float64) (*answers, error) {
	a := &answers{logP: make(map[lm.Token]calibrate.Interval, len(p.targets))}
	var err error
	if d.Logits != nil {
		if a.summary, err = s.Summarize(d.Logits, thresholds); err != nil {
			return nil, err
		}
		for _, t := range p.targets {
			if int(t) >= len(d.Logits) {
				return nil, fmt.Errorf("token %d is outside the %d that the model predicts", t, len(d.Logits))
			}
			a.logP[t] = a.summary.LogP(float64(d.Logits[t]))
		}
		return a, nil
	}
	if a.summary, err = calibrate.SummarizeTop(logProbs(d), d.Vocabulary, thresholds); err != nil {
		return nil, err
	}
	for _, t := range p.targets {
		a.logP[t] = listedLogP(d, a.summary, t)
	}
	return a, nil
}

// listedLogP is what a truncated distribution says of a token's log-probability:
// all that the entries which may be the token's own leave open, and where it may
// be that none is, what is known of tokens that are not listed.
func listedLogP(d lm.Distribution, s calibrate.Summary, t lm.Token) calibrate.Interval {
	logprobs, sure := d.Listed(t)
	hull := calibrate.Interval{Lo: math.Inf(1), Hi: math.Inf(-1)}
	add := func(i calibrate.Interval) {
		hull.Lo, hull.Hi = min(hull.Lo, i.Lo), max(hull.Hi, i.Hi)
	}
	for _, l := range logprobs {
		add(s.LogP(l))
	}
	if !sure {
		add(s.Unseen)
	}
	return hull
}

// top reads the k most probable tokens after a prefix.
func (r *Reader) top(ctx context.Context, prompt []lm.Token, k int) ([]TopToken, error) {
	store := newShelf(r, nil)
	if !store.whole {
		if d, ok := decodeListed(store.row(ctx, prompt, listedQuestion)); ok {
			if top, err := listedTop(d, k); err == nil {
				return top, nil
			}
		}
	} else if top, ok := store.fetchTop(ctx, prompt, k); ok {
		return top, nil
	}
	var top []TopToken
	err := r.Model.Read(ctx, [][]lm.Token{prompt}, func(_ int, d lm.Distribution) (err error) {
		if d.Logits == nil {
			if top, err = listedTop(d, k); err == nil {
				store.add(ctx, &prefix{tokens: prompt}, d, nil)
			}
			return err
		}
		summary, err := calibrate.Summarize(d.Logits, nil)
		if err != nil {
			return err
		}
		for _, t := range largest(d.Logits, k) {
			top = append(top, TopToken{Token: t, LogP: summary.LogP(float64(d.Logits[t]))})
		}
		store.addTop(prompt, k, top)
		return nil
	})
	if err != nil {
		return nil, err
	}
	store.flush(ctx)
	return top, nil
}

// listedTop returns the first k entries of a truncated distribution that have a
// probability of their own, and are no floors.
func listedTop(d lm.Distribution, k int) ([]TopToken, error) {
	summary, err := calibrate.SummarizeTop(logProbs(d), d.Vocabulary, nil)
	if err != nil {
		return nil, err
	}
	// The list descends, so what counts as seen comes first.
	var top []TopToken
	for i, e := range d.Top[:min(k, summary.Seen)] {
		top = append(top, TopToken{Token: e.Token, Among: d.Among[i], LogP: summary.LogP(e.LogProb)})
	}
	return top, nil
}

func logProbs(d lm.Distribution) []float64 {
	listed := make([]float64, len(d.Top))
	for i, t := range d.Top {
		listed[i] = t.LogProb
	}
	return listed
}

// largest returns the k tokens with the largest logits, the largest first and
// ties by id.
func largest(logits []float32, k int) []lm.Token {
	h := &smallestFirst{logits: logits}
	for t := range logits {
		if h.Len() < k {
			heap.Push(h, lm.Token(t))
		} else if logits[t] > logits[h.tokens[0]] {
			h.tokens[0] = lm.Token(t)
			heap.Fix(h, 0)
		}
	}
	out := make([]lm.Token, h.Len())
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = heap.Pop(h).(lm.Token)
	}
	return out
}

// smallestFirst is a heap of tokens whose root has the smallest logit, and among
// equals the largest id.
type smallestFirst struct {
	logits []float32
	tokens []lm.Token
}

func (h *smallestFirst) Len() int { return len(h.tokens) }
func (h *smallestFirst) Less(i, j int) bool {
	a, b := h.tokens[i], h.tokens[j]
	if h.logits[a] != h.logits[b] {
		return h.logits[a] < h.logits[b]
	}
	return a > b
}
func (h *smallestFirst) Swap(i, j int) { h.tokens[i], h.tokens[j] = h.tokens[j], h.tokens[i] }
func (h *smallestFirst) Push(x any)    { h.tokens = append(h.tokens, x.(lm.Token)) }
func (h *smallestFirst) Pop() any {
	last := h.tokens[len(h.tokens)-1]
	h.tokens = h.tokens[:len(h.tokens)-1]
	return last
}
