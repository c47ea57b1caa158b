// Package install puts the kernel where Jupyter finds it, and what Go cells need
// where the kernel finds it.
//
// In modellog's data folder, [Install] makes
//
//	kernel/bin      gonb, goimports and gopls, built at pinned versions whose
//	                content is checked against known hashes
//	kernel/module   the source of modellog's own packages that a Go cell can import,
//	                as a workspace module: a cell needs no network for them
//	kernel/specs    where kernelspecs were written, one a line
//
// and in Jupyter's data folder, or under a prefix, the kernelspec. What is there
// already and right is left alone.
package install

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"
)

//go:embed assets goimports/main.go goimports/helpers.go
var assets embed.FS

// Name is the kernelspec's.
const Name = "modellog"

// Where things are in modellog's data folder.
func root(data string) string { return filepath.Join(data, "kernel") }

// ToolsDir is where gonb, goimports and gopls are.
func ToolsDir(data string) string { return filepath.Join(root(data), "bin") }

// ModuleDir is the source of modellog for Go cells.
func ModuleDir(data string) string { return filepath.Join(root(data), "module") }

// Options say what is installed where.
type Options struct {
	Data     string    // modellog's data folder
	Command  string    // absolute path of the modellog that the kernelspec runs
	Prefix   string    // the kernelspec goes to PREFIX/share/jupyter; "" for the user's own folder
	Source   string    // root of modellog's source; looked for where it is ""
	Version  string    // of modellog; its source is fetched by it where nothing else is found
	Progress io.Writer // what is being done, in lines; may be nil
}

// Result says what was done.
type Result struct {
	Spec string // the kernelspec's folder
	// Without is what keeps Go cells, or their helpers, from working; nil where
	// nothing does. Everything else is installed all the same.
	Without error
}

// Install installs the kernel.
func Install(ctx context.Context, o Options) (Result, error) {
	var r Result
	if !filepath.IsAbs(o.Command) {
		return r, fmt.Errorf("installing the kernel: the path of modellog is %q, which is not absolute", o.Command)
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		r.Without = errors.New("there is no go in PATH, so Go cells will not work; get Go from https://go.dev/dl and install the kernel again")
	} else if goCommand, err = filepath.Abs(goCommand); err != nil {
		return r, fmt.Errorf("installing the kernel: %w", err)
	} else {
		if err := buildTools(ctx, goCommand, o); err != nil {
			return r, err
		}
		r.Without = prepareModule(ctx, goCommand, o)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
	}
	dir, err := jupyterDir(o.Prefix)
	if err != nil {
		return r, err
	}
	r.Spec = filepath.Join(dir, "kernels", Name)
	if err := writeSpec(r.Spec, goCommand, o); err != nil {
		return r, fmt.Errorf("writing the kernelspec: %w", err)
	}
	if err := remember(o.Data, r.Spec); err != nil {
		return r, fmt.Errorf("writing the kernelspec: %w", err)
	}
	return r, nil
}

