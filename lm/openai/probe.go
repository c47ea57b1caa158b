package openai

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/listed"
)

// dialect is the way in which a kind of server is asked.
type dialect interface {
	tokenize(ctx context.Context, e *endpoint, text string) ([]lm.Token, error)
	piece(ctx context.Context, t lm.Token) []byte

	// read reads the distributions after prefixes of which each is the beginning of the
	// next; more than one where chains is true.
	read(ctx context.Context, e *endpoint, chain [][]lm.Token) ([]lm.Distribution, error)
	chains() bool

	// probe reads at least a few of the most probable tokens.
	probe(ctx context.Context, e *endpoint, prefix []lm.Token) (lm.Distribution, error)
}

// only is the distribution after the one prefix of a chain.
func only(ds []lm.Distribution, err error) (lm.Distribution, error) {
	if err != nil {
		return lm.Distribution{}, err
	}
	return ds[0], nil
}

// facts are what servers of the same model agree in.
type facts struct {
	Kind       string // of the server
	Version    string `json:"-"`
	Model      string // what it tells of the weights
	Vocabulary int
	Context    int `json:"-"`
	AddBOS     bool
	BOS        lm.Token
	EOS        []lm.Token
	Depth      int  // how many tokens are listed
	Whole      bool // all of them
	Inner      bool `json:"-"` // prompts' own distributions are told
	Pieces     string
}

// listing is what a server's list says of a model.
type listing struct {
	ID         string          `json:"id"`
	Owner      string          `json:"owned_by"`
	Root       string          `json:"root"`
	Context    int             `json:"max_model_len"`
	Meta       json.RawMessage `json:"meta"`
	Vocabulary int             `json:"vocabulary"` // modellog serve's; llama-server has meta.n_vocab
	Digest     string          `json:"sha256"`     // modellog serve's: of the weights
	Precision  string          `json:"precision"`
}

// models asks for the models that the server has. One that has no list is believed
// to have any.
func (e *endpoint) models(ctx context.Context) ([]listing, error) {
	var list struct{ Data []listing }
	if err := e.get(ctx, e.at("/models"), &list); err != nil {
		if absent(err) {
			err = nil
		}
		return nil, err
	}
	if len(list.Data) == 0 {
		return nil, &AnswerError{e.base.String(), "a list of no models"}
	}
	for i, l := range list.Data {
		var meta struct {
			Vocabulary int `json:"n_vocab"`
		}
		if json.Unmarshal(l.Meta, &meta) == nil && meta.Vocabulary > 0 {
			list.Data[i].Vocabulary = meta.Vocabulary
		}
		if n := list.Data[i].Vocabulary; n < 0 || n > mostTokens {
			return nil, &AnswerError{e.base.String(), fmt.Sprintf("a vocabulary of %d tokens", n)}
		}
		// Fields in one order, and without what is of the server and not of the model.
		var all map[string]any
		if json.Unmarshal(l.Meta, &all) == nil && all != nil {
			delete(all, "n_ctx")
			list.Data[i].Meta, _ = json.Marshal(all)
		}
	}
	return list.Data, nil
}

// detect finds how a server is to be asked, and what it tells of the model. A server
// that only writes gives [ErrNoReadings].
func (m *Model) detect(ctx context.Context, e *endpoint, l listing) (dialect, facts, error) {
	if e.base.Hostname() == "api.openai.com" {
		return nil, facts{}, ErrNoReadings // it has no models left that are read
	}
	var p props
	if l.Owner == "llamacpp" || l.Owner == "" {
		if err := e.get(ctx, e.beside("/props"), &p); err != nil && (dead(err) || ctx.Err() != nil) {
			return nil, facts{}, err
		}
	}
	if p.Settings != nil || l.Owner == "llamacpp" {
		return or(openNative(ctx, m.pool, e, p, l))
	}
	b, f, err := openByID(ctx, m.pool, e, m.info.Name, l)
	if err != nil || b != nil {
		return or(b, f, err)
	}
	if e.options.Vocabulary == nil {
		return nil, f, ErrNoReadings
	}
	tok, err := e.options.Vocabulary(ctx, m.info.Name)
	if err != nil {
		return nil, f, fmt.Errorf("%w; the vocabulary of %q was looked for here: %w", ErrNoReadings, m.info.Name, err)
	}
	return or(openByName(ctx, e, m.info.Name, tok))
}

// or leaves out a dialect that came with an error.
func or[D dialect](d D, f facts, err error) (dialect, facts, error) {
	if err != nil {
		return nil, f, err
	}
	return d, f, nil
}

// probe opens the model of all servers for reading.
func (m *Model) probe(ctx context.Context, of []listing) error {
	var first facts
	var readings [][]lm.Distribution
	var versions []string
	for i, e := range m.pool.all {
		d, f, err := m.detect(ctx, e, of[i])
		if err != nil {
			return err
		}
		if i == 0 {
			m.dialect, first = d, f
		} else if err := agree(m.pool.all[0], e, first, f); err != nil {
			return err
		}
		first.Context = min(first.Context, f.Context)
		if version := e.hide(f.Version); version != "" && !slices.Contains(versions, version) {
			versions = append(versions, version)
		}
		got, err := m.readProbes(ctx, d, e, f)
		if err != nil {
			return err
		}
		readings = append(readings, got)
		if i > 0 {
			if err := alike(m.pool.all[0], e, readings[0], got); err != nil {
				return err
			}
		}
	}
	slices.Sort(versions)
	m.info.Revision = strings.TrimSpace(first.Kind + " " + strings.Join(versions, ", "))
	m.info.Digest = fingerprint(m.info.Name, first, readings[0])
	m.info.Vocabulary, m.info.Context = first.Vocabulary, max(0, first.Context)
	m.info.AddBOS, m.info.BOS, m.info.EOS = first.AddBOS, first.BOS, first.EOS
	m.info.Whole, m.depth = first.Whole, first.Depth
	var meta struct {
		Parameters uint64 `json:"n_params"`
		Type       string `json:"ftype"`
	}
	if json.Unmarshal(of[0].Meta, &meta) == nil {
		m.info.Parameters, m.info.Quantization = meta.Parameters, meta.Type
	}
	return nil
}

