package repl

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/lang/syntax"
)

func open(t *testing.T, path string) *history {
	return openHistory(path, func(err error) { t.Errorf("warning: %v", err) })
}

// TestHistoryShared: several writers, with the file replaced under them, lose
// nothing that is new.
func TestHistoryShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const writers, each = 4, 400
	pad := strings.Repeat("x", 1000) // so that the file is cut some times
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			h := open(t, path)
			for i := range each {
				h.Add(fmt.Sprintf("w%d_%d = %s", w, i, pad))
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > trimHistory+maxHistoryEntry || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes and mode %v", info.Size(), info.Mode())
	}
	got := open(t, path).entries
	if len(got) < 100 {
		t.Fatalf("only %d statements are left", len(got))
	}
	// Of each writer the newest statements are there, without a gap.
	next := map[int]int{}
	for _, e := range got {
		var w, i int
		if _, err := fmt.Sscanf(e, "w%d_%d =", &w, &i); err != nil {
			t.Fatalf("broken entry %q", e)
		}
		if n, ok := next[w]; ok && i != n {
			t.Errorf("writer %d: statement %d follows %d", w, i, n-1)
		}
		next[w] = i + 1
	}
	for w, n := range next {
		if n != each {
			t.Errorf("writer %d: the last statement is %d", w, n-1)
		}
	}
	if rest, _ := filepath.Glob(path + ".*"); len(rest) > 0 {
		t.Errorf("left over: %v", rest)
	}
}

func TestHistoryFileDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	damaged := "good\n\x00\x01\n\xff\xfe\n\n" + strings.Repeat("y", 2*maxHistoryEntry) + "\nalso good\nhalf a li"
	if err := os.WriteFile(path, []byte(damaged), 0o644); err != nil {
		t.Fatal(err)
	}
	h := open(t, path)
	if want := []string{"good", "also good"}; !slices.Equal(h.entries, want) {
		t.Errorf("got %q, want %q", h.entries, want)
	}
	h.Add("new")
	h.Add("new")
	h.Add("tab\tand 漢字")
	h.Add("not \x1b[31mtext")
	if got := open(t, path).entries; !slices.Equal(got[len(got)-2:], []string{"new", "tab\tand 漢字"}) || slices.Contains(got, "half a linew") {
		t.Errorf("got %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestHistoryNoFile(t *testing.T) {
	var warnings []error
	dir := t.TempDir()
	h := openHistory(dir, func(err error) { warnings = append(warnings, err) })
	h.Add("one")
	h.Add("two")
	if len(warnings) != 1 || !slices.Equal(h.entries, []string{"one", "two"}) {
		t.Errorf("got %v and %q", warnings, h.entries)
	}
	for i := range 3 * maxHistory {
		h.Add(fmt.Sprint(i))
	}
	if len(h.entries) != maxHistory {
		t.Errorf("%d statements are kept", len(h.entries))
	}
}

// TestOneLine: a statement recalled as one line is the same statement.
func TestOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		atoms := rapid.SampledFrom([]string{"a", `M("x # y", 'q"')`, `M("\"# \\", r"\")`, "prob(0.5)", `M('🐶', "#")`, "true"})
		breaks := rapid.SampledFrom([]string{" ", "\n", " # why \"not\n", "\n\n\t", " #\n # two\n"})
		ops := rapid.SampledFrom([]string{"&", "|", "->", "xor"})
		var b strings.Builder
		b.WriteString("f = (")
		for i := range rapid.IntRange(1, 6).Draw(t, "n") {
			if i > 0 {
				b.WriteString(breaks.Draw(t, "break") + ops.Draw(t, "op") + breaks.Draw(t, "break"))
			}
			b.WriteString(atoms.Draw(t, "atom"))
		}
		b.WriteString(breaks.Draw(t, "break") + ")")
		statement := b.String()
		line := oneLine(statement)
		if strings.Contains(line, "\n") {
			t.Fatalf("%q has several lines", line)
		}
		want, got := parse(t, statement), parse(t, line)
		if got != want {
			t.Fatalf("%q became %q: %s, not %s", statement, line, got, want)
		}
	})
}

func parse(t *rapid.T, statement string) string {
	stmts, err := syntax.Parse("", statement)
	if err != nil {
		t.Fatalf("%q: %v", statement, err)
	}
	if len(stmts) != 1 {
		t.Fatalf("%q: %d statements", statement, len(stmts))
	}
	d, ok := stmts[0].(*syntax.Definition)
	if !ok {
		t.Fatalf("%q: a %T", statement, stmts[0])
	}
	return syntax.Format(d.X, syntax.Unicode)
}

func TestColumns(t *testing.T) {
	got := columns([]string{"a", "bb", "ccc", "漢字", "e"}, 16, 10)
	if want := "a     漢字\nbb    e\nccc\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	got = columns([]string{strings.Repeat("x", 50), "y", "z"}, 20, 2)
	if want := strings.Repeat("x", 18) + "…\ny\n… and 1 more\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
