package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/store/readings"
)

// many are more prefixes than servers have slots, none the beginning of another.
func many(n int) (out [][]lm.Token) {
	for i := range n {
		out = append(out, []lm.Token{0, lm.Token(1 + i%200), lm.Token(1 + i/200), 77})
	}
	return out
}

// Several servers have the result of one, also when one dies in the middle.
func TestSeveral(t *testing.T) {
	for _, native := range []bool{false, true} {
		t.Run(fmt.Sprintf("llama-server %v", native), func(t *testing.T) {
			prefixes := many(300)
			one := reader(t, newStandIn(t, native, 20).URL, Options{})
			want := readAll(t, one, prefixes)

			a, b, c := newStandIn(t, native, 20), newStandIn(t, native, 20), newStandIn(t, native, 20)
			var mu sync.Mutex
			var warnings []string
			m := reader(t, a.URL+"+"+b.URL+"/+"+c.URL+"/v1", Options{Parallel: 2, Retries: 2, Warn: func(w string) {
				mu.Lock()
				defer mu.Unlock()
				warnings = append(warnings, w)
			}})
			if m.Info().Digest != one.Info().Digest || m.Info().Revision != one.Info().Revision || m.Info().Path != a.URL+"/v1+"+b.URL+"/v1+"+c.URL+"/v1" {
				t.Errorf("%+v, and of one %+v", m.Info(), one.Info())
			}
			var dying atomic.Int32
			b.before = func(w http.ResponseWriter, _ *http.Request) bool {
				if dying.Add(1) < 20 {
					return false
				}
				hijack(t, w)
				return true
			}
			if got := readAll(t, m, prefixes); !reflect.DeepEqual(got, want) {
				t.Error("several servers, of which one died, read otherwise than one")
			}
			if len(warnings) != 1 || !strings.Contains(warnings[0], b.URL) || !strings.Contains(warnings[0], "2 of 3 left") {
				t.Errorf("the warnings are %q", warnings)
			}
			if a.asked.Load() < 50 || c.asked.Load() < 50 {
				t.Errorf("%d requests to the first, %d to the third", a.asked.Load(), c.asked.Load())
			}
			// It is not asked any more.
			before := b.asked.Load()
			readAll(t, m, prefixes[:40])
			if b.asked.Load() != before {
				t.Error("the server that was taken out is asked")
			}
			// All die: one error that names them. When they are back all is well.
			gone := func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true }
			a.answer(gone)
			c.answer(gone)
			err := m.Read(t.Context(), prefixes, func(int, lm.Distribution) error { return nil })
			var all *GoneError
			if !errors.As(err, &all) || len(all.Errors) != 3 || !strings.Contains(err.Error(), a.URL) || !strings.Contains(err.Error(), b.URL) || !strings.Contains(err.Error(), c.URL) {
				t.Errorf("%v", err)
			}
			for _, s := range []*standIn{a, b, c} {
				s.answer(nil)
			}
			if got := readAll(t, m, prefixes[:40]); !reflect.DeepEqual(got, want[:40]) {
				t.Error("after they are back")
			}
		})
	}
}

// A server that hangs is taken out, and what it was asked goes to the other.
func TestHangingServer(t *testing.T) {
	a, b := newStandIn(t, true, 0), newStandIn(t, true, 0)
	m := reader(t, a.URL+"+"+b.URL, Options{Timeout: 2 * time.Second})
	want := readAll(t, m, many(30))
	b.before = func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }
	begin := time.Now()
	if got := readAll(t, m, many(30)); !reflect.DeepEqual(got, want) {
		t.Error("read otherwise")
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// What is wrong with a request is no failure of the server.
func TestRefusal(t *testing.T) {
	a, b := newStandIn(t, true, 0), newStandIn(t, true, 0)
	m := reader(t, a.URL+"+"+b.URL, Options{})
	refuse := func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(400); return true }
	a.answer(refuse)
	b.answer(refuse)
	var status *StatusError
	if err := m.Read(t.Context(), many(1), nil); !errors.As(err, &status) || status.Status != 400 {
		t.Errorf("%v", err)
	}
	a.answer(nil)
	b.answer(nil)
	readAll(t, m, many(60))
	if a.asked.Load() < 5 || b.asked.Load() < 5 {
		t.Errorf("%d and %d requests", a.asked.Load(), b.asked.Load())
	}
}

