package lang_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/lang"
)

func TestForms(t *testing.T) {
	s := session(t)
	for src, want := range map[string]string{
		"prob(0.5) -> prob(0.25)":              "text/html text/latex text/plain",
		"wmc(prob(0.5))":                       "text/html text/latex text/plain",
		"%plot report prob(0.5) -> prob(0.25)": "image/svg+xml text/plain",
		"%who":                                 "text/html text/plain",
	} {
		results := eval(t, s, src)
		r := results[len(results)-1]
		forms, err := lang.Forms(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(forms)), " "); got != want {
			t.Errorf("%s: %s, want %s", src, got, want)
		}
		if forms["text/plain"] != r.Text(lang.Style{}) {
			t.Errorf("%s: the text is %q", src, forms["text/plain"])
		}
	}
}

// odd is a result that cannot be shown.
type odd struct {
	lang.Note
	err error
}

func (o *odd) SVG() ([]byte, error) {
	if o.err == nil {
		panic("a fault")
	}
	return nil, o.err
}

func TestFormsFail(t *testing.T) {
	none := errors.New("no ink")
	if forms, err := lang.Forms(&odd{err: none}); !errors.Is(err, none) || forms != nil {
		t.Errorf("%v %v", forms, err)
	}
	if forms, err := lang.Forms(&odd{}); err == nil || !strings.Contains(err.Error(), "a fault") || forms != nil {
		t.Errorf("%v %v", forms, err)
	}
}

func TestNames(t *testing.T) {
	s := session(t)
	if names := s.Names(); len(names) != 0 {
		t.Errorf("%v", names)
	}
	eval(t, s, "b = prob(0.5)\na = b -> prob(0.25)\nf(x) = M(x, \"dog\") & b\nl = ladder(\"A dog.\")\nb = M(\"A dog is a\", \"dog\")")
	want := []lang.Name{
		{"b", "event", `b = M("A dog is a", "dog")`},
		{"a", "formula", "a = b → prob(0.25)"},
		{"f", "schema", `f(x) = M(x, "dog") ∧ b`},
		{"l", "ladder", `l = ladder("A dog.")`},
	}
	if got := s.Names(); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	eval(t, s, "%reset")
	if names := s.Names(); len(names) != 0 {
		t.Errorf("after %%reset: %v", names)
	}
}