func (m *Model) readProbes(ctx context.Context, d dialect, e *endpoint, f facts) ([]lm.Distribution, error) {
	var out []lm.Distribution
	for _, text := range probes {
		prefix, err := d.tokenize(ctx, e, text)
		if err != nil {
			return nil, err
		}
		if f.AddBOS {
			prefix = append([]lm.Token{f.BOS}, prefix...)
		}
		got, err := d.probe(ctx, e, prefix)
		if err != nil {
			return nil, err
		}
		out = append(out, got)
	}
	return out, nil
}

// differError says in what servers of one model differ.
type differError struct{ what string }

func (e *differError) Error() string { return e.what }

func differ(format string, args ...any) error { return &differError{fmt.Sprintf(format, args...)} }

// agree compares what two servers tell of a model.
func agree(a, b *endpoint, fa, fb facts) error {
	for _, c := range []struct {
		what string
		a, b any
	}{
		{"kind of server", fa.Kind, fb.Kind},
		{"number of tokens", fa.Vocabulary, fb.Vocabulary},
		{"token at the beginning", []any{fa.AddBOS, fa.BOS}, []any{fb.AddBOS, fb.BOS}},
		{"tokens at the end", fa.EOS, fb.EOS},
		{"number of tokens that are listed", fa.Depth, fb.Depth},
		{"distributions within prompts", fa.Inner, fb.Inner},
		{"description of the weights", fa.Model, fb.Model},
		{"vocabulary", fa.Pieces, fb.Pieces},
	} {
		if x, y := fmt.Sprint(c.a), fmt.Sprint(c.b); x != y {
			const most = 300
			return differ("the servers at %s and %s differ in the %s: %.*s and %.*s; several are read as one only where they have the same model, in the same way", a.base, b.base, c.what, most, a.hide(x), most, b.hide(y))
		}
	}
	return nil
}

// apart is the greatest difference, in total variation, that the same weights make on
// two machines: 4-bit kernels move single probabilities by 15 %.
const apart = 0.15

// alike compares what two servers read.
func alike(a, b *endpoint, da, db []lm.Distribution) error {
	for i := range da {
		// A token that only one of the lists has counts for as much as it has there.
		p, q := likely(da[i]), likely(db[i])
		var distance float64
		for t, x := range p {
			if y, ok := q[t]; ok {
				distance += math.Abs(x-y) / 2
			} else {
				distance += x / 2
			}
		}
		for t, y := range q {
			if _, ok := p[t]; !ok {
				distance += y / 2
			}
		}
		if distance > apart {
			return differ("the servers at %s and %s do not have the same model: after %q their distributions are %.2f apart (total variation; %.2f is the most that one model's may be)", a.base, b.base, probes[i], distance, apart)
		}
	}
	return nil
}

// likely are the most probable tokens of a distribution and their probabilities.
func likely(d lm.Distribution) map[lm.Token]float64 {
	const most = 10
	out := make(map[lm.Token]float64)
	for _, e := range top(d, most) {
		out[e.Token] = math.Exp(e.LogProb)
	}
	return out
}

// top are the k most probable tokens; the logits of a whole distribution are log-probabilities here.
func top(d lm.Distribution, k int) []lm.TokenLogProb {
	list := d.Top
	if d.Logits != nil {
		list = make([]lm.TokenLogProb, len(d.Logits))
		for t, l := range d.Logits {
			list[t] = lm.TokenLogProb{Token: lm.Token(t), LogProb: float64(l)}
		}
		slices.SortStableFunc(list, func(a, b lm.TokenLogProb) int {
			switch {
			case a.LogProb > b.LogProb:
				return -1
			case a.LogProb < b.LogProb:
				return 1
			}
			return 0
		})
	}
	return list[:min(k, len(list))]
}

// fingerprint tells models apart that servers have under one name: by what they say
// of it and by what it reads, to the second decimal. It depends on no address.
func fingerprint(name string, f facts, readings []lm.Distribution) string {
	var b bytes.Buffer
	all, err := json.Marshal(f)
	if err != nil {
		return ""
	}
	fmt.Fprintf(&b, "%q %s", name, all)
	for _, d := range readings {
		for _, e := range top(d, 5) {
			fmt.Fprintf(&b, " %d:%.2f", e.Token, e.LogProb)
		}
	}
	return fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
}

// CountError reports that a server read another number of tokens than the prefix has.
type CountError struct {
	Server       string
	Ours, Theirs int
}

func (e *CountError) Error() string {
	return fmt.Sprintf("the server at %s reads a prompt of %d tokens as %d: it was cut, or something was put in front, and the answer would be to another question; is its context long enough?", e.Server, e.Ours, e.Theirs)
}

// listError is a list of tokens that cannot be right.
type listError struct {
	server string
	err    error
}

func (e *listError) Error() string {
	return fmt.Sprintf("the server at %s gave a list of tokens that cannot be right: %v; is it the model that it says it has?", e.server, e.err)
}

func (e *listError) Unwrap() error { return e.err }

// onPrompt adds to the error of a prefix that cannot be asked about what can be done.
func onPrompt(err error) error {
	var prompt *listed.PromptError
	if errors.As(err, &prompt) {
		return fmt.Errorf("%w; use llama-server, which takes tokens, or the embedded engine (gguf:PATH)", err)
	}
	return err
}
