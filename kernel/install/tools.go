package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// tools are the programs that Go cells need, their packages, and the modules whose versions theirs are. goimports
// is our own around golang.org/x/tools.
var tools = []struct{ name, pkg, module string }{
	{"gonb", "github.com/janpfeifer/gonb", "github.com/janpfeifer/gonb"},
	{"goimports", "./goimports", "golang.org/x/tools"},
	{"gopls", "golang.org/x/tools/gopls", "golang.org/x/tools/gopls"},
}

// Tool is a program that Go cells need.
type Tool struct{ Name, Version string }

// Tools lists the programs that Go cells need, at the versions that [Install] builds.
func Tools() []Tool {
	mod, err := assets.ReadFile("assets/tools.mod")
	if err != nil {
		panic(err) // it is part of the program
	}
	var list []Tool
	for _, t := range tools {
		tool := Tool{Name: t.name}
		for line := range strings.Lines(string(mod)) {
			if f := strings.Fields(line); len(f) >= 2 && f[0] == t.module {
				tool.Version = f[1]
			}
		}
		list = append(list, tool)
	}
	return list
}

// sources are the files that the tools are built from, and where they are in the module that is made for it.
var sources = []struct{ asset, file string }{
	{"assets/tools.mod", "go.mod"},
	{"assets/tools.sum", "go.sum"},
	{"goimports/main.go", "goimports/main.go"},
	{"goimports/helpers.go", "goimports/helpers.go"},
}

// stamp is what the tools in a folder were built from.
func stamp(ctx context.Context, goCommand string) (string, error) {
	version, err := exec.CommandContext(ctx, goCommand, "version").Output()
	if err != nil {
		return "", fmt.Errorf("asking %s for its version: %w", goCommand, err)
	}
	h := sha256.New()
	h.Write(version)
	for _, s := range sources {
		data, err := assets.ReadFile(s.asset)
		if err != nil {
			return "", err
		}
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// buildTools builds gonb, goimports and gopls, unless they are there already.
func buildTools(ctx context.Context, goCommand string, o Options) error {
	want, err := stamp(ctx, goCommand)
	if err != nil {
		return err
	}
	dir := ToolsDir(o.Data)
	if got, err := os.ReadFile(filepath.Join(dir, ".stamp")); err == nil && string(got) == want && haveTools(dir) {
		return nil
	}
	fmt.Fprintln(o.Progress, "building gonb, goimports and gopls (some minutes the first time)")
	src, err := os.MkdirTemp("", "modellog-tools-")
	if err != nil {
		return fmt.Errorf("building the tools for Go cells: %w", err)
	}
	defer os.RemoveAll(src)
	for _, s := range sources {
		data, err := assets.ReadFile(s.asset)
		if err == nil {
			err = os.MkdirAll(filepath.Join(src, filepath.Dir(s.file)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(src, s.file), data, 0o644)
		}
		if err != nil {
			return fmt.Errorf("building the tools for Go cells: %w", err)
		}
	}
	err = replaceDir(dir, func(tmp string) error {
		args := []string{"build", "-mod=readonly", "-o", tmp + string(filepath.Separator)}
		for _, t := range tools {
			args = append(args, t.pkg)
		}
		if err := runGo(ctx, goCommand, src, nil, args...); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(tmp, ".stamp"), []byte(want), 0o644)
	})
	if err != nil {
		return fmt.Errorf("building the tools for Go cells: %w", err)
	}
	return nil
}

// haveTools reports whether all are there.
func haveTools(dir string) bool { return len(missingTools(dir)) == 0 }

// missingTools lists those that are not there.
func missingTools(dir string) []string {
	var missing []string
	for _, t := range tools {
		name := t.name
		if runtime.GOOS == "windows" {
			name += ".exe"
		}
		if st, err := os.Stat(filepath.Join(dir, name)); err != nil || !st.Mode().IsRegular() {
			missing = append(missing, t.name)
		}
	}
	return missing
}

// runGo runs the go command; what it says is part of the error.
func runGo(ctx context.Context, goCommand, dir string, env []string, args ...string) error {
	_, err := goOutput(ctx, goCommand, dir, env, args...)
	return err
}

func goOutput(ctx context.Context, goCommand, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, goCommand, args...)
	cmd.Dir = dir
	// No flags of the user's that are meant for other modules. Nothing here
	// needs C.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	cmd.Env = append(cmd.Env, env...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		if n := len(lines); n > 8 {
			lines = lines[n-8:]
		}
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, strings.Join(lines, "\n"))
	}
	return out, nil
}
