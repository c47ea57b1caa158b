package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestWithoutGo installs and uninstalls the kernel where there is no Go.
func TestWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("JUPYTER_DATA_DIR", filepath.Join(home, "jupyter data"))
	t.Setenv("MODELLOG_HOME", "some where")
	t.Setenv("MODELLOG_CACHE", "")
	data, prefix := t.TempDir(), t.TempDir()
	o := Options{Data: data, Command: "/opt/mo del/modellog", Version: "v1"}
	r, err := Install(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Without == nil || !strings.Contains(r.Without.Error(), "no go in PATH") {
		t.Errorf("%v", r.Without)
	}
	if want := filepath.Join(home, "jupyter data", "kernels", "modellog"); r.Spec != want {
		t.Errorf("%s, want %s", r.Spec, want)
	}
	b, err := os.ReadFile(filepath.Join(r.Spec, "kernel.json"))
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Argv          []string
		Language      string
		DisplayName   string `json:"display_name"`
		InterruptMode string `json:"interrupt_mode"`
		Env           map[string]string
	}
	if err := json.Unmarshal(b, &spec); err != nil {
		t.Fatal(err)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(spec.Argv, "|") != "/opt/mo del/modellog|kernel|run|{connection_file}" || spec.Language != "modellog" ||
		spec.InterruptMode != "message" || spec.DisplayName != "modellog" ||
		len(spec.Env) != 1 || spec.Env["MODELLOG_HOME"] != filepath.Join(wd, "some where") {
		t.Errorf("%s", b)
	}
	for name, size := range map[string]int{"logo-32x32.png": 32, "logo-64x64.png": 64} {
		f, err := os.Open(filepath.Join(r.Spec, name))
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(f)
		f.Close()
		if err != nil || img.Bounds().Dx() != size || img.Bounds().Dy() != size {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A second place, and the same once more.
	o.Prefix = prefix
	for range 2 {
		if r, err = Install(context.Background(), o); err != nil || r.Spec != filepath.Join(prefix, "share", "jupyter", "kernels", "modellog") {
			t.Fatalf("%v %v", r, err)
		}
	}
	s, err := Look(context.Background(), data)
	if err != nil || len(s.Specs) != 2 || s.Specs[0].Command != o.Command || s.Go != "" || len(s.Missing) != 3 || s.Current || s.Module != "" {
		t.Errorf("%+v %v", s, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(r.Spec)); err != nil || len(entries) != 1 {
		t.Errorf("something is left: %v %v", entries, err)
	}
	removed, err := Uninstall(data, prefix, false)
	if err != nil || len(removed) != 1 || removed[0] != r.Spec {
		t.Errorf("%v %v", removed, err)
	}
	removed, err = Uninstall(data, "", false)
	if err != nil || len(removed) != 2 || removed[1] != root(data) {
		t.Errorf("%v %v", removed, err)
	}
	if removed, err := Uninstall(data, "", true); err != nil || len(removed) != 0 {
		t.Errorf("%v %v", removed, err)
	}
	if _, err := Install(context.Background(), Options{Data: data, Command: "modellog"}); err == nil {
		t.Error("a command that is not absolute was taken")
	}
}

// TestModule prepares a small module as it does modellog's own, and builds a cell
// with it that has no network.
func TestModule(t *testing.T) {
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("there is no go in PATH")
	}
	source, dest := t.TempDir(), filepath.Join(t.TempDir(), "module")
	writeFiles(t, source, map[string]string{
		"go.mod":             "module " + modulePath + "\n\ngo 1.24\n",
		"root.go":            "package modellog\n\nimport (\n\t_ \"embed\"\n\n\t\"" + modulePath + "/inner/deep\"\n)\n\n//go:embed data/text\nvar text string\n\nfunc Hello() string { return text + deep.Name }\n",
		"root_test.go":       "package modellog\n",
		"data/text":          "hello from ",
		"inner/deep/deep.go": "package deep\n\nconst Name = \"deep\"\n\n// Nothing is in assembly.\nfunc Nothing()\n",
		"inner/deep/deep.s":  "TEXT ·Nothing(SB), 4, $0-0\n\tRET\n",
		"cmd/x/main.go":      "package main\n\nfunc main() {}\n",
		"local/local.go":     "package local\n\nimport _ \"" + modulePath + "\"\n",
		"other/other.go":     "package other\n",
	})
	if err := copyModule(context.Background(), goCommand, source, dest, "v1"); err != nil {
		t.Fatal(err)
	}
	var files []string
	filepath.WalkDir(dest, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dest, path)
			files = append(files, rel)
		}
		return err
	})
	if got, want := strings.Join(files, " "), ".modellog data/text go.mod inner/deep/deep.go inner/deep/deep.s local/local.go root.go"; got != want {
		t.Errorf("copied %s, want %s", got, want)
	}
	cell := t.TempDir()
	writeFiles(t, cell, map[string]string{
		"go.mod":  "module cell\n\ngo 1.24\n",
		"main.go": "package main\n\nimport . \"" + modulePath + "\"\n\nfunc main() { print(Hello()) }\n",
	})
	for _, args := range [][]string{{"work", "init", ".", dest}, {"run", "."}} {
		cmd := exec.Command(goCommand, args...)
		cmd.Dir = cell
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		if err != nil || args[0] == "run" && string(out) != "hello from deep" {
			t.Fatalf("go %v: %s %v", args, out, err)
		}
	}
	if got := moduleVersion(dest); got != "v1" {
		t.Errorf("it is of %q", got)
	}
	// What cannot be built is not put in its place.
	writeFiles(t, source, map[string]string{"root.go": "package modellog\n\nvar x int = \"\"\n"})
	if err := copyModule(context.Background(), goCommand, source, dest, "v1"); err == nil || !strings.Contains(err.Error(), "trying a Go cell") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(dest, "inner")); err != nil {
		t.Error("the module that was there is gone")
	}
}

