package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
)

// What a server tells is what its model says.
func TestReadings(t *testing.T) {
	truth := modeltest.NewBigram(corpus, 0)
	for name, test := range map[string]struct {
		native bool
		most   int
		o      Options
		depth  int // 0 for the whole vocabulary
	}{
		"llama-server":             {native: true},
		"llama-server, 7 tokens":   {native: true, o: Options{Depth: 7}, depth: 7},
		"vLLM":                     {most: 20, depth: 20},
		"vLLM, 3 tokens":           {most: 3, depth: 3},
		"vLLM, 20 of 100 tokens":   {most: 100, o: Options{Depth: 20}, depth: 20},
		"vLLM, max-logprobs 150":   {most: 150, depth: 150},
		"vLLM, whole vocabulary":   {most: -1},
		"vLLM, one request a time": {most: 20, depth: 20, o: Options{Parallel: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, test.native, test.most)
			m := reader(t, s.URL, test.o)
			i := m.Info()
			listed := test.depth
			if listed == 0 {
				listed = len(truth.Pieces)
			}
			if i.Backend != "openai" || i.Name != "m" || i.Vocabulary != len(truth.Pieces) || !i.AddBOS || i.BOS != 0 || i.Context != 63 || i.Whole != (test.depth == 0) || m.Listed() != listed || len(i.Digest) != 64 || strings.Contains(i.Revision, s.URL) {
				t.Errorf("%+v, %d tokens listed", i, m.Listed())
			}
			prefixes := prefixesOf(t, m)
			for k, d := range readAll(t, m, prefixes) {
				last := prefixes[k][len(prefixes[k])-1]
				if test.depth == 0 {
					for token, l := range d.Logits {
						if want := math.Log(truth.Next(last, lm.Token(token))); math.Abs(float64(l)-want) > 1e-6 {
							t.Fatalf("%q: token %d has %v, want %v", sentences[k], token, l, want)
						}
					}
					continue
				}
				if len(d.Top) != test.depth || d.Logits != nil || d.Vocabulary != len(truth.Pieces) {
					t.Fatalf("%q: %d tokens, %d logits", sentences[k], len(d.Top), len(d.Logits))
				}
				for n, e := range d.Top {
					if want := math.Log(truth.Next(last, e.Token)); math.Abs(e.LogProb-want) > 1e-9 {
						t.Fatalf("%q: token %d has %v, want %v", sentences[k], e.Token, e.LogProb, want)
					}
					if n > 0 && e.LogProb > d.Top[n-1].LogProb {
						t.Fatalf("%q ascends", sentences[k])
					}
				}
				for token := range truth.Pieces {
					if !slices.ContainsFunc(d.Top, func(e lm.TokenLogProb) bool { return int(e.Token) == token }) && math.Log(truth.Next(last, lm.Token(token))) > d.Top[len(d.Top)-1].LogProb+1e-9 {
						t.Fatalf("%q: token %d is not listed, and more probable than the last that is", sentences[k], token)
					}
				}
			}
			for _, text := range []string{"a robin", "naïve", "\n é"} {
				ids, err := m.Tokenize(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				var all []byte
				for _, id := range ids {
					all = append(all, m.Piece(id)...)
				}
				if string(all) != text {
					t.Errorf("the pieces of %q are %q", text, all)
				}
			}
			if m.Piece(-1) != nil || m.Piece(lm.Token(len(truth.Pieces))) != nil || string(m.Piece(truth.IDs[" mat"])) != " mat" || string(m.Piece(0)) != "<bos>" {
				t.Errorf("pieces %q, %q", m.Piece(truth.IDs[" mat"]), m.Piece(0))
			}
		})
	}
}

