package preference

import (
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/table"
)

// Tables returns the tables of results.
func Tables(results []*Result, o RunOptions) ([]*table.Table, error) {
	return []*table.Table{rowsTable(results)}, nil
}

// Figures returns the figures of results.
func Figures(results []*Result, o RunOptions) ([]folder.Figure, error) { return nil, nil }
