package install

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Status says what is installed.
type Status struct {
	Specs   []Spec   // that were installed and are still there
	Go      string   // path of go; "" where there is none
	Missing []string // those of [Tools] that are not there
	Current bool     // all are there, of this modellog's versions, built by this go
	Module  string   // the modellog whose source Go cells import; "" where there is none
}

// Spec is a kernelspec.
type Spec struct {
	Dir     string // its folder
	Command string // the modellog that it runs
}

// Look says what is installed.
func Look(ctx context.Context, data string) (Status, error) {
	dirs, err := Installed(data)
	if err != nil {
		return Status{}, fmt.Errorf("looking for kernelspecs: %w", err)
	}
	s := Status{Missing: missingTools(ToolsDir(data)), Module: moduleVersion(ModuleDir(data))}
	for _, dir := range dirs {
		spec, err := readSpec(dir)
		if err != nil {
			return s, err
		}
		s.Specs = append(s.Specs, spec)
	}
	if s.Go, err = exec.LookPath("go"); err != nil {
		return s, nil // which is what Go == "" says
	}
	want, err := stamp(ctx, s.Go)
	if err != nil {
		return s, err
	}
	got, err := os.ReadFile(filepath.Join(ToolsDir(data), ".stamp"))
	s.Current = err == nil && string(got) == want && len(s.Missing) == 0
	return s, nil
}

// readSpec reads the kernelspec in a folder.
func readSpec(dir string) (Spec, error) {
	path := filepath.Join(dir, "kernel.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return Spec{}, fmt.Errorf("reading a kernelspec: %w", err)
	}
	var k struct{ Argv []string }
	if err := json.Unmarshal(data, &k); err != nil {
		return Spec{}, fmt.Errorf("reading the kernelspec %s: %w", path, err)
	}
	spec := Spec{Dir: dir}
	if len(k.Argv) > 0 {
		spec.Command = k.Argv[0]
	}
	return spec, nil
}

// versionFile is a file in the module's folder that names the modellog whose source it is.
const versionFile = ".modellog"

// moduleVersion is what the file says.
func moduleVersion(dir string) string {
	data, err := os.ReadFile(filepath.Join(dir, versionFile))
	if err != nil || moduleRoot(dir) != dir {
		return ""
	}
	return strings.TrimSpace(string(data))
}
