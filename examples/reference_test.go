package examples_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
