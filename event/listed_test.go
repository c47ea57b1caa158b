package event_test

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/store/readings"
)

// lister is a server's model over the words below: it lists some tokens, and
// something else at each reading, as a server does that computes a prompt anew or
// from its cache.
type lister struct {
	info  lm.Info
	lists [][]lm.TokenLogProb
	among map[int][]lm.Token
	reads int
}

var words = []string{" a", " b", " c", " d", " e", "\n", "\n", " f"}

func (m *lister) Info() lm.Info { return m.info }
func (m *lister) Close() error  { return nil }

func (m *lister) Tokenize(_ context.Context, text string) (out []lm.Token, err error) {
	for text != "" {
		i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(text, w) })
		if i < 0 {
			return nil, fmt.Errorf("no token for %q", text)
		}
		out, text = append(out, lm.Token(i)), text[len(words[i]):]
	}
	return out, nil
}

func (m *lister) Piece(t lm.Token) []byte { return []byte(words[t]) }

func (m *lister) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	for i := range prefixes {
		if err := ctx.Err(); err != nil {
			return err
		}
		d := lm.Distribution{Top: m.lists[m.reads%len(m.lists)], Among: m.among, Vocabulary: 1000}
		m.reads++
		if err := yield(i, d); err != nil {
			return err
		}
	}
	return nil
}

func newLister() *lister {
	return &lister{
		info: lm.Info{Backend: "ollama", Digest: "0123", Precision: "server", Revision: "http://here 1", Vocabulary: 1000},
		lists: [][]lm.TokenLogProb{
			{{Token: 0, LogProb: -0.5}, {Token: 5, LogProb: -1.5}, {Token: 1, LogProb: -3}, {Token: 2, LogProb: -9999}},
			{{Token: 0, LogProb: -0.7}, {Token: 5, LogProb: -1.2}, {Token: 1, LogProb: -2.5}, {Token: 3, LogProb: -3}},
		},
		among: map[int][]lm.Token{1: {5, 6}},
	}
}

// holds says whether an interval has x in it and is no wider than a listed
// log-probability allows.
func holds(i calibrate.Interval, x float64) bool {
	return i.Contains(x) && i.Width() < 1e-4 && i.Width() > 0
}

// A server's most probable tokens come with what its printing leaves open, without
// the floors that stand for "no value", and with a mark where the name of a token
// is several tokens'.
func TestTopOfAServer(t *testing.T) {
	m := newLister()
	r := &event.Reader{Model: m, Cache: &memory{}}
	for range 2 { // from the model, and from the cache
		top, err := r.Top(t.Context(), " a b", 20)
		if err != nil {
			t.Fatal(err)
		}
		if len(top) != 3 {
			t.Fatalf("%d tokens, want 3 without the floor: %+v", len(top), top)
		}
		for i, want := range m.lists[0][:3] {
			if top[i].Token != want.Token || !holds(top[i].LogP, want.LogProb) || !slices.Equal(top[i].Among, m.among[i]) {
				t.Errorf("number %d is %+v, want %v among %v", i, top[i], want, m.among[i])
			}
		}
	}
	if top, err := r.Top(t.Context(), " a b", 1); err != nil || len(top) != 1 {
		t.Errorf("the first of them: %+v, %v", top, err)
	}
	if m.reads != 1 {
		t.Errorf("the model read %d times, want once", m.reads)
	}
}

// What is said of one prefix is of one reading, whatever is asked and when: a
// server's next reading may be another.
func TestOneReadingOfAServer(t *testing.T) {
	m := newLister()
	r := &event.Reader{Model: m, Cache: &memory{}}
	read := func(target string, cal calibrate.Calibration) event.Reading {
		t.Helper()
		got, err := r.Read(t.Context(), resolve(t, r, event.Event{Prefix: " a b", Target: target}), cal)
		if err != nil {
			t.Fatal(err)
		}
		return got[0]
	}
	first := read(" a", calibrate.Default())
	again := read(" b", calibrate.Default())
	other := read(" b", calibrate.Calibration{Method: calibrate.NucleusSize, P: 0.3})
	line := read("\n", calibrate.Default())
	floor := read(" c", calibrate.Default())
	if m.reads != 1 {
		t.Errorf("the model read %d times, want once", m.reads)
	}
	if first.C != again.C || first.Summary.Entropy != again.Summary.Entropy || !holds(first.LogP, -0.5) || !holds(again.LogP, -3) || !holds(other.LogP, -3) {
		t.Errorf("%+v, then %+v and %+v", first, again, other)
	}
	if line.LogP.Lo > -3 || !line.LogP.Contains(-1.5) {
		t.Errorf("a token that shares its name: %v", line.LogP)
	}
	if floor.LogP != floor.Summary.Unseen {
		t.Errorf("a floor: %v, want that of the unseen, %v", floor.LogP, floor.Summary.Unseen)
	}
	// Top is of that reading too.
	if top, err := r.Top(t.Context(), " a b", 3); err != nil || !holds(top[0].LogP, -0.5) || m.reads != 1 {
		t.Errorf("%+v, %v after %d readings", top, err, m.reads)
	}
}

