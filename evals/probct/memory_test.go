package probct_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/probct"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/store/readings"
)

// heap is the most memory in use that was seen, of the many times that it is looked at.
type heap struct {
	every, n int
	most     uint64
}

func (h *heap) look() {
	if h.n++; h.n%h.every != 0 {
		return
	}
	runtime.GC()
	runtime.GC() // what a sync.Pool holds, as those of Parquet's writer do, outlives the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	h.most = max(h.most, m.HeapAlloc)
}

// watched is a model that looks at the memory while it is read.
type watched struct {
	*modeltest.Bigram
	heap *heap
}

func (w watched) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	return w.Bigram.Read(ctx, prefixes, func(i int, d lm.Distribution) error {
		w.heap.look()
		return yield(i, d)
	})
}

// atScale has TestMemory hold as many events as a session does by itself, which takes some minutes.
const atScale = "MODELLOG_TEST_MEMORY"

// More rows need no more memory: not where their file is read, not for the events that wait for the
// model, not in the cache of readings on disk, and not where rows are written. Each row has two prefixes that no other
// has, and there are several times as many as are held at a time. A real model would take hours for so many, so that
// a small one, counted from a text, answers; all else is as in a run.
func TestMemory(t *testing.T) {
	hold, few, many := 2000, 1100, 5500
	if os.Getenv(atScale) != "" {
		hold, few, many = 0, 110_000, 275_000 // of lang's own 200,000
	}
	measure := func(rows int) uint64 {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "suite.logic"), "denied(x, not_x, y) = M(x, y) xor M(not_x, y)\n")
		f, err := os.Create(filepath.Join(dir, "denied.csv"))
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		fmt.Fprintln(w, "x,not_x,y")
		for i := range rows {
			fmt.Fprintf(w, "%06d is a,%06d is not a,%s\n", i, i, []string{"dog", "mammal", "bird"}[i%3])
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}

		cache, err := readings.Open(t.Context(), t.TempDir(), readings.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer cache.Close()
		h := &heap{every: few / 5}
		model := watched{modeltest.NewBigram(modeltest.Corpus, 0), h}
		s := lang.New(lang.Options{
			Model: "counted", Cache: cache, Hold: hold,
			Open: func(context.Context, string) (lm.Model, error) { return model, nil },
		})
		defer s.Close()
		out, err := probct.CreateRows(filepath.Join(t.TempDir(), "rows.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		o := probct.Options{Calibrations: []calibrate.Calibration{calibrate.Default()}}
		r, err := probct.Measure(t.Context(), s, load(t, dir), o, func(m *probct.Measured) error {
			h.look()
			return out.Write(m)
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
		if r.Subsets[0].Scored != rows || model.Reads != 2*rows {
			t.Errorf("of %d rows %d were measured, with %d readings", rows, r.Subsets[0].Scored, model.Reads)
		}
		return h.most
	}
	measure(few) // what is made once is there
	a, b := measure(few), measure(many)
	t.Logf("at most %d KB for %d rows and %d KB for %d", a>>10, few, b>>10, many)
	if b > a+a/20+64<<10 {
		t.Errorf("at most %d KB for %d rows and %d KB for %d", a>>10, few, b>>10, many)
	}
}

// Nor do events without a model, of which there can be many more, in all forms of a file of rows.
func TestMemoryWithoutModel(t *testing.T) {
	for _, name := range []string{"rows.jsonl", "rows.parquet"} {
		measure := func(rows int) uint64 {
			out, err := probct.CreateRows(filepath.Join(t.TempDir(), name))
			if err != nil {
				t.Fatal(err)
			}
			h := &heap{every: 2000}
			o := probct.Options{Calibrations: []calibrate.Calibration{calibrate.Default()}}
			if _, err := probct.Measure(t.Context(), lang.New(lang.Options{}), load(t, coins(t, rows)), o, func(m *probct.Measured) error {
				h.look()
				return out.Write(m)
			}); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			return h.most
		}
		// A file of two subsets has twice as many rows. Parquet's are held until there are 10,000.
		few, many := measure(6000), measure(40_000)
		t.Logf("%s: at most %d KB for 12,000 rows and %d KB for 80,000", name, few>>10, many>>10)
		if many > few+few/4+1<<20 {
			t.Errorf("%s: at most %d KB for 12,000 rows and %d KB for 80,000", name, few>>10, many>>10)
		}
	}
}
