package repl

import (
	"context"
	"os"

	"github.com/modellog/modellog/internal/progress"
	"github.com/modellog/modellog/lang"
)

// Options are what a REPL needs.
type Options struct {
	Session *lang.Session
	Stdin   *os.File // os.Stdin for nil
	Stdout  *os.File // os.Stdout for nil
	Stderr  *os.File // os.Stderr for nil
	// History is the file that keeps what was typed between runs; with ""
	// nothing is kept. Its folder is made if need be.
	History string
	// Banner is the first line on a terminal; none for "".
	Banner string
	// Progress is the bar that the session's reports go to; it may be nil.
	Progress *progress.Bar
}

// Run reads statements and evaluates them until the user leaves.
func Run(ctx context.Context, o Options) error { return nil }
