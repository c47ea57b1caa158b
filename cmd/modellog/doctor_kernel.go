package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modellog/modellog/kernel/install"
	"github.com/modellog/modellog/lm/store"
)

// installKernel mends most of what is wrong with the kernel.
const installKernel = "modellog kernel install"

// kernelFindings says what there is for notebooks.
func kernelFindings(ctx context.Context) []finding {
	data, err := store.DataDir()
	if err != nil {
		return []finding{{state: absent, what: "kernel", detail: err.Error()}}
	}
	addGoToPath()
	s, err := install.Look(ctx, data)
	if err != nil {
		return []finding{{state: absent, what: "kernel", detail: err.Error(), mend: installKernel}}
	}
	if len(s.Specs) == 0 {
		return []finding{{state: absent, what: "kernel", detail: "not installed; only needed for notebooks", mend: installKernel}}
	}
	var out []finding
	for _, spec := range s.Specs {
		f := finding{what: "kernel", detail: "installed in " + spec.Dir}
		if self, err := os.Executable(); !runnable(spec.Command) {
			f.state, f.mend = absent, installCommand(spec)
			f.detail += ", but " + spec.Command + ", which it runs, is gone"
		} else if err == nil && !same(self, spec.Command) {
			f.detail += ", which runs another modellog: " + spec.Command
		}
		out = append(out, f)
	}
	return append(out, goCellFindings(s), jupyterFinding(s))
}

// installCommand is the command that makes a kernelspec anew.
func installCommand(spec install.Spec) string {
	if prefix, ok := prefixOf(spec); ok {
		return installKernel + " --prefix " + prefix
	}
	return installKernel
}

// prefixOf is the prefix that a kernelspec was installed under, if its folder is one of a prefix.
func prefixOf(spec install.Spec) (string, bool) {
	return strings.CutSuffix(spec.Dir, filepath.Join(string(filepath.Separator), "share", "jupyter", "kernels", install.Name))
}

func runnable(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && filepath.IsAbs(path)
}

// same reports whether two paths are of one file.
func same(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(sa, sb)
}

// goCellFindings says whether cells in Go work.
func goCellFindings(s install.Status) finding {
	f := finding{state: absent, what: "Go cells", mend: installKernel}
	var pinned []string
	for _, t := range install.Tools() {
		pinned = append(pinned, t.Name+" "+t.Version)
	}
	switch {
	case s.Go == "":
		f.detail, f.mend = "they need Go, and there is no go in PATH", "get Go from https://go.dev/dl, then: "+installKernel
	case len(s.Missing) > 0:
		f.detail = "they need " + strings.Join(s.Missing, ", ") + ", not here"
	case !s.Current:
		f.detail = "their tools are of other versions than " + strings.Join(pinned, ", ") + ", or built by another go than " + s.Go
	case s.Module == "":
		f.detail = "they work, but without modellog's helpers, whose source is not here"
	case s.Module != programVersion():
		f.detail = fmt.Sprintf("modellog's helpers are those of %s, and this is %s", s.Module, programVersion())
	default:
		f.state, f.mend, f.detail = well, "", strings.Join(pinned, ", ")+", by "+s.Go
	}
	return f
}

// jupyterFinding looks for a front-end, where a kernelspec is and in PATH.
func jupyterFinding(s install.Status) finding {
	places := []string{""}
	for _, spec := range s.Specs {
		if prefix, ok := prefixOf(spec); ok {
			places = append(places, filepath.Join(prefix, "bin"), filepath.Join(prefix, "Scripts"))
		}
	}
	var found []string
	for _, dir := range places {
		for _, name := range []string{"jupyter-lab", "jupyter-notebook", "jupyter"} {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				if !slices.Contains(found, path) {
					found = append(found, path)
				}
				break
			}
		}
	}
	if len(found) == 0 {
		return finding{state: absent, what: "jupyter", detail: "not in PATH, and not where the kernel is installed; other front-ends may find the kernel all the same",
			mend: "make notebook, in modellog's source, sets one up; or: pip install jupyterlab"}
	}
	return finding{what: "jupyter", detail: strings.Join(found, ", ")}
}
