package install

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// Status says what is installed.
type Status struct {
	Specs   []string // folders of kernelspecs
	Go      string   // path of go; "" where there is none
	Tools   bool     // gonb, goimports and gopls are there
	Current bool     // they are of this modellog's versions, built by this go
	Module  bool     // modellog's source for Go cells is there
}

// Look says what is installed.
func Look(ctx context.Context, data string) (Status, error) {
	specs, err := Installed(data)
	if err != nil {
		return Status{}, err
	}
	s := Status{Specs: specs, Tools: haveTools(ToolsDir(data)), Module: moduleRoot(ModuleDir(data)) == ModuleDir(data)}
	if s.Go, err = exec.LookPath("go"); err != nil {
		return s, nil // which is what Go == "" says
	}
	want, err := stamp(ctx, s.Go)
	if err != nil {
		return s, err
	}
	got, err := os.ReadFile(filepath.Join(ToolsDir(data), ".stamp"))
	s.Current = err == nil && string(got) == want
	return s, nil
}
