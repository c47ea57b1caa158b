package readings_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/lm/store/readings"
)

// warnings collects what a cache warns of.
type warnings struct {
	mu  sync.Mutex
	all []error
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, err)
}

// one fails the test unless there was one warning, with all these words.
func (w *warnings) one(t *testing.T, words ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) != 1 {
		t.Fatalf("%d warnings, want one: %v", len(w.all), w.all)
	}
	for _, word := range words {
		if !strings.Contains(w.all[0].Error(), word) {
			t.Errorf("the warning has no %q: %v", word, w.all[0])
		}
	}
}

func (w *warnings) none(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.all) > 0 {
		t.Fatalf("warnings: %v", w.all)
	}
}

func open(t testing.TB, dir string, o readings.Options) *readings.Cache {
	t.Helper()
	c, err := readings.Open(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func put(t testing.TB, c *readings.Cache, values map[string][]byte) {
	t.Helper()
	if err := c.PutMany(context.Background(), values); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, c *readings.Cache, keys ...string) map[string][]byte {
	t.Helper()
	values, err := c.GetMany(context.Background(), keys)
	if err != nil {
		t.Fatal(err)
	}
	return values
}

func stats(t testing.TB, c *readings.Cache) readings.Stats {
	t.Helper()
	s, err := c.Stats(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sample is n keys whose values follow from them.
func sample(from, n int) map[string][]byte {
	values := make(map[string][]byte, n)
	for i := from; i < from+n; i++ {
		key, value := row(i)
		values[key] = value
	}
	return values
}

func row(i int) (string, []byte) {
	key := fmt.Sprintf("sha256:%064x exact tokens=%d question=next", i, i*i)
	return key, bytes.Repeat([]byte(fmt.Sprintf("<%d>", i)), 1+i%20)
}

func TestValuesComeBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	var w warnings
	c := open(t, dir, readings.Options{Warn: w.add})
	values := sample(0, 3000)
	values[""] = []byte("of the empty key")
	values["empty value"] = []byte{}
	values["nil value"] = nil
	values["NUL \x00 and \xff\xfe, no UTF-8"] = []byte{0, 1, 255}
	values[strings.Repeat("long key ", 100_000)] = []byte("x")
	values["long value"] = bytes.Repeat([]byte{7}, readings.MaxValue)
	put(t, c, values)

	want := maps.Clone(values)
	want["nil value"] = []byte{}
	keys := append(slices.Collect(maps.Keys(values)), "never put", "sha256:")
	if got := get(t, c, keys...); !maps.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%d values came back of %d", len(got), len(want))
	}
	s := stats(t, c)
	if s.Hits != int64(len(want)) || s.Misses != 2 || s.Rows != int64(len(want)) || s.Written != s.Rows || !s.On || !s.Writable || s.Rejected != 0 {
		t.Errorf("stats %+v", s)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}

	again := open(t, dir, readings.Options{Warn: w.add})
	if got := get(t, again, keys...); !maps.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("opened again: %d values came back of %d", len(got), len(want))
	}
	if v, ok := again.Get(context.Background(), "never put"); ok {
		t.Errorf("a key that was never put has the value %q", v)
	}
	w.none(t)
}

func TestAgainstMap(t *testing.T) {
	dirs := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		dir := filepath.Join(dirs, fmt.Sprint(n))
		var w warnings
		c := open(t, dir, readings.Options{Warn: w.add})
		defer func() { c.Close() }()
		model := make(map[string][]byte)
		// Few and short keys, so that rows are replaced.
		key := rapid.StringMatching(`[ab]{0,3}`)
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				values := rapid.MapOf(key, rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(rt, "values")
				put(t, c, values)
				maps.Copy(model, values)
			},
			"reopen": func(rt *rapid.T) {
				if err := c.Close(); err != nil {
					rt.Fatal(err)
				}
				c = open(t, dir, readings.Options{Warn: w.add})
			},
			"": func(rt *rapid.T) {
				keys := rapid.SliceOf(key).Draw(rt, "keys")
				want := make(map[string][]byte)
				for _, k := range keys {
					if v, ok := model[k]; ok {
						want[k] = v
					}
				}
				if got := get(t, c, keys...); !maps.EqualFunc(got, want, bytes.Equal) {
					rt.Fatalf("got %v, want %v", got, want)
				}
			},
		})
		w.none(t)
	})
}