// TestReplaceDir replaces a folder again and again, and not at all where the new one cannot be made.
func TestReplaceDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	fill := func(tmp string) error {
		for i := range 200 {
			if err := os.WriteFile(filepath.Join(tmp, fmt.Sprint(i)), nil, 0o644); err != nil {
				return err
			}
		}
		return nil
	}
	for range 20 {
		if err := replaceDir(dir, fill); err != nil {
			t.Fatal(err)
		}
	}
	none := errors.New("no")
	if err := replaceDir(dir, func(string) error { return none }); err != none {
		t.Errorf("%v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 200 {
		t.Errorf("%d files, %v", len(files), err)
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestFindSource(t *testing.T) {
	source := t.TempDir()
	writeFiles(t, source, map[string]string{"go.mod": "module " + modulePath + "\n", "bin/modellog": "", "a/go.mod": "module other\n"})
	for _, o := range []Options{{Source: source}, {Command: filepath.Join(source, "bin", "modellog")}} {
		if dir, err := findSource(context.Background(), "go", o); err != nil || dir != source {
			t.Errorf("%+v: %q %v", o, dir, err)
		}
	}
	if _, err := findSource(context.Background(), "go", Options{Source: filepath.Join(source, "a")}); err == nil || !strings.Contains(err.Error(), "not the root") {
		t.Errorf("%v", err)
	}
	t.Chdir(t.TempDir())
	if _, err := findSource(context.Background(), "go", Options{Command: "/nowhere/modellog", Version: "v1.2.3-dirty+x"}); err == nil || !strings.Contains(err.Error(), "--source") {
		t.Errorf("%v", err)
	}
}

// TestPins holds the tools' versions against those that the kernel was made for.
func TestPins(t *testing.T) {
	mod, err := assets.ReadFile("assets/tools.mod")
	if err != nil {
		t.Fatal(err)
	}
	sum, err := assets.ReadFile("assets/tools.sum")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(Tools()); !regexp.MustCompile(`^\[\{gonb v0\.11\.4\} \{goimports v0\.\S+\} \{gopls v0\.21\.1\}\]$`).MatchString(got) {
		t.Errorf("the tools are %s", got)
	}
	for pkg, version := range map[string]string{"github.com/janpfeifer/gonb": "v0.11.4", "golang.org/x/tools/gopls": "v0.21.1"} {
		if !regexp.MustCompile(regexp.QuoteMeta(pkg+" "+version) + `(\s|$)`).Match(mod) {
			t.Errorf("%s is not pinned at %s:\n%s", pkg, version, mod)
		}
		if !strings.Contains(string(sum), pkg+" "+version+" h1:") {
			t.Errorf("the content of %s %s is not known", pkg, version)
		}
	}
}
