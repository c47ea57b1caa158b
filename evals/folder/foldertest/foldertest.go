// Package foldertest looks into the folders of runs, for tests of evaluations.
package foldertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/notebooks/published"
)

// Files are a run's files by name, with slashes, without the manifest, which has a run's times.
func Files(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == folder.ManifestFile {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Figures are the figures of a run's tables, as other programs read them.
func Figures(t testing.TB, dir string) []published.Figure {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, folder.TablesFile+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	figures, _, err := published.Read(f, "tables.csv")
	if err != nil {
		t.Fatal(err)
	}
	return figures
}