// No server has more at a time than it should, and idle ones are used.
func TestBounded(t *testing.T) {
	a, b := newStandIn(t, true, 0), newStandIn(t, true, 0)
	m := reader(t, a.URL+"+"+b.URL, Options{Parallel: 3})
	most := [2]atomic.Int32{}
	for k, s := range []*standIn{a, b} {
		var now atomic.Int32
		s.before = func(http.ResponseWriter, *http.Request) bool {
			n := now.Add(1)
			defer now.Add(-1)
			for old := most[k].Load(); n > old && !most[k].CompareAndSwap(old, n); old = most[k].Load() {
			}
			time.Sleep(20 * time.Millisecond) // the others come meanwhile
			return false
		}
	}
	readAll(t, m, many(60))
	if most[0].Load() != 3 || most[1].Load() != 3 {
		t.Errorf("%d and %d requests at a time, want 3 and 3", most[0].Load(), most[1].Load())
	}
}

// Servers that are not of one model are not read as one.
func TestDifferent(t *testing.T) {
	a := newStandIn(t, true, 0)
	for name, test := range map[string]struct {
		other func() *standIn
		want  string
	}{
		"kind": {func() *standIn { return newStandIn(t, false, 20) }, "kind of server"},
		"vocabulary": {func() *standIn {
			s := newStandIn(t, true, 0)
			s.model = modeltest.NewBigram(corpus+" zebra", 0)
			return s
		}, "number of tokens"},
		"tokens": {func() *standIn {
			s := newStandIn(t, true, 0)
			s.model = modeltest.NewBigram(strings.ReplaceAll(corpus, "robin", "raven"), 0)
			return s
		}, "vocabulary"},
		"probabilities": {func() *standIn {
			// The same tokens in other proportions: the first probe ends in " is".
			s := newStandIn(t, true, 0)
			s.model = modeltest.NewBigram(corpus+"\n"+strings.Repeat("a is cat\n", 30), 0)
			return s
		}, "do not have the same model: after"},
	} {
		t.Run(name, func(t *testing.T) {
			b := test.other()
			m, err := Open(t.Context(), a.URL+"+"+b.URL, "", quick(Options{}))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), a.URL) || !strings.Contains(err.Error(), b.URL) {
				t.Errorf("%v, %v", m, err)
			}
		})
	}
	// The distance itself, against a sum by hand: ½(|0.6-0.3| + |0.3-0.6| + 0.1 + 0.1).
	d := func(p ...float64) []lm.Distribution {
		d := lm.Distribution{Vocabulary: 9}
		for i, x := range p {
			if x > 0 {
				d.Top = append(d.Top, lm.TokenLogProb{Token: lm.Token(i), LogProb: math.Log(x)})
			}
		}
		return []lm.Distribution{d}
	}
	e, err := newEndpoint(a.URL, Options{}.defaults())
	if err != nil {
		t.Fatal(err)
	}
	if err := alike(e, e, d(0.6, 0.3, 0.1), d(0.3, 0.6, 0, 0.1)); err == nil || !strings.Contains(err.Error(), "0.40 apart") {
		t.Errorf("%v", err)
	}
	if err := alike(e, e, d(0.6, 0.3, 0.1), d(0.5, 0.35, 0.1, 0.05)); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), a.URL+"+"+a.URL+"/v1", "", quick(Options{})); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("one server twice: %v", err)
	}
	if _, err := Open(t.Context(), a.URL+"+http://127.0.0.1:1", "", quick(Options{Retries: -1})); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// The cache has no key and no address in its keys: a reading of one server serves another that has the same model,
