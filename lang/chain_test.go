package lang_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modellog/modellog/lang"
)

// schemas writes n schemas of which each calls the one before.
func schemas(n int, body string) string {
	var b strings.Builder
	b.WriteString("f0(x) = x & prob(0.5)\n")
	for i := range n {
		fmt.Fprintf(&b, "f%d(x) = %s\n", i+1, strings.ReplaceAll(body, "F", fmt.Sprintf("f%d", i)))
	}
	return b.String()
}

// TestSchemaChain: schemas that call each other are defined in time linear in their number,
// and mean what they say.
func TestSchemaChain(t *testing.T) {
	took := func(n int) time.Duration {
		s := lang.New(lang.Options{})
		start := time.Now()
		eval(t, s, schemas(n, "F(x)"))
		d := time.Since(start)
		near(t, "the last one", number(t, s, fmt.Sprintf("wmc(f%d(prob(0.5)))", n)), 0.25)
		// After a redefinition of the first they are checked anew, and mean something else.
		eval(t, s, fmt.Sprintf("f0(x) = !x\ng(x) = f%d(x)", n))
		near(t, "after a redefinition", number(t, s, fmt.Sprintf("wmc(f%d(prob(0.25)))", n)), 0.75)
		return d
	}
	took(100)
	if d := took(4000); d > 3*time.Second {
		t.Errorf("4,000 definitions take %v", d)
	}
	s := lang.New(lang.Options{})
	eval(t, s, schemas(30, "F(x) & prob(0.5)")) // each prob(…) of each call is a variable
	near(t, "31 events", number(t, s, "wmc0(f30(true))"), 1.0/(1<<31))
	near(t, "two calls", number(t, s, "h(x) = f2(x) | f2(x)\nwmc(h(true))"), 1-7.0/8*7/8)

	// The limits hold for what was checked before, too.
	for src, want := range map[string]string{
		schemas(40, "F(x) & F(x)"): "has more than 500,000 parts",
		schemas(11000, "F(x)"):     "nested more than 10,000 levels",
		schemas(11000, "(!F(x))"):  "nested more than 10,000 levels",
	} {
		_, err := try(lang.New(lang.Options{}), src)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestUsedThrough: what is wrong far down is said once, with the way there.
func TestUsedThrough(t *testing.T) {
	s := lang.New(lang.Options{})
	var b strings.Builder
	b.WriteString("a0 = prob(0.5)\nf(x) = x & a0\n")
	for i := range 300 {
		fmt.Fprintf(&b, "a%d = !a%d\n", i+1, i)
	}
	eval(t, s, b.String()+"a0(x) = x")
	for src, want := range map[string]string{
		"a1":            `1:1: a1, defined at 3:1, cannot be used as it is: a0 is a schema and needs its holes filled: a0(x)`,
		"a3":            `1:1: a1, defined at 3:1, cannot be used as it is: a0 is a schema and needs its holes filled: a0(x) (used through a3 → a2 → a1)`,
		"a300":          `1:1: a1, defined at 3:1, cannot be used as it is: a0 is a schema and needs its holes filled: a0(x) (used through a300 → a299 → a298 → … → a3 → a2 → a1)`,
		"f(true)":       `1:1: f, defined at 2:1, cannot be used as it is: a0 is a schema and needs its holes filled: a0(x)`,
		"a0 = a300":     `1:6: "a0" would be defined by itself (a0 → a300 → a299 → … → a2 → a1 → a0)`,
		"a0 = a1 & a2":  `1:6: "a0" would be defined by itself (a0 → a1 → a0)`,
		"a0(x) = a0(x)": `1:9: "a0" would be defined by itself (a0 → a0)`,
	} {
		if _, err := try(s, src); err == nil || err.Error() != want {
			t.Errorf("%s: got %v", src, err)
		}
	}
}
