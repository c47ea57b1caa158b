package probct

import (
	"container/heap"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
)

// RunFolder is a run that has been written.
type RunFolder struct {
	Dir      string
	Manifest *manifest.Manifest
}

// OpenRun opens the folder of a run.
func OpenRun(dir string) (*RunFolder, error) {
	m, err := manifest.Load(filepath.Join(dir, folder.ManifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no run, or one that was interrupted: there is no %s", dir, folder.ManifestFile)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the run in %s: %w", dir, err)
	}
	if len(m.Models) == 0 {
		return nil, fmt.Errorf("opening the run in %s: its manifest names no model", dir)
	}
	return &RunFolder{dir, m}, nil
}

// Model finds a model by its name; the only one if that is "".
func (r *RunFolder) Model(name string) (manifest.Model, error) {
	var names []string
	for _, m := range r.Manifest.Models {
		if m.Name == name || name == "" && len(r.Manifest.Models) == 1 {
			return m, nil
		}
		names = append(names, m.Name)
	}
	if name == "" {
		return manifest.Model{}, fmt.Errorf("the run in %s has several models; choose one of %s", r.Dir, strings.Join(names, ", "))
	}
	return manifest.Model{}, fmt.Errorf("the run in %s has no model %q; it has %s", r.Dir, name, strings.Join(names, ", "))
}

// Rows hands over a model's rows. A file that has not as many as the manifest says is an error,
// after those that it has.
func (r *RunFolder) Rows(model string, yield func(*Measured) error) error {
	again := "modellog probct run --suite SUITE -o DIR"
	for _, m := range r.Manifest.Models {
		again += " -m " + m.Name
	}
	for _, ending := range []string{rowsJSONL, rowsParquet} {
		path := filepath.Join(r.Dir, folder.RowsFile(model, ending))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		rows := 0
		var refused error
		err := ReadRows(path, func(m *Measured) error {
			rows++
			refused = yield(m)
			return refused
		})
		if refused != nil {
			return refused
		}
		of := 0 // 0 where it is not known
		for _, c := range r.Manifest.Counts {
			if c.Model == model {
				of += c.Rows
			}
		}
		switch {
		case of == 0 || rows == of && err == nil:
			return err
		case err != nil:
			return fmt.Errorf("%w; %d of %d rows can be read. Write the file anew: run %s again", err, min(rows, of), of, again)
		}
		return fmt.Errorf("the file of rows %s has %d of %d rows; write it anew: run %s again", path, rows, of, again)
	}
	return fmt.Errorf("the run in %s has no rows of %s: there is no %s (or %s). Files of rows are large and are not shipped with the tables of a run; %s writes them",
		r.Dir, model, folder.RowsFile(model, rowsJSONL), rowsParquet, again)
}

// Blame is the event that a row's WMC answers to most: of largest |∂WMC/∂p|, the first of
// several, or -1 where none is known.
func (u *MeasuredUnder) Blame() int {
	at, most := -1, math.Inf(-1)
	for i, g := range u.Gradient {
		x := g.Interval()
		if size := math.Max(math.Abs(x.Lo), math.Abs(x.Hi)); size > most {
			at, most = i, size
		}
	}
	return at
}

// Worst returns the n measured rows with the lowest ρ under a calibration, the lowest first and
// ties by their place; of one subset, or of all if that is "". Of an interval its upper end counts.
func (r *RunFolder) Worst(model, subset string, cal calibrate.Calibration, n int) ([]*Measured, error) {
	if n < 1 {
		return nil, fmt.Errorf("the worst %d rows: at least 1 is needed", n)
	}
	h := &lowest{}
	place := 0
	var subsets []string
	measured := false
	err := r.Rows(model, func(m *Measured) error {
		if !slices.Contains(subsets, m.Subset) {
			subsets = append(subsets, m.Subset)
		}
		if subset != "" && m.Subset != subset || m.Status != StatusMeasured {
			return nil
		}
		u := m.Under(cal)
		if u == nil {
			return nil
		}
		measured = true
		rho := u.Rho.Interval().Hi
		if math.IsNaN(rho) {
			return nil
		}
		place++
		heap.Push(h, scoredRow{m, rho, place})
		if h.Len() > n {
			heap.Pop(h)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case subset != "" && !slices.Contains(subsets, subset):
		return nil, fmt.Errorf("the run in %s has no subset %q; it has %s", r.Dir, subset, strings.Join(subsets, ", "))
	case !measured:
		return nil, fmt.Errorf("the run in %s was not measured under %v", r.Dir, cal)
	}
	out := make([]*Measured, h.Len())
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = heap.Pop(h).(scoredRow).row
	}
	return out, nil
}

type scoredRow struct {
	row   *Measured
	rho   float64
	place int
}

// lowest is a heap whose root has the highest ρ, and among equals the last place.
type lowest []scoredRow

func (h lowest) Len() int { return len(h) }
func (h lowest) Less(i, j int) bool {
	if h[i].rho != h[j].rho {
		return h[i].rho > h[j].rho
	}
	return h[i].place > h[j].place
}
func (h lowest) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *lowest) Push(x any)   { *h = append(*h, x.(scoredRow)) }
func (h *lowest) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
