package logic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReadDIMACS(t *testing.T) {
	for _, c := range []struct {
		name, in string
		models   int64
		weighted string // empty for unweighted
	}{
		{"free variable", "p cnf 4 3\n1 3 -4 0\n4 0\n2 -3 0\n", 4, ""},
		{"no clause", "p cnf 3 0\n", 8, ""},
		{"no variable", "p cnf 0 0\n", 1, ""},
		{"empty clause", "p cnf 2 2\n1 2 0\n0\n", 0, ""},
		{"empty clause only", "p cnf 0 1\n0\n", 0, ""},
		{"one clause on three lines, blank lines between", "p cnf 3 2\n1\n\n2\n  \n3 0\n-1 0\n", 3, ""},
		{"several clauses on a line", "p cnf 3 3\n1 2 0 -1 3 0 -2 0", 1, ""},
		{"CRLF, byte-order mark, tabs", "\xEF\xBB\xBFc hello\r\np\tcnf  2 1\r\n1 2 0\r\n", 3, ""},
		{"SATLIB's end", "p cnf 2 1\n1 -2 0\n%\n0\n\n", 3, ""},
		{"tautological and repeated literals", "p cnf 2 2\n1 -1 0\n2 2 0\n", 2, ""},
		{"comments", "comment\nc\nc p\nc t mc\np cnf 1 1\nc 1 2 3\n1 0\nc end", 1, ""},
		{"all shown", "c t mc\np cnf 2 1\nc p show 1 2 0\n1 2 0\n", 3, ""},
		{"weights", "c t wmc\np cnf 3 2\nc p weight 1 0.25 0\nc p weight -1 0.75 0\n1 2 0\n-1 3 0\n", 4, "2"},
		{"weights before the header", "c p weight 1 1/3 0\nc p weight -1 2/3 0\np cnf 1 1\n1 0\n", 1, "1/3"},
		{"one polarity", "p cnf 1 1\nc p weight -1 0.3 0\n1 0\n", 1, "7/10"},
		{"the other polarity, free", "c t wmc\np cnf 2 1\nc p weight 1 0.4 0\nc p weight 2 1 0\n1 2 0\n", 3, "1"},
		{"the weight 1, whose complement is 0", "c t wmc\np cnf 2 1\nc p weight 1 1 0\n-1 2 0\n", 3, "1"},
		{"free weighted variables", "c t wmc\np cnf 3 1\nc p weight 2 2 0\nc p weight -2 5 0\n1 0\n", 4, "14"},
		{"weights that sum to 0", "p cnf 2 1\nc p weight 1 1 0\nc p weight -1 -1 0\n1 2 0\n", 3, "1"},
		{"weights that sum to 0, free", "p cnf 2 1\nc p weight 2 1 0\nc p weight -2 -1 0\n1 0\n", 2, "0"},
		{"large, negative, exponents", "p cnf 2 1\nc p weight 1 1e3 0\nc p weight -1 -2.5E-1 0\n1 2 0\n", 3, "7999/4"},
		{"declared unweighted", "c t mc\np cnf 1 1\nc p weight 1 0.3 0\n1 0\n", 1, ""},
		{"declared weighted without weights", "c t wmc\np cnf 2 1\n1 2 0\n", 3, "3"},
	} {
		cnf, err := ReadDIMACS(strings.NewReader(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		n, err := cnf.Count(context.Background())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if n.Models.Cmp(big.NewInt(c.models)) != 0 || n.Satisfiable != (c.models > 0) {
			t.Errorf("%s: %v models, want %d", c.name, n.Models, c.models)
		}
		if got := ""; n.Weighted != nil || c.weighted != "" {
			if n.Weighted != nil {
				got = n.Weighted.RatString()
			}
			if got != c.weighted {
				t.Errorf("%s: weighted count %q, want %q", c.name, got, c.weighted)
			}
		}
	}
}

func TestDIMACSErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", "no header"},
		{"c only comments\n", "no header"},
		{"1 2 0\n", "line 1: \"1\" before the header"},
		{"p cnf 2\n", "line 1: the header"},
		{"p dnf 2 1\n", "line 1: the header"},
		{"p cnf -1 2\n", "line 1: the header's"},
		{"p cnf 99999999999999999999 2\n", "are not two counts"},
		{"p cnf 1000000000 1\n1 0\n", "at most 10000000"},
		{"p cnf 3 1000000000\n1 0\n", "the file may be cut short"},
		{"p cnf 2 1\np cnf 2 1\n", "line 2: a second header"},
		{"p cnf 2 1\n3 0\n", "line 2: literal 3, but the header in line 1 declares variables up to 2"},
		{"p cnf 2 1\n-9223372036854775808 0\n", "declares variables up to 2"},
		{"p cnf 2 1\n1 x 0\n", "line 2: \"x\" is no literal"},
		{"p cnf 2 1\n1 2\x00 0\n", "is no literal"},
		{"p cnf 2 1\n" + strings.Repeat("9", 100) + " 0\n", "is no literal"},
		{"p cnf 2 2\n1 0\n1 2\n\n", "line 3: the clause that starts here is not ended by 0"},
		{"p cnf 2 2\n1 0\n", "promises 2"},
		{"p cnf 2 1\n1 0\n2 0\n", "line 3: more clauses"},
		{"p cnf 2 1\nc p weight 3 0.5 0\n", "line 2: literal 3"},
		{"p cnf 2 1\nc p weight 1 heavy 0\n", "line 2: \"heavy\" is no weight"},
		{"p cnf 2 1\nc p weight 1 0x10 0\n", "is no weight"},
		{"p cnf 2 1\nc p weight 1 1/0 0\n", "is no weight"},
		{"p cnf 2 1\nc p weight 1 1e999999999 0\n", "is no weight of"},
		{"p cnf 2 1\nc p weight 1 0.5 1\n", "a weight line is"},
		{"p cnf 2 1\nc p weight 1\n", "a weight line is"},
		{"p cnf 2 1\nc p weight 0 0.5 0\n", "literal 0"},
		{"p cnf 2 1\nc p weight 1 0.5 0\nc p weight 1 0.6 0\n", "line 3: literal 1 already has the weight 1/2"},
		{"p cnf 2 1\nc p weight 1 2 0\n1 0\n", "add a line \"c p weight -1"},
		{"p cnf 2 1\nc p show 1 0\n1 0\n", "line 2: projected model counting is not supported"},
		{"c t pmc\np cnf 2 1\n1 0\n", "line 1: projected model counting"},
	} {
		_, err := ReadDIMACS(strings.NewReader(c.in))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: error %v, want one with %q", c.in, err, c.want)
		}
	}
	if _, err := ReadDIMACS(failing{}); err == nil || !errors.Is(err, errBroken) {
		t.Errorf("a reader's error is lost: %v", err)
	}
	long := "p cnf 1 1\n1 " + strings.Repeat(" ", maxDIMACSLine+(1<<17)) + "0\n"
	if _, err := ReadDIMACS(strings.NewReader(long)); err == nil || !strings.Contains(err.Error(), "line 2: longer than") {
		t.Errorf("an endless line: %v", err)
	}
}