func TestOddFolders(t *testing.T) {
	for _, name := range []string{"a b", "100%", "what?mode=memory", "a#b", "%3F", "päd", "file:x", "'q'"} {
		dir := filepath.Join(t.TempDir(), name)
		var w warnings
		c := open(t, dir, readings.Options{Warn: w.add})
		put(t, c, sample(0, 10))
		c.Close()
		if _, err := os.Stat(filepath.Join(dir, "readings.db")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
		if got := get(t, open(t, dir, readings.Options{Warn: w.add}), slices.Collect(maps.Keys(sample(0, 10)))...); len(got) != 10 {
			t.Errorf("%q: %d values of 10", name, len(got))
		}
		w.none(t)
	}
}

func TestManyGoroutines(t *testing.T) {
	var w warnings
	c := open(t, t.TempDir(), readings.Options{Warn: w.add})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 20 {
				values := sample(g*1000+i*10, 10)
				if err := c.PutMany(context.Background(), values); err != nil {
					t.Error(err)
				}
				got, err := c.GetMany(context.Background(), slices.Collect(maps.Keys(values)))
				if err != nil || !maps.EqualFunc(got, values, bytes.Equal) {
					t.Errorf("%d of %d values: %v", len(got), len(values), err)
				}
			}
		})
	}
	wg.Wait()
	if s := stats(t, c); s.Rows != 1600 {
		t.Errorf("%d rows, want 1600", s.Rows)
	}
	w.none(t)
}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := open(t, t.TempDir(), readings.Options{})
	cancel()
	if _, err := c.GetMany(ctx, []string{"k"}); !errors.Is(err, context.Canceled) {
		t.Errorf("GetMany: %v", err)
	}
	if err := c.PutMany(ctx, sample(0, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("PutMany: %v", err)
	}
	if _, err := readings.Open(ctx, t.TempDir(), readings.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	// The cache itself is none the worse.
	put(t, c, sample(0, 1))
	if s := stats(t, c); s.Rows != 1 || !s.Writable {
		t.Errorf("stats %+v", s)
	}
}

func TestTooLongValue(t *testing.T) {
	c := open(t, t.TempDir(), readings.Options{})
	err := c.Put(context.Background(), "k", make([]byte, readings.MaxValue+1))
	if err == nil || !strings.Contains(err.Error(), "1048577 bytes") {
		t.Errorf("error %v", err)
	}
}

func TestNilCache(t *testing.T) {
	var c *readings.Cache
	put(t, c, sample(0, 1))
	if got := get(t, c, "k"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if _, ok := c.Get(context.Background(), "k"); ok {
		t.Error("a nil cache has a value")
	}
	if s := stats(t, c); s.On {
		t.Errorf("stats %+v", s)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosedCache(t *testing.T) {
	c := open(t, t.TempDir(), readings.Options{})
	put(t, c, sample(0, 5))
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	put(t, c, sample(5, 5))
	key, _ := row(0)
	if got := get(t, c, key); len(got) != 0 {
		t.Errorf("a closed cache has %v", got)
	}
}

func TestSizeIsBounded(t *testing.T) {
	const bound = 1 << 20
	dir := t.TempDir()
	var w warnings
	c := open(t, dir, readings.Options{MaxBytes: bound, Warn: w.add})
	const batches, batch = 100, 200
	for i := range batches {
		put(t, c, sample(i*batch, batch))
		s := stats(t, c)
		if s.Bytes > bound {
			t.Fatalf("after %d rows the cache has %d bytes", (i+1)*batch, s.Bytes)
		}
		// What was put last is there.
		keys := slices.Collect(maps.Keys(sample(i*batch, batch)))
		if got := get(t, c, keys...); len(got) != batch {
			t.Fatalf("%d of the newest %d values are there", len(got), batch)
		}
	}
	s := stats(t, c)
	if s.Rows < 2000 || s.Rows >= batches*batch {
		t.Errorf("%d rows are left of %d", s.Rows, batches*batch)
	}
	// The rows that are left are the newest.
	first := batches*batch - int(s.Rows)
	if got := get(t, c, slices.Collect(maps.Keys(sample(0, first-batch)))...); len(got) != 0 {
		t.Errorf("%d old values outlived newer ones", len(got))
	}
	c.Close()
	fi, err := os.Stat(filepath.Join(dir, "readings.db"))
	if err != nil {
		t.Fatal(err)
	}
	if fi.Size() > bound+bound/2 {
		t.Errorf("the file has %d bytes", fi.Size())
	}
	w.none(t)
}

func BenchmarkGetMany(b *testing.B) {
	c := open(b, b.TempDir(), readings.Options{})
	for i := range 100 {
		put(b, c, sample(i*1000, 1000))
	}
	keys := slices.Collect(maps.Keys(sample(40_000, 600)))
	b.ResetTimer()
	for b.Loop() {
		if len(get(b, c, keys...)) != 600 {
			b.Fatal("misses")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/600, "ns/reading")
}

func BenchmarkPutMany(b *testing.B) {
	c := open(b, b.TempDir(), readings.Options{})
	n := 0
	for b.Loop() {
		put(b, c, sample(n, 600))
		n += 600
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/600, "ns/reading")
}
