package logic

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// CNF is a formula in conjunctive normal form read from DIMACS, with the literal weights of the model
// counting competition if it has any.
type CNF struct {
	Vars    int       // declared variables, 1 … Vars
	Clauses [][]int32 // literals: variable numbers, negative for negated ones
	Type    string    // what the file says is to be counted: "mc", "wmc", or "" where it says nothing

	weights map[int32]*big.Rat // by literal
}

// Bounds on DIMACS input: what a header promises is believed only as far as the file bears it out.
const (
	maxDIMACSVars    = 10_000_000
	maxDIMACSLine    = 64 << 20
	maxDIMACSToken   = 400
	maxDIMACSLiteral = 50_000_000
)

// ReadDIMACS reads a CNF in DIMACS form. Clauses may span lines or share them; blank lines, comments,
// CRLF, a byte-order mark and SATLIB's closing "%" are accepted, fewer or more clauses than the header
// promises are not. Of the model counting competition's lines it reads
//
//	c t mc | wmc
//	c p weight LITERAL WEIGHT 0
//
// WEIGHT is a decimal number or a fraction such as 1/3, of any sign and size. What a file leaves open is
// as the competition's description of 2021 has it ("Data Format", section 2.1, kept since): a variable
// without weights weighs 1 either way, so a free variable doubles the count; where one literal has the
// weight w and the other none, the other has 1 − w. The format speaks of weights in [0, 1] there, and like
// SharpSAT-TD this is an error for others, which counters complete in different ways (Ganak's manual warns
// of it).
// Projected counting (c p show, c t pmc) is refused unless every variable is shown.
//
// An error names the line.
func ReadDIMACS(r io.Reader) (*CNF, error) {
	d := &dimacs{cnf: &CNF{weights: map[int32]*big.Rat{}}, clauses: -1}
	br := bufio.NewReaderSize(r, 64<<10)
	if bom, err := br.Peek(3); err == nil && bytes.Equal(bom, []byte{0xEF, 0xBB, 0xBF}) {
		br.Discard(3)
	}
	var line []byte
	for n := 1; ; n++ {
		line = line[:0]
		var err error
		for {
			var part []byte
			part, err = br.ReadSlice('\n')
			line = append(line, part...)
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
			if len(line) > maxDIMACSLine {
				return nil, fmt.Errorf("reading DIMACS: line %d: longer than %d bytes; break the clauses over several lines", n, maxDIMACSLine)
			}
		}
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading DIMACS: line %d: %w", n, err)
		}
		done, perr := d.line(line, n)
		if perr != nil {
			return nil, fmt.Errorf("reading DIMACS: line %d: %w", n, perr)
		}
		if done || err == io.EOF {
			break
		}
	}
	if err := d.finish(); err != nil {
		return nil, fmt.Errorf("reading DIMACS: %w", err)
	}
	return d.cnf, nil
}

type dimacs struct {
	cnf      *CNF
	clauses  int // promised by the header, -1 before it
	header   int // line
	open     []int32
	openLine int
	literals int
	shown    map[int32]bool
	shownAt  int
	late     []func() error // weight and show lines before the header
}

// line reads one line; done is true at SATLIB's end mark.
func (d *dimacs) line(b []byte, n int) (done bool, err error) {
	fields := bytes.Fields(b)
	if len(fields) == 0 {
		return false, nil
	}
	switch first := string(cut(fields[0])); {
	case first == "c":
		return false, d.comment(fields[1:], n)
	case first == "p":
		return false, d.problem(fields, n)
	case first == "%":
		return true, nil
	case first[0] == 'c' && !(len(first) > 1 && (first[1] == '-' || first[1] >= '0' && first[1] <= '9')):
		return false, nil // "comment" without a space after the c
	}
	if d.clauses < 0 {
		return false, fmt.Errorf("%q before the header; a line \"p cnf VARIABLES CLAUSES\" has to come first", cut(fields[0]))
	}
	for _, f := range fields {
		if len(f) == 1 && f[0] == '%' {
			return true, nil
		}
		l, err := d.literal(f)
		if err != nil {
			return false, err
		}
		if l != 0 {
			if len(d.open) == 0 {
				d.openLine = n
			}
			if d.literals++; d.literals > maxDIMACSLiteral {
				return false, fmt.Errorf("more than %d literals", maxDIMACSLiteral)
			}
			d.open = append(d.open, l)
			continue
		}
		if len(d.cnf.Clauses) == d.clauses {
			return false, fmt.Errorf("more clauses than the %d of the header in line %d", d.clauses, d.header)
		}
		d.cnf.Clauses = append(d.cnf.Clauses, slices.Clone(d.open))
		d.open = d.open[:0]
	}
	return false, nil
}