var errBroken = errors.New("broken")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

// Random weighted CNFs against enumeration in exact arithmetic.
func TestCNFCountAgainstEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 10).Draw(t, "n")
		m := rapid.IntRange(0, 2*n).Draw(t, "m")
		var b strings.Builder
		fmt.Fprintf(&b, "c t wmc\np cnf %d %d\n", n, m)
		weights := map[int]*big.Rat{}
		for v := 1; v <= n; v++ {
			for _, l := range []int{v, -v} {
				weights[l] = big.NewRat(1, 1)
			}
			if rapid.Bool().Draw(t, "weighted") {
				for _, l := range []int{v, -v} {
					w := big.NewRat(rapid.Int64Range(-3, 6).Draw(t, "numerator"), rapid.Int64Range(1, 6).Draw(t, "denominator"))
					fmt.Fprintf(&b, "c p weight %d %s 0\n", l, w.RatString())
					weights[l] = w
				}
			}
		}
		var clauses [][]int
		for range m {
			var c []int
			for range rapid.IntRange(0, 4).Draw(t, "length") {
				l := rapid.IntRange(1, n).Draw(t, "v")
				if rapid.Bool().Draw(t, "neg") {
					l = -l
				}
				c = append(c, l)
				fmt.Fprintf(&b, "%d ", l)
			}
			fmt.Fprintln(&b, "0")
			clauses = append(clauses, c)
		}
		models := int64(0)
		total := new(big.Rat)
	next:
		for bits := range 1 << n {
			for _, c := range clauses {
				ok := false
				for _, l := range c {
					ok = ok || l > 0 && bits>>(l-1)&1 == 1 || l < 0 && bits>>(-l-1)&1 == 0
				}
				if !ok {
					continue next
				}
			}
			models++
			p := big.NewRat(1, 1)
			for v := 1; v <= n; v++ {
				if bits>>(v-1)&1 == 1 {
					p.Mul(p, weights[v])
				} else {
					p.Mul(p, weights[-v])
				}
			}
			total.Add(total, p)
		}
		cnf, err := ReadDIMACS(strings.NewReader(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := cnf.Count(context.Background(), func(c *compiler) { c.way = way(rapid.IntRange(0, 2).Draw(t, "way")) })
		if err != nil {
			t.Fatal(err)
		}
		if got.Models.Cmp(big.NewInt(models)) != 0 || got.Weighted.Cmp(total) != 0 {
			t.Fatalf("%s%v models, %v; want %d, %v", b.String(), got.Models, got.Weighted, models, total)
		}
		f, _ := total.Float64()
		if want := math.Log10(math.Abs(f)); !near(got.Log10, want, 1e-12) {
			t.Fatalf("log10 %v, want %v", got.Log10, want)
		}
	})
}