// The intervals of truncated answers hold what the whole distribution says.
func TestIntervals(t *testing.T) {
	m := reader(t, newStandIn(t, false, 5).URL, Options{})
	wide, exact := &event.Reader{Model: m}, &event.Reader{Model: modeltest.NewBigram(corpus, 0)}
	var events []event.Event
	for _, e := range [][2]string{{"a robin is", "an"}, {"a robin is", "the"}, {"a", "cat"}, {"a", "mat"}, {"the cat", "sat on the mat"}, {"a", "zebra"}} {
		events = append(events, event.Event{Prefix: e[0], Target: e[1]})
	}
	steps := func(r *event.Reader) (out []event.Step) {
		resolved, err := r.Resolve(t.Context(), events)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range resolved {
			out = append(out, r.Steps...)
		}
		return out
	}
	for _, cal := range []calibrate.Calibration{{Method: calibrate.Raw}, {Method: calibrate.NucleusEntropy, P: 0.95}, {Method: calibrate.Entropy}, {Method: calibrate.NucleusSize, P: 0.8}} {
		a, err := wide.Read(t.Context(), steps(wide), cal)
		if err != nil {
			t.Fatal(err)
		}
		b, err := exact.Read(t.Context(), steps(exact), cal)
		if err != nil {
			t.Fatal(err)
		}
		intervals := 0
		for i := range a {
			const slack = 1e-5
			if a[i].EventP.Lo > b[i].EventP.Lo+slack || a[i].EventP.Hi < b[i].EventP.Hi-slack || a[i].C.Lo > b[i].C.Lo+slack || a[i].C.Hi < b[i].C.Hi-slack {
				t.Errorf("%v, step %d: %v is not within %v", cal, i, b[i].EventP, a[i].EventP)
			}
			if a[i].LogP.Width() > 1e-3 {
				intervals++
			}
		}
		if len(a) < 10 || intervals == 0 {
			t.Errorf("%v: %d steps, %d of them intervals", cal, len(a), intervals)
		}
	}
}

