// Command goimports is the goimports that GoNB runs over each cell in Go. It does what
// golang.org/x/tools/cmd/goimports does at `goimports -w FILE`, and has modellog's helpers at hand:
// where a cell uses a name of modellog's root package that nothing declares, it adds
//
//	import . "github.com/modellog/modellog"
//
// and where a cell uses none of these names, it takes that import out, as it does with unused
// imports that have a name. So the import can be written once, or never; and a cell that does not use the
// helpers is neither refused by the compiler nor linked with them.
//
// The folder of modellog's source is in the environment, see [HelpersVariable]; without it, and for
// all other arguments, this is plain goimports.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/tools/imports"
)

// HelpersVariable is the environment variable that holds the folders of modules that cells can
// import as they are, one of which may be modellog's.
const HelpersVariable = "MODELLOG_GO_WORK"

func main() {
	if len(os.Args) != 3 || os.Args[1] != "-w" {
		os.Exit(another(os.Args[1:]))
	}
	if err := rewrite(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// rewrite puts a file's imports in order.
func rewrite(file string) error {
	src, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	out := adjust(file, src, func() helpers { return findHelpers(filepath.SplitList(os.Getenv(HelpersVariable))) })
	if out, err = imports.Process(file, out, nil); err != nil {
		return err
	}
	if string(out) == string(src) {
		return nil
	}
	return os.WriteFile(file, out, 0o644)
}

// another runs the goimports that comes next in PATH, for whoever calls it by hand.
func another(args []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path, err := exec.LookPath(filepath.Join(dir, filepath.Base(self)))
		if err != nil || dir == filepath.Dir(self) {
			continue
		}
		cmd := exec.Command(path, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
		var exit *exec.ExitError
		if err := cmd.Run(); errors.As(err, &exit) {
			return exit.ExitCode()
		} else if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		return 0
	}
	fmt.Fprintln(os.Stderr, "this goimports, which modellog has made for cells in Go, knows only: goimports -w FILE")
	return 2
}