// and none where the model is another one.
func TestCache(t *testing.T) {
	const secret = "sk-abcdefgh-0123456789-secret"
	t.Setenv("MODELLOG_OPENAI_KEY", secret)
	dir := t.TempDir()
	cache, err := readings.Open(t.Context(), dir, readings.Options{})
	if err != nil {
		t.Fatal(err)
	}
	asked := func(s *standIn, address string) int32 {
		t.Helper()
		m := reader(t, address, Options{})
		r := &event.Reader{Model: m, Cache: cache}
		resolved, err := r.Resolve(t.Context(), []event.Event{{Prefix: "a robin is", Target: "an"}, {Prefix: "the cat", Target: "sat"}})
		if err != nil {
			t.Fatal(err)
		}
		before := s.asked.Load()
		for _, e := range resolved {
			if _, err := r.Read(t.Context(), e.Steps, calibrate.Default()); err != nil {
				t.Fatal(err)
			}
		}
		return s.asked.Load() - before
	}
	a, b, other := newStandIn(t, false, 20), newStandIn(t, false, 20), newStandIn(t, false, 20)
	other.model = modeltest.NewBigram("a robin is a zebra of the cat.\n"+corpus, 0)
	if n := asked(a, a.URL); n != 2 {
		t.Errorf("%d readings, want 2", n)
	}
	if n := asked(b, b.URL); n != 0 {
		t.Errorf("%d readings of what another server has said, want 0", n)
	}
	if n := asked(a, b.URL+"+"+a.URL); n != 0 {
		t.Errorf("%d readings of what another server has said, want 0", n)
	}
	if n := asked(other, other.URL); n != 2 {
		t.Errorf("%d readings of another model, want 2", n)
	}
	if err := cache.Close(); err != nil {
		t.Fatal(err)
	}

	// What is kept: the cache, a manifest.
	m := reader(t, a.URL+"+"+b.URL, Options{})
	run := manifest.New("test", "")
	run.AddModel(m.Info())
	run.Options = map[string]string{"models": "openai:" + m.Info().Path + "#m"}
	if err := run.Save(filepath.Join(dir, "manifest.json")); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{secret, secret[:10], "Bearer"} {
			if bytes.Contains(b, []byte(part)) {
				t.Errorf("%q is in %s", part, filepath.Base(file))
			}
		}
	}
	all, err := json.Marshal(m.Info())
	if err != nil || bytes.Contains(all, []byte(secret[:8])) {
		t.Errorf("%s, %v", all, err)
	}
	if _, ok := a.keys.Load("Bearer " + secret); !ok {
		t.Error("the key was not sent")
	}
}

// Generation goes to another server, too, until something has been handed on.
func TestSeveralWrite(t *testing.T) {
	var first, second atomic.Int32
	a := liar(t, func(w http.ResponseWriter, r *http.Request) {
		first.Add(1)
		w.WriteHeader(503)
	})
	b := liar(t, func(w http.ResponseWriter, r *http.Request) {
		second.Add(1)
		var req struct{ Stream bool }
		json.NewDecoder(r.Body).Decode(&req)
		if req.Stream {
			say(w, "text/event-stream", partOne) // ends in the middle
			return
		}
		say(w, "application/json", whole)
	})
	m, err := Open(t.Context(), a+"+"+b, "m", quick(Options{Retries: 1}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got, err := m.Generate(t.Context(), question); err != nil || got.Text != "yes" {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if first.Load() != 2 || second.Load() != 3 {
		t.Errorf("%d and %d requests, want 2 and 3", first.Load(), second.Load())
	}
	r := question
	var parts []string
	r.Stream = func(part string) error { parts = append(parts, part); return nil }
	if got, err := m.Generate(t.Context(), r); err == nil || got.Text != "ye" || !slices.Equal(parts, []string{"ye"}) || first.Load() != 2 {
		t.Errorf("%+v, %v, %q", got, err, parts)
	}
}

// A wait for a server that is busy ends when the context does.
func TestWaiting(t *testing.T) {
	s := newStandIn(t, true, 0)
	m := reader(t, s.URL, Options{Parallel: 1})
	release := make(chan struct{})
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return false
	}
	var group sync.WaitGroup
	group.Go(func() { _ = m.Read(t.Context(), many(1), func(int, lm.Distribution) error { return nil }) })
	for s.asked.Load() < 4 { // three when it was opened
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := m.Read(ctx, many(1), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	close(release)
	group.Wait()
}
