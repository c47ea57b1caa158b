package examples_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lang"
)

// TestReference runs the examples of the language's reference: each section is a session,
// and what an example prints is in the block below it. Where no model is asked the
// output must be the same to the last character.
func TestReference(t *testing.T) {
	b, err := os.ReadFile("../lang/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, section := range strings.Split(string(b), "\n## ")[1:] {
		heading, _, _ := strings.Cut(section, "\n")
		t.Run(heading, func(t *testing.T) {
			asks := strings.Contains(section, "```logic\ndog = M(")
			var s *lang.Session
			for rest := section; ; {
				var src, want string
				var ok bool
				if _, rest, ok = strings.Cut(rest, "```logic\n"); !ok {
					break
				}
				if src, rest, ok = strings.Cut(rest, "```\n```text\n"); !ok {
					t.Fatalf("an example has no output:\n%s", src)
				}
				want, rest, _ = strings.Cut(rest, "```\n")
				if s == nil {
					s = newSession(t)
				}
				examples++
				var out []string
				err := s.Eval(t.Context(), "", src, func(r lang.Result) error {
					out = append(out, r.Text(lang.Style{}))
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				got := strings.Join(out, "\n\n") + "\n"
				if asks {
					compare(t, got, want)
				} else if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s\n%s", src, diff)
				}
			}
		})
	}
	if examples < 10 {
		t.Errorf("only %d examples were found", examples)
	}
}

// TestReadme types the session of the README and compares what is shown.
func TestReadme(t *testing.T) {
	b, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "```text\n$ make repl\n")
	session, _, ok := strings.Cut(rest, "\n```")
	steps := strings.Split("\n"+session, "\n> ")[1:]
	if !ok || len(steps) < 3 {
		t.Fatalf("the README's session has %d lines", len(steps))
	}
	s := newSession(t)
	if _, err := s.OpenModel(t.Context(), modeltest.Gemma.Name); err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		line, want, _ := strings.Cut(step, "\n")
		var got []string
		err := s.Eval(t.Context(), "", line, func(r lang.Result) error {
			got = append(got, r.Text(lang.Style{Width: 84}))
			return nil
		})
		var mistake *lang.Error
		if errors.As(err, &mistake) {
			got = append(got, mistake.Detail())
		} else if err != nil {
			t.Fatal(err)
		}
		compare(t, strings.Join(got, "\n"), want)
	}
}