// cut shortens a token for an error message.
func cut(b []byte) []byte {
	if len(b) > 40 {
		return append(slices.Clone(b[:40]), "…"...)
	}
	return b
}

func (d *dimacs) literal(f []byte) (int32, error) {
	if len(f) > 20 {
		return 0, fmt.Errorf("%q is no literal; a literal is a variable's number, negative for its negation, 0 ends a clause", cut(f))
	}
	l, err := strconv.ParseInt(string(f), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is no literal; a literal is a variable's number, negative for its negation, 0 ends a clause", cut(f))
	}
	if l > int64(d.cnf.Vars) || l < -int64(d.cnf.Vars) {
		return 0, fmt.Errorf("literal %d, but the header in line %d declares variables up to %d", l, d.header, d.cnf.Vars)
	}
	return int32(l), nil
}

func (d *dimacs) problem(fields [][]byte, n int) error {
	if d.clauses >= 0 {
		return fmt.Errorf("a second header; the first is in line %d", d.header)
	}
	if len(fields) != 4 || string(fields[1]) != "cnf" {
		return fmt.Errorf("the header is %q; \"p cnf VARIABLES CLAUSES\" is expected", cut(bytes.Join(fields, []byte(" "))))
	}
	vars, err1 := strconv.Atoi(string(cut(fields[2])))
	clauses, err2 := strconv.Atoi(string(cut(fields[3])))
	if err1 != nil || err2 != nil || vars < 0 || clauses < 0 {
		return fmt.Errorf("the header's %q and %q are not two counts", cut(fields[2]), cut(fields[3]))
	}
	if vars > maxDIMACSVars {
		return fmt.Errorf("the header declares %d variables; at most %d are read", vars, maxDIMACSVars)
	}
	d.cnf.Vars, d.clauses, d.header = vars, clauses, n
	for _, f := range d.late {
		if err := f(); err != nil {
			return err
		}
	}
	d.late = nil
	return nil
}

// comment reads the lines of the model counting competition that look like comments.
func (d *dimacs) comment(fields [][]byte, n int) error {
	if len(fields) < 2 {
		return nil
	}
	switch {
	case string(fields[0]) == "t" && len(fields) == 2:
		switch t := string(fields[1]); t {
		case "mc", "wmc":
			d.cnf.Type = t
		case "pmc", "pwmc", "wpmc":
			return fmt.Errorf("projected model counting (%s) is not supported", t)
		}
		return nil
	case string(fields[0]) != "p":
		return nil
	}
	var read func() error
	switch string(fields[1]) {
	case "weight":
		args := cloneFields(fields[2:])
		read = func() error { return d.weight(args, n) }
	case "show":
		args := cloneFields(fields[2:])
		read = func() error { return d.show(args, n) }
	default:
		return nil
	}
	if d.clauses < 0 { // the header may come later
		if d.literals += len(fields); d.literals > maxDIMACSLiteral {
			return errors.New("too many lines before the header")
		}
		d.late = append(d.late, func() error {
			if err := read(); err != nil {
				return fmt.Errorf("(of line %d) %w", n, err)
			}
			return nil
		})
		return nil
	}
	return read()
}

func cloneFields(fields [][]byte) [][]byte {
	out := make([][]byte, len(fields))
	for i, f := range fields {
		out[i] = slices.Clone(f)
	}
	return out
}

