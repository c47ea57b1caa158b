package main

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// names are those of the root package itself.
func names(t *testing.T) helpers {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	h := findHelpers([]string{t.TempDir(), root})
	for _, want := range []string{"Connect", "M", "Prob", "Implies", "Show", "Report", "ErrNoKernel", "Interval", "Session"} {
		if !slices.Contains(h, want) {
			t.Fatalf("%s is not among %v", want, h)
		}
	}
	for _, n := range h {
		if n == "Eval" || n == "connect" || strings.HasPrefix(n, "Test") {
			t.Errorf("%s is among them", n)
		}
	}
	return h
}

func TestAdjust(t *testing.T) {
	h := names(t)
	const dot = `import . "github.com/modellog/modellog"` + "\n"
	for _, c := range []struct {
		what, before, after string
		want                bool // the import is there afterwards
	}{
		{"used without import", "", "func main() { s, err := Connect(nil); _, _ = s, err }", true},
		{"used with import", dot, "func main() { println(M(\"a\", \"b\").String()) }", true},
		{"not used", dot, "func main() { println(1) }", false},
		{"only declared", dot, "func main() {}", false},
		{"a type", "", "func f(r *Report) {}\nfunc main() {}", true},
		{"one's own of the name", "", "func Show() {}\nfunc main() { Show() }", false},
		{"one's own beside the import", dot, "type M int\nfunc main() { var m M; _ = m }", false},
		{"of another package", "import \"net/http\"\n", "func main() { println(http.Error) }", false},
		{"a field's name", dot, "type t struct{ Name, Error string }\nfunc main() { println(t{Name: \"x\", Error: \"y\"}.Name) }", false},
		{"a field's name and a use", "", "type t struct{ Name Formula }\nfunc main() { println(t{Name: Not(x)}) }", true},
		{"a key", "", "func main() { _ = map[any]int{ErrNoKernel: 1} }", true},
		{"local", "", "func main() { Show := 1; println(Show) }", false},
		{"the beginning of a name", "", "func main() { Conn }", true},
		{"lower case", "", "func main() { show() }", false},
		{"another import by the point", "import . \"math\"\n", "func main() { println(Min(1, 2), Exactly) }", false},
		{"another import by the point, and this one", "import . \"math\"\n" + dot, "func main() { println(Pi); Show() }", true},
		{"within brackets", "import (\n\t\"fmt\"\n\t. \"github.com/modellog/modellog\"\n)\n", "func main() { fmt.Println() }", false},
		{"no program", "", "func main() { Connect( }", false},
	} {
		src := "package main\n\n" + c.before + "\n" + c.after + "\n"
		out := string(adjust("main.go", []byte(src), func() helpers { return h }))
		if got := strings.Contains(out, `. "github.com/modellog/modellog"`); got != c.want {
			t.Errorf("%s: imported %v, want %v:\n%s", c.what, got, c.want, out)
		}
		if strings.Contains(c.before, "math") != strings.Contains(out, "math") || strings.Contains(c.before, `"fmt"`) != strings.Contains(out, `"fmt"`) {
			t.Errorf("%s: other imports changed:\n%s", c.what, out)
		}
		if _, err := format.Source([]byte(out)); err != nil && c.what != "no program" {
			t.Errorf("%s: %v:\n%s", c.what, err, out)
		}
	}
}

// TestNothingToFind has files that are left alone without a look at the helpers.
func TestNothingToFind(t *testing.T) {
	for _, src := range []string{
		"package main\n\nfunc main() { fmt.Println(1) }\n",
		"package main\n\ntype T struct{ Name string }\n\nfunc main() { fmt.Println(T{Name: \"x\"}) }\n",
		"package main\n\nimport . \"math\"\n\nfunc main() { println(Pi) }\n",
		"package main\n\nfunc main() {\n",
	} {
		out := adjust("main.go", []byte(src), func() helpers { t.Errorf("looked for helpers of %s", src); return nil })
		if string(out) != src {
			t.Errorf("%s became\n%s", src, out)
		}
	}
	src := "package main\n\nfunc main() { Connect() }\n"
	if out := adjust("main.go", []byte(src), func() helpers { return nil }); string(out) != src {
		t.Errorf("without helpers it became\n%s", out)
	}
}

// TestCommand runs the program itself over a file.
func TestCommand(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "goimports")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file := filepath.Join(dir, "main.go")
	run := func(src string, env ...string) (string, error) {
		t.Helper()
		if err := os.WriteFile(file, []byte(src), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "-w", file)
		cmd.Env = append(os.Environ(), env...)
		said, err := cmd.CombinedOutput()
		if err != nil {
			return string(said), err
		}
		out, err := os.ReadFile(file)
		return string(out), err
	}
	const cell = "package main\n\nimport \"os\"\n\nfunc main() { s, err := Connect(context.Background()); fmt.Println(s, err) }\n"
	out, err := run(cell, HelpersVariable+"="+dir+string(filepath.ListSeparator)+root)
	for _, want := range []string{`. "github.com/modellog/modellog"`, `"context"`, `"fmt"`} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s is missing: %v\n%s", want, err, out)
		}
	}
	if strings.Contains(out, `"os"`) {
		t.Errorf("what is not used is there:\n%s", out)
	}
	if out, err := run(cell, HelpersVariable+"="); err != nil || strings.Contains(out, "modellog") || !strings.Contains(out, `"context"`) {
		t.Errorf("without helpers: %v\n%s", err, out)
	}
	if out, err := run("package main\n\nfunc main() {\n", HelpersVariable+"="+root); err == nil || !strings.Contains(out, "main.go:3") {
		t.Errorf("no program: %v\n%s", err, out)
	}
	// By hand it is the next one in PATH.
	next := filepath.Join(t.TempDir(), "goimports")
	if err := os.WriteFile(next, []byte("#!/bin/sh\necho next \"$@\"\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-l", ".")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(filepath.ListSeparator)+filepath.Dir(next)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	said, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 3 || string(said) != "next -l .\n" {
		t.Errorf("%v: %s", err, said)
	}
}