// Whatever tells readings apart is in the key: another server, or a later version
// of it or of the tokenizer, is asked anew.
func TestCacheKey(t *testing.T) {
	cache := &memory{}
	for i, change := range []func(*lm.Info){
		func(*lm.Info) {},
		func(i *lm.Info) { i.Revision = "http://there 1" },
		func(i *lm.Info) { i.Revision = "http://here 2" },
		func(i *lm.Info) { i.Digest = "4567" },
		func(i *lm.Info) { i.Precision = "native" },
		func(i *lm.Info) { i.Backend = "openai" },
		// No part runs into the next.
		func(i *lm.Info) { i.Revision, i.Digest = `http://here 1" "01`, "23" },
	} {
		m := newLister()
		change(&m.info)
		r := &event.Reader{Model: m, Cache: cache}
		for range 2 {
			if _, err := r.Read(t.Context(), resolve(t, r, event.Event{Prefix: " a b", Target: " a"}), calibrate.Default()); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Top(t.Context(), " a b", 2); err != nil {
				t.Fatal(err)
			}
		}
		if m.reads != 1 {
			t.Errorf("change %d: the model read %d times, want once", i, m.reads)
		}
	}
}

// Rows that are damaged, or of another shape, are read anew.
func TestDamagedLists(t *testing.T) {
	cache := &memory{}
	m := newLister()
	m.lists = m.lists[:1]
	r := &event.Reader{Model: m, Cache: cache}
	steps := resolve(t, r, event.Event{Prefix: " a b", Target: " b"})
	want, err := r.Read(t.Context(), steps, calibrate.Default())
	if err != nil || len(cache.rows) != 1 {
		t.Fatalf("%d rows, %v", len(cache.rows), err)
	}
	number := func(at int, x float64) func([]byte) []byte {
		return func(b []byte) []byte {
			b = slices.Clone(b)
			for i := range 8 {
				b[8*at+i] = byte(math.Float64bits(x) >> (8 * i))
			}
			return b
		}
	}
	for i, damage := range []func([]byte) []byte{
		func(b []byte) []byte { return b[:len(b)-3] },
		func(b []byte) []byte { return b[:8] },
		func(b []byte) []byte { return append(slices.Clone(b), b...) },
		func([]byte) []byte { return nil },
		func(b []byte) []byte { return slices.Repeat([]byte{0xff}, len(b)) },
		number(0, 0), number(0, math.Inf(-1)), number(1, -1), number(1, 1e9), number(1, 0.5), number(2, 1), number(2, -700), number(3, -1), number(3, 1e18), number(3, math.Inf(1)),
	} {
		for key, row := range cache.rows {
			cache.rows[key] = damage(row)
			m.reads = 0
			got, err := r.Read(t.Context(), steps, calibrate.Default())
			if err != nil || got[0].EventP != want[0].EventP || m.reads != 1 {
				t.Errorf("damage %d: %v after %d readings, %v; want %v", i, got, m.reads, err, want[0].EventP)
			}
			cache.rows[key] = row
		}
	}
}

// A reading that is called off while another process holds the cache ends soon.
func TestInterruptionDoesNotWaitForTheCache(t *testing.T) {
	dir := t.TempDir()
	cache, err := readings.Open(t.Context(), dir, readings.Options{Warn: func(err error) { t.Log(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer cache.Close()
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	db, err := sql.Open("sqlite", "file:"+files[0]+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	busy, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Rollback()

	r := &event.Reader{Model: newLister(), Cache: cache}
	steps := resolve(t, r, event.Event{Prefix: " a b", Target: " a"}, event.Event{Prefix: " a b c", Target: " a"})
	ctx, cancel := context.WithCancel(t.Context())
	r.Progress = func(int, int) { cancel() }
	start := time.Now()
	if _, err := r.Read(ctx, steps, calibrate.Default()); err != context.Canceled {
		t.Errorf("%v, want the interruption", err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("the interruption took %v", took)
	}
}
