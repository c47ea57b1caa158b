// Package folder is the folder that a run of an evaluation writes: a file of rows for
// each model, the tables in all forms, the figures, and last the manifest, without which a run has not ended.
package folder

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/renameio/v2"

	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/internal/flock"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/plots"
)

// The names of a run's files, besides those of rows.
const (
	ManifestFile = "manifest.json"
	TablesFile   = "tables" // with the ending of each form
	FiguresDir   = "figures"
)

// Figure is a drawing with the name of its file, without an ending.
type Figure struct {
	Name string
	*plots.Figure
}

// ModelName is a model's name without the folders that its file is in.
func ModelName(model string) string { return model[strings.LastIndexAny(model, `/\`)+1:] }

// RowsFile is the name of the file of a model's rows, after [ModelName].
func RowsFile(model, ending string) string {
	model = strings.TrimPrefix(ModelName(model), "gguf:")
	return "rows-" + strings.Map(func(r rune) rune {
		if strings.ContainsRune(`:*?"<>|`, r) || r <= ' ' {
			return '-'
		}
		return r
	}, model) + ending
}

// FileName makes the name of data or of a model one that a figure's file can have.
func FileName(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' {
			return unicode.ToLower(r)
		}
		return '-'
	}, name), "-.")
}

// FailureOf begins the name of an option of the manifest that says why a model could not be asked.
const FailureOf = "failure of "

// Partial is the error of a run of so many models of which some failed, nil where none did.
func Partial(dir string, models int, failures []error) error {
	err := errors.Join(failures...)
	if ended := models - len(failures); err != nil && ended > 0 {
		return fmt.Errorf("%w\n%s is of the other %d of %d models; the same command asks again", err, dir, ended, models)
	}
	return err
}

// CheckModels refuses models whose files of rows would have one name.
func CheckModels(models []string) error {
	files := map[string]string{}
	for _, name := range models {
		file := RowsFile(name, "")
		if other, ok := files[file]; ok {
			return fmt.Errorf("the rows of %s and %s would have one name, %s; measure them in two runs", other, name, file)
		}
		files[file] = name
	}
	return nil
}

// Claim makes a run's folder, or refuses one that has the manifest of a run which differs from this one in
// what the kinds name. Options that begin with one of found are what the earlier run found out, and are not compared.
// Until the claim ends no other run has the folder.
func Claim(dir string, now *manifest.Manifest, kinds []manifest.Kind, found ...string) (c *Claimed, err error) {
	undo, err := Make(dir)
	if err != nil {
		return nil, err
	}
	c = &Claimed{undo: undo}
	defer func() {
		if err != nil {
			c.End(err)
			c = nil
		}
	}()
	if c.lock, err = flock.OpenFolder(dir); err != nil {
		return c, fmt.Errorf("opening the run's folder: %w", err)
	}
	switch mine, err := c.lock.TryExclusive(); {
	case errors.Is(err, errors.ErrUnsupported): // by the file system, and then nobody has a lock
	case err != nil:
		return c, err
	case !mine:
		return c, fmt.Errorf("another run is writing %s; wait for its end, or choose another folder", dir)
	}
	then, err := finished(dir)
	if then == nil {
		return c, err
	}
	for key := range then.Options {
		if slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(key, f) }) {
			delete(then.Options, key)
		}
	}
	for _, d := range manifest.Compare(then, now) {
		if slices.Contains(kinds, d.Kind) {
			return c, another(dir, d.Text)
		}
	}
	return c, nil
}

// Claimed is a run's folder while the run lasts.
type Claimed struct {
	undo func()
	lock *flock.Lock
}

// End gives the folder up. A run that failed before it wrote anything leaves none, see [Make].
func (c *Claimed) End(err error) {
	if err != nil {
		c.undo()
	}
	if c.lock != nil {
		c.lock.Close()
	}
}

// ClaimModel refuses a folder that has the manifest of a run of other weights under a model's name, or of the same
// ones at another precision. Both show only when the model is open, after [Claim].
func ClaimModel(dir string, now lm.Info) error {
	then, err := finished(dir)
	if then == nil {
		return err
	}
	if d := then.OtherWeights(now); d != "" {
		return another(dir, d)
	}
	return nil
}

// finished is the manifest of the run that a folder has, nil where it has none.
func finished(dir string) (*manifest.Manifest, error) {
	m, err := manifest.Load(filepath.Join(dir, ManifestFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("the run's folder has a manifest that cannot be read, choose another folder: %w", err)
	}
	return m, nil
}

func another(dir, difference string) error {
	return fmt.Errorf("%s has a run of something else (%s); choose another folder for this one", dir, difference)
}

// Make makes a run's folder with those that it is in. The function that it returns takes away
// again what it has made, as far as nothing is in it, which is for runs that fail before they write.
func Make(dir string) (undo func(), err error) {
	var made []string // the innermost first
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the run's folder: %w", err)
	}
	return func() {
		for _, at := range made {
			if os.Remove(at) != nil { // it has something
				return
			}
		}
	}, nil
}

// Write writes a run's tables, in all forms, and its figures.
func Write(dir string, tables []*table.Table, figures []Figure) error {
	for _, f := range []table.Format{table.PlainText, table.CSV, table.Markdown, table.LaTeX} {
		var b bytes.Buffer
		if err := table.Write(&b, f, table.Style{Width: 120}, tables...); err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(dir, TablesFile+f.Extension()), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return WriteFigures(dir, figures)
}

// WriteFigures writes a run's figures alone.
func WriteFigures(dir string, figures []Figure) error {
	if err := os.MkdirAll(filepath.Join(dir, FiguresDir), 0o755); err != nil {
		return err
	}
	for _, f := range figures {
		svg, err := f.SVG()
		if err != nil {
			return err
		}
		if err := renameio.WriteFile(filepath.Join(dir, FiguresDir, f.Name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}