// jupyterDir is Jupyter's data folder of the prefix, or the user's own.
func jupyterDir(prefix string) (string, error) {
	if prefix != "" {
		dir, err := filepath.Abs(prefix)
		return filepath.Join(dir, "share", "jupyter"), err
	}
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("APPDATA"); dir != "" {
			return filepath.Join(dir, "jupyter"), nil
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding Jupyter's data folder: %w", err)
	}
	switch {
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Jupyter"), nil
	case os.Getenv("XDG_DATA_HOME") != "":
		return filepath.Join(os.Getenv("XDG_DATA_HOME"), "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// kept are the variables whose values hold for the kernel, too, however
// Jupyter is started.
var kept = []string{"MODELLOG_HOME", "MODELLOG_CACHE"}

// GoVariable tells the kernel where go is, for a Jupyter whose PATH does not.
const GoVariable = "MODELLOG_GO"

// writeSpec writes a kernelspec, whole or not at all.
func writeSpec(dir, goCommand string, o Options) error {
	env := map[string]string{}
	for _, key := range kept {
		if v := os.Getenv(key); v != "" {
			abs, err := filepath.Abs(v)
			if err != nil {
				return err
			}
			env[key] = abs
		}
	}
	if goCommand != "" {
		env[GoVariable] = goCommand
	}
	var spec bytes.Buffer
	e := json.NewEncoder(&spec)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(map[string]any{
		"argv":           []string{o.Command, "kernel", "run", "{connection_file}"},
		"display_name":   "modellog",
		"language":       "modellog",
		"interrupt_mode": "message",
		"env":            env,
		"metadata":       map[string]any{"debugger": false},
	}); err != nil {
		return err
	}
	return replaceDir(dir, func(tmp string) error {
		if err := os.WriteFile(filepath.Join(tmp, "kernel.json"), spec.Bytes(), 0o644); err != nil {
			return err
		}
		for _, logo := range []string{"logo-svg.svg", "logo-32x32.png", "logo-64x64.png"} {
			data, err := assets.ReadFile("assets/" + logo)
			if err == nil {
				err = os.WriteFile(filepath.Join(tmp, logo), data, 0o644)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// replaceDir makes a folder whose content fill writes. The one that is there stays until the new one is
// complete, and then gives way at once: a kernel that runs may be using it.
func replaceDir(dir string, fill func(tmp string) error) error {
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(parent, "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := fill(tmp); err != nil {
		return err
	}
	old := tmp + "-old"
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		_ = os.Rename(old, dir) // or what was there is lost, which err says in other words
		return err
	}
	return os.RemoveAll(old)
}

// Installed lists the kernelspecs that were installed and are still there.
func Installed(data string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(root(data), "specs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var specs []string
	for line := range strings.Lines(string(b)) {
		dir := strings.TrimSpace(line)
		if _, err := os.Stat(filepath.Join(dir, "kernel.json")); dir != "" && err == nil {
			specs = append(specs, dir)
		}
	}
	return specs, nil
}

// remember adds a kernelspec to those that were installed.
func remember(data, dir string) error {
	specs, err := Installed(data)
	if err != nil {
		return err
	}
	if !slices.Contains(specs, dir) {
		specs = append(specs, dir)
	}
	return writeSpecs(data, specs)
}

func writeSpecs(data string, specs []string) error {
	if err := os.MkdirAll(root(data), 0o755); err != nil {
		return err
	}
	var b strings.Builder
	for _, s := range specs {
		b.WriteString(s + "\n")
	}
	return maybe.WriteFile(filepath.Join(root(data), "specs"), []byte(b.String()), 0o644)
}

// Uninstall removes the kernelspec of the prefix, or the user's own one, or with all
// every one that was installed. With the last of them goes what Go cells needed. It
// returns what it removed.
func Uninstall(data, prefix string, all bool) (removed []string, err error) {
	specs, err := Installed(data)
	if err != nil {
		return nil, fmt.Errorf("uninstalling the kernel: %w", err)
	}
	gone := specs
	if !all {
		dir, err := jupyterDir(prefix)
		if err != nil {
			return nil, err
		}
		gone = []string{filepath.Join(dir, "kernels", Name)}
	}
	for _, dir := range gone {
		if _, err := os.Stat(filepath.Join(dir, "kernel.json")); err != nil {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return removed, fmt.Errorf("uninstalling the kernel: %w", err)
		}
		removed = append(removed, dir)
	}
	specs = slices.DeleteFunc(specs, func(s string) bool { return slices.Contains(gone, s) })
	if len(specs) > 0 {
		return removed, writeSpecs(data, specs)
	}
	if _, err := os.Stat(root(data)); err == nil {
		if err := os.RemoveAll(root(data)); err != nil {
			return removed, fmt.Errorf("uninstalling the kernel: %w", err)
		}
		removed = append(removed, root(data))
	}
	return removed, nil
}