// Prefixes that are beginnings of one another are one request of vLLM's.
func TestChains(t *testing.T) {
	s := newStandIn(t, false, 4)
	m := reader(t, s.URL, Options{})
	text, err := m.Tokenize(t.Context(), "the cat sat on the mat. zebra")
	if err != nil {
		t.Fatal(err)
	}
	text = append([]lm.Token{0}, text...)
	var prefixes [][]lm.Token
	for n := range text {
		prefixes = append(prefixes, text[:n+1])
	}
	slices.Reverse(prefixes)
	prefixes = append(prefixes, slices.Clone(prefixes[0]), []lm.Token{0, 70})
	before := s.asked.Load()
	together := readAll(t, m, prefixes)
	if n := s.asked.Load() - before; n != 3 {
		t.Errorf("%d requests, want 3: one for all beginnings, one for what was asked for twice, one for the other", n)
	}
	for i, prefix := range prefixes {
		alone := readAll(t, m, [][]lm.Token{prefix})[0]
		if !slices.Equal(alone.Top, together[i].Top) || len(alone.Top) != 4 {
			t.Errorf("prefix %d: %v alone, and %v within another", i, alone.Top, together[i].Top)
		}
	}
	// Where lists are whole each prefix is asked about.
	whole := newStandIn(t, false, -1)
	m = reader(t, whole.URL, Options{})
	before = whole.asked.Load()
	readAll(t, m, prefixes[:4])
	if n := whole.asked.Load() - before; n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

// Text that looks like a control token is not asked about where the server would take it for one.
func TestControlTokens(t *testing.T) {
	m := reader(t, newStandIn(t, false, 5).URL, Options{})
	if ids, err := m.Tokenize(t.Context(), "a <bos>"); err == nil || !strings.Contains(err.Error(), "<bos>") || !strings.Contains(err.Error(), "llama-server") {
		t.Errorf("%v, %v", ids, err)
	}
	if ids, err := m.Tokenize(t.Context(), "a \xff"); err == nil || !strings.Contains(err.Error(), "UTF-8") {
		t.Errorf("%v, %v", ids, err)
	}
	if ids, err := m.Tokenize(t.Context(), ""); err != nil || len(ids) != 0 {
		t.Errorf("%v, %v", ids, err)
	}
}

// What cannot be asked is said before anything is.
func TestPrefixes(t *testing.T) {
	for _, native := range []bool{false, true} {
		s := newStandIn(t, native, 20)
		m := reader(t, s.URL, Options{})
		before := s.asked.Load()
		for _, bad := range [][]lm.Token{{}, {-1}, {0, 1 << 30}, slices.Repeat([]lm.Token{1}, 64)} {
			err := m.Read(t.Context(), [][]lm.Token{{0, 70}, bad}, func(int, lm.Distribution) error { return nil })
			if err == nil {
				t.Errorf("%v was read", bad)
			}
		}
		if s.asked.Load() != before {
			t.Error("the server was asked")
		}
		if err := m.Read(t.Context(), nil, nil); err != nil {
			t.Error(err)
		}
		failed := errors.New("enough")
		if err := m.Read(t.Context(), slices.Repeat([][]lm.Token{{0, 70}}, 20), func(int, lm.Distribution) error { return failed }); err != failed {
			t.Errorf("yield's error came back as %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if err := m.Read(ctx, slices.Repeat([][]lm.Token{{0, 70}}, 20), func(int, lm.Distribution) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("an interruption came back as %v", err)
		}
		m.Close()
		if err := m.Read(t.Context(), [][]lm.Token{{0}}, nil); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("a closed model: %v", err)
		}
	}
}

// A server that is asked for nothing but the protocol's own fields.
func TestPlainReadings(t *testing.T) {
	s := newStandIn(t, false, 20)
	s.plain = true
	m := reader(t, s.URL, Options{})
	if d := readAll(t, m, [][]lm.Token{{0, 70}})[0]; len(d.Top) != 20 {
		t.Errorf("%+v", d)
	}
}

// What modellog serve tells of a model is used: its weights' digest makes another model of another.
func TestOwnServer(t *testing.T) {
	var digests []string
	for _, weights := range []string{"01", "02", "01"} {
		s := newStandIn(t, false, -1)
		s.own, s.noSize, s.weights = true, true, weights
		m := reader(t, s.URL, Options{})
		if i := m.Info(); i.Vocabulary != len(s.model.Pieces) || !i.Whole || i.Revision != "modellog serve 0.32.0" {
			t.Errorf("%+v", i)
		}
		readAll(t, m, [][]lm.Token{{0, 70}})
		digests = append(digests, m.Info().Digest)
	}
	if digests[0] == digests[1] || digests[0] != digests[2] {
		t.Errorf("the digests are %q", digests)
	}
	s := newStandIn(t, false, 20)
	s.own = true
	if m := reader(t, s.URL, Options{}); m.Info().Whole || m.Listed() != 20 || m.Info().Vocabulary != len(s.model.Pieces) {
		t.Errorf("%+v", m.Info())
	}
	if got := plain(`bytes:\xe2\x96`); string(got) != "\xe2\x96" {
		t.Errorf("%q", got)
	}
	if got := plain(`bytes:\xzz`); string(got) != `bytes:\xzz` {
		t.Errorf("%q", got)
	}
}

// What a server cannot be asked, and what then.
func TestUnreadable(t *testing.T) {
	s := newStandIn(t, false, 20)
	s.noSize = true
	m, err := Open(t.Context(), s.URL, "m", quick(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Readable(); err == nil || !strings.Contains(err.Error(), "n_vocab") {
		t.Errorf("a vocabulary of unknown size: %v", err)
	}
	writes := liar(t, func(w http.ResponseWriter, _ *http.Request) { say(w, "application/json", `{"choices":[{"text":"x"}]}`) })
	m, err = Open(t.Context(), writes, "m", quick(Options{}))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Tokenize(t.Context(), "a")
	if !errors.Is(err, ErrNoReadings) || !errors.Is(m.Readable(), ErrNoReadings) || m.Info().Digest != "" || m.Info().Whole {
		t.Errorf("%v, %+v", err, m.Info())
	}
	if m.Piece(1) != nil {
		t.Error("it has pieces")
	}
}

// Lies in place of readings: each is one error that names the server and not the key, or is borne.
func TestLyingReadings(t *testing.T) {
	const secret = "sk-0123456789-abcdefghij"
	t.Setenv("MODELLOG_OPENAI_KEY", secret)
	reply := func(body string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { say(w, "application/json", body) }
	}
	byID := func(list string) func(http.ResponseWriter, *http.Request) {
		return reply(`{"choices":[{"logprobs":{"tokens":["token_id:1"],"top_logprobs":[{` + list + `}]}}],"usage":{"prompt_tokens":2}}`)
	}
	native := func(list string) func(http.ResponseWriter, *http.Request) {
		return reply(`{"tokens_evaluated":2,"truncated":false,"completion_probabilities":[{"top_logprobs":[` + list + `]}]}`)
	}
	for name, test := range map[string]struct {
		native bool
		answer func(w http.ResponseWriter, r *http.Request)
		want   string // "" where it is borne
	}{
		"truncated JSON":     {false, reply(`{"choices":[{"logpr`), "not what was asked for"},
		"no JSON":            {true, reply("ok " + secret), "not what was asked for"},
		"wrong content type": {false, func(w http.ResponseWriter, _ *http.Request) { say(w, "text/html", "<h1>router "+secret+"</h1>") }, "router"},
		"500":                {true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); io.WriteString(w, "boom "+secret) }, "boom"},
		"400":                {false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400); io.WriteString(w, `{"detail":"no"}`) }, "refused"},
		"401":                {true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401); io.WriteString(w, "not "+secret) }, "MODELLOG_OPENAI_KEY"},
		"429":                {true, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, "too many requests"},
		"redirection": {false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(307)
		}, "307"},
		"closed socket": {true, func(w http.ResponseWriter, _ *http.Request) { hijack(t, w) }, "is it running"},
		"cut short": {false, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "99")
			io.WriteString(w, "{")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "connection"},
		"slow":         {true, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not answer in"},
		"drop by drop": {false, drip, "more than"},
		"huge": {true, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.Copy(w, io.LimitReader(spaces{}, 64<<20))
		}, "MB"},
		"huge, of any length": {false, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.Copy(w, io.LimitReader(spaces{}, 64<<20))
		}, "MB"},
		"deep":               {false, reply(strings.Repeat("[", 100000)), "not what was asked for"},
		"NaN":                {false, byID(`"token_id:1":NaN`), "not what was asked for"},
		"Infinity":           {true, native(`{"id":1,"logprob":-Infinity}`), "not what was asked for"},
		"too large a number": {true, native(`{"id":1,"logprob":-1e999}`), "not what was asked for"},
		"above 0":            {false, byID(`"token_id:1":0.5,"token_id:2":-3`), "cannot exceed 1"},
		"above 1 together":   {true, native(`{"id":1,"logprob":-0.1},{"id":2,"logprob":-0.2}`), "sum to"},
		"null":               {true, native(`{"id":1,"logprob":null}`), "without a log-probability"},
		"null by id":         {false, byID(`"token_id:1":null`), "without a log-probability"},
		"no log-probability": {true, native(`{"id":1}`), "without a log-probability"},
		"text for a number":  {false, byID(`"token_id:1":"-1"`), "log-probability"},
		"a token twice":      {true, native(`{"id":1,"logprob":-1},{"id":1,"logprob":-2}`), "twice"},
		"a name twice":       {false, byID(`"token_id:1":-1,"token_id:1":-2`), "twice"},
		"two names of one":   {false, byID(`"token_id:1":-1,"1":-2`), "twice"},
		"no such token":      {true, native(`{"id":99999,"logprob":-1}`), "99999"},
		"a negative token":   {true, native(`{"id":-1,"logprob":-1}`), "-1"},
		"a token's text":     {false, byID(`" robin":-1`), "not by its id"},
		"an id too large":    {false, byID(`"token_id:4294967297":-1`), "not by its id"},
		"none":               {false, byID(``), "lists no token"},
		"no list":            {true, native(``), "no log-probabilities"},
		"no choices":         {false, reply(`{"choices":[]}`), "without log-probabilities"},
		"two choices":        {false, reply(`{"choices":[{},{}]}`), "without log-probabilities"},
		"another shape":      {false, reply(`{"choices":[{"logprobs":{"top_logprobs":[[1]]}}]}`), "not what was asked for"},
		"another prompt":     {false, reply(`{"choices":[{"logprobs":{"top_logprobs":[{"token_id:1":-1}]}}],"usage":{"prompt_tokens":3}}`), "a prompt of 2 tokens as 3"},
		"a shorter prompt":   {true, reply(`{"tokens_evaluated":1,"completion_probabilities":[{"top_logprobs":[{"id":1,"logprob":-1}]}]}`), "a prompt of 2 tokens as 1"},
		"unsorted":           {true, native(`{"id":1,"logprob":-3},{"id":2,"logprob":-1},{"id":3,"logprob":-2}`), ""},
		"rounded up":         {false, byID(`"token_id:1":0.00001`), ""},
		"floors":             {false, byID(`"token_id:1":-1,"token_id:2":-9999`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStandIn(t, test.native, 20)
			m := reader(t, s.URL, Options{Retries: 1, Timeout: time.Second})
			s.before = func(w http.ResponseWriter, r *http.Request) bool { test.answer(w, r); return true }
			var got lm.Distribution
			err := m.Read(t.Context(), [][]lm.Token{{0, 70}}, func(_ int, d lm.Distribution) error { got = d; return nil })
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want == "" && (len(got.Top) == 0 || !slices.IsSortedFunc(got.Top, func(a, b lm.TokenLogProb) int {
				if a.LogProb < b.LogProb {
					return 1
				}
				return -1
			}) || got.Top[0].LogProb > 0):
				t.Errorf("%+v", got)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), s.URL)):
				t.Errorf("%v; want an error with %q and %s", err, test.want, s.URL)
			case err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), secret[:8]) || len(err.Error()) > 900):
				t.Errorf("%v", err)
			}
			if _, ok := s.keys.Load("Bearer " + secret); !ok {
				t.Error("the key was not sent")
			}
		})
	}
}