func TestLog10OfLargeCounts(t *testing.T) {
	cnf, err := ReadDIMACS(strings.NewReader("p cnf 5000 1\n1 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := cnf.Count(context.Background())
	if err != nil || !near(n.Log10, 4999*math.Log10(2), 1e-12) {
		t.Errorf("log10 = %v, %v", n.Log10, err)
	}
}

// Whatever is read can be counted or refused, and what was read says the same when written again.
func FuzzReadDIMACS(f *testing.F) {
	for _, s := range []string{
		"p cnf 4 3\n1 3 -4 0\n4 0\n2 -3 0\n",
		"c t wmc\np cnf 3 2\nc p weight 1 0.25 0\nc p weight -1 3/4 0\n1 2 0\n-1 3 0\n",
		"p cnf 2 1\n1 -2 0\n%\n0\n",
		"\xEF\xBB\xBFp cnf 1 1\r\n\r\n1\r\n0",
		"p cnf 10000000 99999999\n1 0",
		"c p weight 1 1e400 0\np cnf 1 1\n0\n",
		"p cnf 3 2\x00\n1 2 0 3 0",
		"c p show 1 0\np cnf 1 0\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		cnf, err := ReadDIMACS(strings.NewReader(string(in)))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "reading DIMACS: ") {
				t.Errorf("error %q does not say what was being done", err)
			}
			return
		}
		if cnf.Vars > 64 || len(cnf.Clauses) > 64 {
			return
		}
		n, err := cnf.Count(context.Background(), WithNodeLimit(20_000))
		if err != nil {
			if !errors.Is(err, ErrTooLarge) {
				t.Errorf("counting: %v", err)
			}
			return
		}
		var b strings.Builder
		fmt.Fprintf(&b, "p cnf %d %d\n", cnf.Vars, len(cnf.Clauses))
		for _, c := range cnf.Clauses {
			for _, l := range c {
				fmt.Fprintf(&b, "%d\n", l)
			}
			fmt.Fprint(&b, "0 ")
		}
		again, err := ReadDIMACS(strings.NewReader(b.String()))
		if err != nil {
			t.Fatalf("%q is read, but not %q: %v", in, b.String(), err)
		}
		m, err := again.Count(context.Background())
		if err != nil || m.Models.Cmp(n.Models) != 0 {
			t.Errorf("%v models, written again %v, %v", n.Models, m.Models, err)
		}
	})
}

// Sets of variables are held for the nodes in use alone: of a chain of 100,000 all would be 2.5 GB.
func TestCNFCountOfALongChain(t *testing.T) {
	const n = 100_000
	var file strings.Builder
	fmt.Fprintf(&file, "c t wmc\np cnf %d %d\nc p weight 1 1/3 0\n", n, n-1)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&file, "%d %d 0\n", -i, i+1)
	}
	cnf, err := ReadDIMACS(strings.NewReader(file.String()))
	if err != nil {
		t.Fatal(err)
	}
	m, err := cnf.Count(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	// The first variable true makes all true; else there are n ways.
	if want := new(big.Rat).SetFrac64(1+2*n, 3); m.Weighted.Cmp(want) != 0 {
		t.Errorf("%v, want %v", m.Weighted, want)
	}
}

// What says so many digits that they outgrow the limit ends with an error; so does a CNF that a program
// has put together wrongly.
func TestCNFCountErrors(t *testing.T) {
	huge := &CNF{Vars: 3000, weights: map[int32]*big.Rat{}}
	for v := int32(1); v <= 3000; v++ {
		w := new(big.Int).Exp(big.NewInt(int64(v)+10), big.NewInt(800), nil)
		huge.weights[v], huge.weights[-v] = new(big.Rat).SetFrac(w, big.NewInt(3)), big.NewRat(1, 3)
		if v > 1 {
			huge.Clauses = append(huge.Clauses, []int32{1 - v, v})
		}
	}
	if _, err := huge.Count(context.Background(), WithNodeLimit(10_000)); !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "the 2 MB that the limit of 10000 nodes allows; raise the limit") {
		t.Error(err)
	}
	for want, c := range map[string]*CNF{
		"clause 2 has the literal 0, and there are the variables 1 to 3":           {Vars: 3, Clauses: [][]int32{{1}, {2, 0}}},
		"clause 1 has the literal -4, and there are the variables 1 to 3":          {Vars: 3, Clauses: [][]int32{{-4}}},
		"clause 1 has the literal -2147483648, and there are the variables 1 to 3": {Vars: 3, Clauses: [][]int32{{math.MinInt32}}},
		"-1 variables are declared, and there may be 0 to 10000000":                {Vars: -1},
	} {
		if _, err := c.Count(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
