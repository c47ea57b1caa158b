package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// modulePath is modellog's own.
const modulePath = "github.com/modellog/modellog"

// prepareModule makes the module that Go cells import without network: the root
// package and those of ours that it needs.
func prepareModule(ctx context.Context, goCommand string, o Options) error {
	source, err := findSource(ctx, goCommand, o)
	if err != nil {
		return fmt.Errorf("the cells in Go will work, but without modellog's helpers: %w", err)
	}
	fmt.Fprintf(o.Progress, "preparing the helpers for Go cells from %s\n", source)
	if err := copyModule(ctx, goCommand, source, ModuleDir(o.Data), o.Version); err != nil {
		return fmt.Errorf("the cells in Go will work, but without modellog's helpers: %w", err)
	}
	return nil
}

// findSource finds modellog's source: where it was told, around the program that is
// installed, in the module cache or proxy by its version, around the working directory.
func findSource(ctx context.Context, goCommand string, o Options) (string, error) {
	if o.Source != "" {
		dir, err := filepath.Abs(o.Source)
		if err != nil {
			return "", err
		}
		if moduleRoot(dir) != dir {
			return "", fmt.Errorf("%s is not the root of modellog's source", dir)
		}
		return dir, nil
	}
	command := o.Command
	if real, err := filepath.EvalSymlinks(command); err == nil {
		command = real
	}
	if dir := moduleRoot(filepath.Dir(command)); dir != "" {
		return dir, nil
	}
	if release.MatchString(o.Version) {
		out, err := goOutput(ctx, goCommand, os.TempDir(), nil, "mod", "download", "-json", modulePath+"@"+o.Version)
		if err == nil {
			var m struct{ Dir string }
			if err := json.Unmarshal(out, &m); err == nil && m.Dir != "" {
				return m.Dir, nil
			}
		}
	}
	if wd, err := os.Getwd(); err == nil {
		if dir := moduleRoot(wd); dir != "" {
			return dir, nil
		}
	}
	return "", fmt.Errorf("the source of modellog %s was not found; name its folder with --source", o.Version)
}

// release is a version that a module proxy may know.
var release = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// moduleRoot is the folder with modellog's go.mod at or above a folder, or "".
func moduleRoot(dir string) string {
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			for line := range strings.Lines(string(data)) {
				if fields := strings.Fields(line); len(fields) == 2 && fields[0] == "module" && fields[1] == modulePath {
					return dir
				}
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// listed is a package as go list tells it.
type listed struct {
	Dir        string
	ImportPath string
	GoFiles    []string
	SFiles     []string // in assembly
	EmbedFiles []string
	Module     *struct{ Main bool }
}

// helpers are the packages that Go cells can import, as patterns below the module's root.
var helpers = []string{".", "./local"}

// copyModule copies the packages of a module that Go cells can import, those of the same module that they
// need, go.mod and go.sum, and makes sure that cells can be built with them offline.
func copyModule(ctx context.Context, goCommand, source, dest, version string) error {
	// What other modules are needed is downloaded here, if it is not there yet.
	args := append([]string{"list", "-deps", "-json=Dir,ImportPath,GoFiles,SFiles,EmbedFiles,Module"}, helpers...)
	out, err := goOutput(ctx, goCommand, source, nil, args...)
	if err != nil {
		return fmt.Errorf("listing the packages that a Go cell needs: %w", err)
	}
	var own []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("listing the packages that a Go cell needs: %w", err)
		}
		if p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
	return replaceDir(dest, func(tmp string) error {
		for _, name := range []string{"go.mod", "go.sum", "LICENSE"} {
			if err := copyFile(filepath.Join(source, name), filepath.Join(tmp, name)); err != nil && !(name != "go.mod" && errors.Is(err, os.ErrNotExist)) {
				return err
			}
		}
		for _, p := range own {
			rel, err := filepath.Rel(source, p.Dir)
			if err != nil {
				return err
			}
			for _, name := range slices.Concat(p.GoFiles, p.SFiles, p.EmbedFiles) {
				if err := copyFile(filepath.Join(p.Dir, name), filepath.Join(tmp, rel, name)); err != nil {
					return err
				}
			}
		}
		if len(own) == 0 {
			return errors.New("there are no packages to import")
		}
		if err := os.WriteFile(filepath.Join(tmp, versionFile), []byte(version+"\n"), 0o644); err != nil {
			return err
		}
		return tryCell(ctx, goCommand, tmp)
	})
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// tryCell builds a program that imports the packages as a Go cell does, in a workspace and
// without network. That what it needs is compiled then makes the first cell fast.
func tryCell(ctx context.Context, goCommand, module string) error {
	dir, err := os.MkdirTemp("", "modellog-cell-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var imports strings.Builder
	for _, h := range helpers {
		fmt.Fprintf(&imports, "import _ %q\n", path.Join(modulePath, h))
	}
	for name, text := range map[string]string{
		"go.mod":  "module cell\n\ngo 1.24\n",
		"main.go": "package main\n\n" + imports.String() + "\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	work := []string{"GOWORK=" + filepath.Join(dir, "go.work"), "GOPROXY=off"}
	if err := runGo(ctx, goCommand, dir, nil, "work", "init", ".", module); err != nil {
		return fmt.Errorf("trying a Go cell: %w", err)
	}
	if err := runGo(ctx, goCommand, dir, work, "build", "-o", filepath.Join(dir, "cell"), "."); err != nil {
		return fmt.Errorf("trying a Go cell: %w", err)
	}
	return nil
}