// drip sends a byte at a time: it is not late, but does not end, either.
func drip(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	part := bytes.Repeat([]byte(" "), 1<<20)
	for range 64 {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Millisecond):
		}
		if _, err := w.Write(part); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func hijack(t testing.TB, w http.ResponseWriter) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	c.Close()
}

// A server that falters is asked again, and not before it says.
func TestReadingsAfterFailures(t *testing.T) {
	s := newStandIn(t, true, 0)
	m := reader(t, s.URL, Options{})
	want := readAll(t, m, [][]lm.Token{{0, 70}})[0]
	for name, header := range map[string]string{"seconds": "1", "a date": time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat)} {
		failures := 0
		s.before = func(w http.ResponseWriter, _ *http.Request) bool {
			if failures++; failures > 1 {
				return false
			}
			w.Header().Set("Retry-After", header)
			w.WriteHeader(429)
			return true
		}
		begin := time.Now()
		got := readAll(t, m, [][]lm.Token{{0, 70}})[0]
		if took := time.Since(begin); took < 800*time.Millisecond || took > 6*time.Second || !slices.Equal(got.Logits, want.Logits) {
			t.Errorf("%s: it came back after %v", name, took)
		}
	}
}

// Whatever is sent is an error or a distribution that can be one.
func FuzzReading(f *testing.F) {
	for _, s := range []string{
		`{"choices":[{"logprobs":{"tokens":["token_id:1"],"top_logprobs":[{"token_id:1":-1,"token_id:2":-2}]}}],"usage":{"prompt_tokens":2}}`,
		`{"choices":[{"logprobs":{"top_logprobs":[{"token_id:1":-1}]},"prompt_logprobs":[null,{"3":{"logprob":-0.1,"rank":1},"4":{"logprob":-9,"rank":99}}]}]}`,
		`{"tokens_evaluated":2,"completion_probabilities":[{"top_logprobs":[{"id":0,"logprob":-0.7},{"id":1,"logprob":-0.7}]}]}`,
		`{"choices":[{"logprobs":{"top_logprobs":[{"token_id:1":{"logprob":null}}]}}]}`,
		`{"choices":[{"logprobs":{"top_logprobs":[{"a":1,"a":[]}]}}]}`, `{"choices":null}`, `[]`, `{"choices":[{"prompt_logprobs":[[]]}]}`,
	} {
		f.Add([]byte(s), uint8(2))
	}
	f.Fuzz(func(t *testing.T, body []byte, size uint8) {
		vocabulary := int(size%5) + 1
		for _, d := range []dialect{
			&byID{size: vocabulary, depth: 2, name: "m"}, &byID{size: vocabulary, depth: -1}, &native{size: vocabulary, depth: vocabulary},
		} {
			e := &endpoint{options: Options{}.defaults(), client: &http.Client{Transport: always(body)}}
			e.options.Retries = -1
			e.base, _ = parse("http://localhost/v1")
			for _, chain := range [][][]lm.Token{{{0, 1}}, {{0}, {0, 1}}} {
				if _, ok := d.(*native); ok && len(chain) > 1 {
					continue
				}
				ds, err := d.read(t.Context(), e, chain)
				if err != nil {
					continue
				}
				for _, d := range ds {
					check(t, d, vocabulary)
				}
			}
		}
	})
}

type always []byte

func (a always) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a)), Request: r}, nil
}

// check says whether a distribution can be one.
func check(t *testing.T, d lm.Distribution, vocabulary int) {
	t.Helper()
	var sum float64
	if d.Logits != nil {
		for _, l := range d.Logits {
			sum += math.Exp(float64(l))
		}
		if len(d.Logits) != vocabulary || !(math.Abs(sum-1) < 2e-3) {
			t.Fatalf("%d of %d logits that sum to %v", len(d.Logits), vocabulary, sum)
		}
		return
	}
	seen := map[lm.Token]bool{}
	for i, e := range d.Top {
		if e.Token < 0 || int(e.Token) >= vocabulary || seen[e.Token] || !(e.LogProb <= 0) || i > 0 && e.LogProb > d.Top[i-1].LogProb {
			t.Fatalf("entry %d of %+v", i, d.Top)
		}
		seen[e.Token] = true
		sum += math.Exp(e.LogProb)
	}
	if len(d.Top) == 0 || sum > 1.001 {
		t.Fatal(fmt.Sprint(d.Top, sum))
	}
}
