package event

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
)

// Cache keeps readings between runs. A cache must return for a key what was put
// under it or nothing; it may forget. Neither method's failure stops a reading:
// what cannot be found is read again.
type Cache interface {
	GetMany(ctx context.Context, keys []string) (map[string][]byte, error)
	PutMany(ctx context.Context, values map[string][]byte) error
}

// encoding is part of each key: it changes whenever the same bytes would be
// decoded to something else, or the same question answered differently.
const encoding = "2"

// flushEvery is how long a reading may wait before it is put into the cache.
const flushEvery = time.Second

// patience is how long the cache may take to keep what was read when the reading
// has been called off.
const patience = time.Second

// shelf is the part of the cache that belongs to one model and one set of
// nucleus thresholds.
//
// Of a whole distribution, a prefix has one row for the summary and one for each
// target that was ever asked. A truncated one is kept as it is, in one row: a
// server's second reading may differ from its first, and a summary of the one
// beside a target of the other would be true of neither.
type shelf struct {
	cache      Cache
	whole      bool
	model      string
	thresholds []float64
	summaryKey string
	pending    map[string][]byte
	flushed    time.Time
}

func newShelf(r *Reader, thresholds []float64) *shelf {
	info := r.Model.Info()
	s := &shelf{cache: r.Cache, whole: info.Whole, thresholds: thresholds, pending: make(map[string][]byte), flushed: time.Now()}
	if info.Digest == "" {
		s.cache = nil // nothing tells this model's readings from another's
	}
	s.model = fmt.Sprintf("%s %q %q %q %q", encoding, info.Backend, info.Revision, info.Digest, info.Precision)
	var b strings.Builder
	b.WriteString("summary")
	for _, p := range thresholds {
		b.WriteByte(' ')
		b.WriteString(strconv.FormatFloat(p, 'g', -1, 64))
	}
	s.summaryKey = b.String()
	return s
}

func (s *shelf) key(prompt []lm.Token, question string) string {
	b := make([]byte, 0, len(s.model)+8*len(prompt)+len(question))
	b = append(b, s.model...)
	for _, t := range prompt {
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(t), 10)
	}
	b = append(b, '/')
	return string(append(b, question...))
}

func targetQuestion(t lm.Token) string { return "target " + strconv.Itoa(int(t)) }

// fetch returns what is known of each prefix, and of which ones that is all that is asked.
func (s *shelf) fetch(ctx context.Context, prefixes []*prefix) (known []*answers, whole []bool, err error) {
	known, whole = make([]*answers, len(prefixes)), make([]bool, len(prefixes))
	if s.cache == nil {
		return known, whole, ctx.Err()
	}
	if !s.whole {
		err := s.fetchListed(ctx, prefixes, known)
		for i, a := range known {
			whole[i] = a != nil
		}
		return known, whole, err
	}
	var keys []string
	for _, p := range prefixes {
		keys = append(keys, s.key(p.tokens, s.summaryKey))
		for _, t := range p.targets {
			keys = append(keys, s.key(p.tokens, targetQuestion(t)))
		}
	}
	rows, err := s.cache.GetMany(ctx, keys)
	if err != nil {
		return known, whole, ctx.Err() // the cache's own trouble only costs a second reading
	}
	for i, p := range prefixes {
		a := &answers{logP: make(map[lm.Token]calibrate.Interval)}
		a.summary, whole[i] = decodeSummary(rows[s.key(p.tokens, s.summaryKey)], s.thresholds)
		a.summarised = whole[i]
		for _, t := range p.targets {
			if f := decode(rows[s.key(p.tokens, targetQuestion(t))]); len(f) == 2 {
				a.logP[t] = calibrate.Interval{Lo: f[0], Hi: f[1]}
			} else {
				whole[i] = false
			}
		}
		known[i] = a
	}
	return known, whole, nil
}

// fetchListed is fetch for truncated distributions.
func (s *shelf) fetchListed(ctx context.Context, prefixes []*prefix, out []*answers) error {
	keys := make([]string, len(prefixes))
	for i, p := range prefixes {
		keys[i] = s.key(p.tokens, listedQuestion)
	}
	rows, err := s.cache.GetMany(ctx, keys)
	if err != nil {
		return ctx.Err()
	}
	for i, p := range prefixes {
		if d, ok := decodeListed(rows[keys[i]]); ok {
			// One that cannot be summarised is read anew.
			out[i], _ = p.answer(d, nil, s.thresholds)
		}
	}
	return nil
}

// add keeps what was read about a prefix: d itself, or the answers from it.
func (s *shelf) add(ctx context.Context, p *prefix, d lm.Distribution, a *answers) {
	if s.cache == nil {
		return
	}
	if d.Logits == nil {
		s.pending[s.key(p.tokens, listedQuestion)] = encodeListed(d)
		s.batchDone(ctx) // what a server says of one prefix does not depend on others
		return
	}
	s.pending[s.key(p.tokens, s.summaryKey)] = encodeSummary(a.summary)
	for t, logP := range a.logP {
		s.pending[s.key(p.tokens, targetQuestion(t))] = encode(logP.Lo, logP.Hi)
	}
}

// batchDone puts away what is pending if that has waited long enough. A batch is put
// away whole.
func (s *shelf) batchDone(ctx context.Context) {
	if time.Since(s.flushed) > flushEvery {
		s.flush(ctx)
	}
}

