package preference

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/modellog/modellog/evals/folder"
)

// WriteTables writes the tables, in all forms, and the figures of results of several runs into a folder, which is made. A
// folder that has a run is an error: its own tables are there.
func WriteTables(results []*Result, o RunOptions, dir string) error {
	if _, err := os.Stat(filepath.Join(dir, folder.ManifestFile)); err == nil {
		return fmt.Errorf("%s has a run, whose tables are there; choose another folder", dir)
	}
	undo, err := folder.Make(dir)
	if err != nil {
		return err
	}
	if _, err = writeRun(results, o, dir); err != nil {
		undo()
		return fmt.Errorf("writing tables and figures into %s: %w", dir, err)
	}
	return nil
}

// writeRun writes the tables and then the figures of results into a folder, and reports whether it came as far as the
// figures.
func writeRun(results []*Result, o RunOptions, dir string) (tabled bool, err error) {
	tables, err := Tables(results, o)
	if err != nil {
		return false, fmt.Errorf("the tables: %w", err)
	}
	if err := folder.Write(dir, tables, nil); err != nil {
		return false, err
	}
	figures, err := Figures(results, o)
	if err != nil {
		return true, fmt.Errorf("the figures: %w", err)
	}
	return true, folder.WriteFigures(dir, figures)
}