func (d *dimacs) weight(args [][]byte, n int) error {
	if len(args) < 2 || len(args) > 3 || len(args) == 3 && string(args[2]) != "0" {
		return errors.New("a weight line is \"c p weight LITERAL WEIGHT 0\"")
	}
	l, err := d.literal(args[0])
	if err != nil {
		return err
	}
	if l == 0 {
		return errors.New("literal 0 has no weight")
	}
	w, err := parseWeight(args[1])
	if err != nil {
		return err
	}
	if old, ok := d.cnf.weights[l]; ok && old.Cmp(w) != 0 {
		return fmt.Errorf("literal %d already has the weight %s", l, old.RatString())
	}
	d.cnf.weights[l] = w
	return nil
}

// parseWeight reads a decimal number or a fraction exactly.
func parseWeight(b []byte) (*big.Rat, error) {
	bad := fmt.Errorf("%q is no weight; a decimal number or a fraction is", cut(b))
	if len(b) > maxDIMACSToken {
		return nil, bad
	}
	s := string(b)
	if strings.Trim(s, "+-.0123456789eE/") != "" {
		return nil, bad
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > 400 || e < -400 {
			return nil, fmt.Errorf("%q is no weight of 10⁻⁴⁰⁰ to 10⁴⁰⁰", cut(b))
		}
	}
	w, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, bad
	}
	return w, nil
}

func (d *dimacs) show(args [][]byte, n int) error {
	if d.shown == nil {
		d.shown = map[int32]bool{}
	}
	d.shownAt = n
	for _, a := range args {
		v, err := d.literal(a)
		if err != nil {
			return err
		}
		if v < 0 {
			return fmt.Errorf("%d in a line of shown variables", v)
		}
		if v > 0 {
			d.shown[v] = true
		}
	}
	return nil
}

func (d *dimacs) finish() error {
	c := d.cnf
	switch {
	case d.clauses < 0:
		return errors.New("no header \"p cnf VARIABLES CLAUSES\"")
	case len(d.open) > 0:
		return fmt.Errorf("line %d: the clause that starts here is not ended by 0", d.openLine)
	case len(c.Clauses) < d.clauses:
		return fmt.Errorf("%d clauses, but the header in line %d promises %d; the file may be cut short", len(c.Clauses), d.header, d.clauses)
	case d.shown != nil && len(d.shown) < c.Vars:
		return fmt.Errorf("line %d: projected model counting is not supported (%d of %d variables are shown)", d.shownAt, len(d.shown), c.Vars)
	}
	one := big.NewRat(1, 1)
	var lits []int32
	for l := range c.weights {
		lits = append(lits, l)
	}
	slices.Sort(lits)
	for _, l := range lits {
		if _, ok := c.weights[-l]; ok {
			continue
		}
		other := new(big.Rat).Sub(one, c.weights[l])
		if other.Sign() < 0 || other.Cmp(one) > 0 {
			return fmt.Errorf("literal %d has the weight %s and literal %d has none; add a line \"c p weight %d WEIGHT 0\"", l, c.weights[l].RatString(), -l, -l)
		}
		c.weights[-l] = other
	}
	return nil
}

// Weighted tells whether models are to be weighted: the file says so, or gives weights and says nothing.
func (c *CNF) Weighted() bool {
	return c.Type == "wmc" || c.Type == "" && len(c.weights) > 0
}

// Weight returns the weight of a literal, 1 unless the file gives one.
func (c *CNF) Weight(literal int) *big.Rat {
	if w, ok := c.weights[int32(literal)]; ok {
		return new(big.Rat).Set(w)
	}
	return big.NewRat(1, 1)
}

// Formula returns the conjunction of the clauses; variable n of the file is Var n-1. Variables in no
// clause do not occur in it.
func (c *CNF) Formula() *Formula {
	pos := make(map[int32]*Formula)
	clauses := make([]*Formula, len(c.Clauses))
	for i, cl := range c.Clauses {
		lits := make([]*Formula, len(cl))
		for j, l := range cl {
			f, ok := pos[l]
			if !ok {
				f = Literal(Var(max(l, -l) - 1))
				if l < 0 {
					f = Not(f)
				}
				pos[l] = f
			}
			lits[j] = f
		}
		clauses[i] = Or(lits...)
	}
	return And(clauses...)
}