// flush puts away what is pending. What has been read is worth keeping even when
// the reading is called off, though not worth a long wait then.
func (s *shelf) flush(ctx context.Context) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		select {
		case <-time.After(patience):
			cancel()
		case <-late.Done():
		}
	})()
	ctx = late
	if s.cache != nil && len(s.pending) > 0 {
		// A cache that cannot keep a reading says so itself; the reading is good.
		_ = s.cache.PutMany(ctx, s.pending)
	}
	s.pending = make(map[string][]byte)
	s.flushed = time.Now()
}

func topQuestion(k int) string { return "top " + strconv.Itoa(k) }

// fetchTop is for whole distributions; a truncated one is kept with its entries.
func (s *shelf) fetchTop(ctx context.Context, prompt []lm.Token, k int) ([]TopToken, bool) {
	f := decode(s.row(ctx, prompt, topQuestion(k)))
	if len(f) == 0 || len(f)%3 != 0 {
		return nil, false
	}
	var top []TopToken
	for ; len(f) > 0; f = f[3:] {
		top = append(top, TopToken{Token: lm.Token(f[0]), LogP: calibrate.Interval{Lo: f[1], Hi: f[2]}})
	}
	return top, true
}

func (s *shelf) addTop(prompt []lm.Token, k int, top []TopToken) {
	var f []float64
	for _, t := range top {
		f = append(f, float64(t.Token), t.LogP.Lo, t.LogP.Hi)
	}
	s.pending[s.key(prompt, topQuestion(k))] = encode(f...)
}

// row returns one row, nil where there is none.
func (s *shelf) row(ctx context.Context, prompt []lm.Token, question string) []byte {
	if s.cache == nil {
		return nil
	}
	key := s.key(prompt, question)
	rows, err := s.cache.GetMany(ctx, []string{key})
	if err != nil {
		return nil // the cache's own trouble only costs a second reading
	}
	return rows[key]
}

// listedQuestion is the key of a truncated distribution.
const listedQuestion = "listed"

// encodeListed writes a truncated distribution: the vocabulary's size, and for
// each entry its token, its log-probability, how many tokens it may be, and
// those.
func encodeListed(d lm.Distribution) []byte {
	f := []float64{float64(d.Vocabulary)}
	for i, e := range d.Top {
		f = append(f, float64(e.Token), e.LogProb, float64(len(d.Among[i])))
		for _, t := range d.Among[i] {
			f = append(f, float64(t))
		}
	}
	return encode(f...)
}

func decodeListed(b []byte) (d lm.Distribution, ok bool) {
	f := decode(b)
	if len(f) < 4 {
		return d, false
	}
	d.Vocabulary, f = int(f[0]), f[1:]
	token := func(x float64) lm.Token {
		if x < 0 || x >= float64(d.Vocabulary) || x > math.MaxInt32 || x != math.Trunc(x) {
			ok = false
			return 0
		}
		return lm.Token(x)
	}
	ok = true
	for len(f) > 0 {
		if len(f) < 3 || f[2] < 0 || f[2] > float64(len(f)-3) {
			return d, false
		}
		var among []lm.Token
		for _, x := range f[3 : 3+int(f[2])] {
			among = append(among, token(x))
		}
		if among != nil {
			if d.Among == nil {
				d.Among = make(map[int][]lm.Token)
			}
			d.Among[len(d.Top)] = among
		}
		d.Top = append(d.Top, lm.TokenLogProb{Token: token(f[0]), LogProb: f[1]})
		f = f[3+len(among):]
	}
	return d, ok
}

// encode writes numbers as their bits, so that infinities and every last digit
// come back.
func encode(f ...float64) []byte {
	b := make([]byte, 0, 8*len(f))
	for _, x := range f {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// decode returns nil for what encode did not write.
func decode(b []byte) []float64 {
	if len(b) == 0 || len(b)%8 != 0 {
		return nil
	}
	f := make([]float64, len(b)/8)
	for i := range f {
		f[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		if math.IsNaN(f[i]) {
			return nil
		}
	}
	return f
}

func encodeSummary(s calibrate.Summary) []byte {
	f := []float64{float64(s.Vocabulary), float64(s.Seen), s.LogZ.Lo, s.LogZ.Hi, s.Entropy.Lo, s.Entropy.Hi, s.Unseen.Lo, s.Unseen.Hi}
	for _, n := range s.Nuclei {
		f = append(f, n.P, n.Size.Lo, n.Size.Hi, n.Entropy.Lo, n.Entropy.Hi, n.Mass.Lo, n.Mass.Hi)
	}
	return encode(f...)
}

func decodeSummary(b []byte, thresholds []float64) (calibrate.Summary, bool) {
	f := decode(b)
	if len(f) != 8+7*len(thresholds) {
		return calibrate.Summary{}, false
	}
	s := calibrate.Summary{
		Vocabulary: int(f[0]),
		Seen:       int(f[1]),
		LogZ:       calibrate.Interval{Lo: f[2], Hi: f[3]},
		Entropy:    calibrate.Interval{Lo: f[4], Hi: f[5]},
		Unseen:     calibrate.Interval{Lo: f[6], Hi: f[7]},
	}
	for i, p := range thresholds {
		n := f[8+7*i:]
		if n[0] != p {
			return calibrate.Summary{}, false
		}
		s.Nuclei = append(s.Nuclei, calibrate.Nucleus{
			P:       p,
			Size:    calibrate.Interval{Lo: n[1], Hi: n[2]},
			Entropy: calibrate.Interval{Lo: n[3], Hi: n[4]},
			Mass:    calibrate.Interval{Lo: n[5], Hi: n[6]},
		})
	}
	return s, true
}
