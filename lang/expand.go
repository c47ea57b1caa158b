package lang

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
)

// value is what an expression stands for.
type value struct {
	kind valueKind
	t    *term   // of a formulaValue
	text string  // of a textValue
	n    float64 // of a numberValue
	l    *ladderSpec
	data bool // a text from a data file, which may be meant as a number
}

type valueKind uint8

const (
	formulaValue valueKind = iota
	textValue
	numberValue
	ladderValue
	anyValue // a hole that has not been filled yet
)

func (v value) describe() string {
	switch v.kind {
	case textValue:
		return "a text"
	case numberValue:
		return "a number"
	case ladderValue:
		return "a ladder"
	}
	return "a formula"
}

// expander writes expressions out to terms: it looks up names, fills holes and
// turns functions into what they stand for.
type expander struct {
	s     *Session
	src   *syntax.Source
	holes map[string]value
	path  callPath // tells one writing of a schema's prob(…) from another

	*expansion
}

// expansion is what the expanders of one statement share.
type expansion struct {
	terms int // made so far
	depth int
	peak  int                 // the greatest depth so far
	open  []*definition       // being written out, outermost first
	at    map[*definition]int // where in open each is
}

// callPath stands for the chain of schema calls that leads to where an expander is. It is their
// hash, so that a call in a long chain costs no more than one in a short one.
type callPath [sha256.Size]byte

// then returns the path of a call that is met on p.
func (p callPath) then(call *syntax.Call) callPath {
	return sha256.Sum256(fmt.Appendf(p[:], "%p", call))
}

func newExpander(s *Session, src *syntax.Source) *expander {
	return &expander{s: s, src: src, expansion: &expansion{at: map[*definition]int{}}}
}

// check writes a definition out, a schema with holes that fit anywhere.
func (e *expander) check(d *definition) error {
	if d.params == nil {
		_, err := e.definition(d)
		return err
	}
	v, err := e.unfilled(d, d.body)
	if err != nil {
		return err
	}
	if v.kind == textValue || v.kind == numberValue {
		return d.src.Errorf(d.body, "a schema stands for a formula, and this is %s", v.describe())
	}
	return nil
}

// unfilled writes a schema out with holes that fit anywhere. What comes of it is kept until
// something is redefined, so that schemas that call each other are checked in
// time linear in what they say; x is where it is used.
func (e *expander) unfilled(d *definition, x syntax.Node) (value, error) {
	if c := d.checked.Load(); c != nil {
		if e.terms += c.terms; e.terms > maxTerms {
			return value{}, e.tooMany(x)
		}
		if e.peak = max(e.peak, e.depth+c.depth); e.peak > maxDepth {
			return value{}, e.tooDeep(x)
		}
		return c.value, nil
	}
	holes := make(map[string]value, len(d.params))
	for _, p := range d.params {
		holes[p] = value{kind: anyValue}
	}
	terms, peak := e.terms, e.peak
	e.peak = e.depth
	v, err := e.body(d, holes, e.path)
	if err != nil {
		return value{}, err
	}
	d.checked.Store(&checking{v, e.terms - terms, e.peak - e.depth})
	e.peak = max(e.peak, peak)
	return v, nil
}

// definition returns what a name that is no schema stands for.
func (e *expander) definition(d *definition) (value, error) {
	if v, ok := d.known(); ok {
		return v, nil
	}
	v, err := e.body(d, nil, callPath{})
	if err != nil {
		return value{}, err
	}
	if v.kind == textValue || v.kind == numberValue {
		return value{}, d.src.Errorf(d.body, "a name stands for an event or a formula, and this is %s", v.describe())
	}
	d.written.Store(&writing{value: v})
	return v, nil
}

// body writes out what a definition says, with its holes filled.
func (e *expander) body(d *definition, holes map[string]value, path callPath) (value, error) {
	if i, ok := e.at[d]; ok {
		var names []string
		for _, o := range e.open[i:] {
			names = append(names, o.name)
		}
		return value{}, &cycleError{append(names, d.name)}
	}
	e.at[d] = len(e.open)
	e.open = append(e.open, d)
	defer func() {
		e.open = e.open[:len(e.open)-1]
		delete(e.at, d)
	}()
	inner := &expander{s: e.s, src: d.src, holes: holes, path: path, expansion: e.expansion}
	return inner.value(d.body)
}

// used puts an error within a definition to the place where that is used.
// A definition being made keeps its own places.
func (e *expander) used(n syntax.Node, d *definition, err error) error {
	var cycle *cycleError
	if _, ok := err.(*Error); !ok || errors.As(err, &cycle) {
		if cycle != nil {
			err = cycle
		}
		return e.src.Errorf(n, "%w", err)
	}
	inner := &usedError{names: []string{d.name}, place: placeOf(d), why: message(err)}
	var u *usedError
	if errors.As(err, &u) {
		inner = &usedError{append(u.names, d.name), u.place, u.why}
	}
	return e.src.Errorf(n, "%w", inner)
}

// cycleError is a definition that would mention itself.
type cycleError struct {
	names []string // the first again at the end
}

func (e *cycleError) Error() string {
	return fmt.Sprintf("%q would be defined by itself (%s)", e.names[0], pathOf(e.names))
}

// usedError is what is wrong with a definition that others use.
type usedError struct {
	names []string // what uses it, innermost first; the first is the definition itself
	place string
	why   string
}

func (e *usedError) Error() string {
	through := ""
	if len(e.names) > 1 {
		names := slices.Clone(e.names)
		slices.Reverse(names)
		through = " (used through " + pathOf(names) + ")"
	}
	return fmt.Sprintf("%s, defined at %s, cannot be used as it is: %s%s", e.names[0], e.place, e.why, through)
}

// pathOf shows which names lead to each other, of many the first and last ones.
func pathOf(names []string) string {
	const most = 6
	if len(names) > most {
		names = slices.Concat(names[:most/2], []string{"…"}, names[len(names)-most/2:])
	}
	return strings.Join(names, " → ")
}

func placeOf(d *definition) string {
	if d.src.Path == "" {
		return d.pos.String()
	}
	return d.src.Path + ":" + d.pos.String()
}

// term makes a term and counts it.
func (e *expander) term(x syntax.Node, t term) (*term, error) {
	if e.terms++; e.terms > maxTerms {
		return nil, e.tooMany(x)
	}
	for _, k := range t.kids {
		t.depth = max(t.depth, k.depth+1)
	}
	if t.depth > maxDepth {
		return nil, e.tooDeep(x)
	}
	return &t, nil
}

func (e *expander) tooMany(x syntax.Node) error {
	return e.src.Errorf(x, "the formula has more than %s parts when all names and schemas are written out; use a smaller one", count(maxTerms))
}

func (e *expander) tooDeep(x syntax.Node) error {
	return e.src.Errorf(x, "the formula is nested more than %s levels deep when all names and schemas are written out; use a flatter one", count(maxDepth))
}

func (e *expander) formulaOf(x syntax.Node, t term) (value, error) {
	made, err := e.term(x, t)
	return value{kind: formulaValue, t: made}, err
}

// formula writes out an expression that must be a formula.
func (e *expander) formula(x syntax.Expr) (*term, error) {
	v, err := e.value(x)
	if err != nil {
		return nil, err
	}
	return e.asFormula(x, v)
}

func (e *expander) asFormula(x syntax.Expr, v value) (*term, error) {
	switch v.kind {
	case anyValue:
		return e.term(x, term{op: termTrue})
	case ladderValue:
		return nil, e.src.Errorf(x, `this is a ladder, which is many formulas; ladder("text", k) is the one for k`)
	case textValue, numberValue:
		if n, ok := x.(*syntax.Name); ok {
			return nil, e.src.Errorf(x, "the hole %q is filled with %s, and a formula is needed here", n.Text, v.describe())
		}
		hint := ""
		if v.kind == textValue {
			hint = `; an event is M("prefix", "target")`
		} else {
			hint = "; an event with a given probability is prob(0.3)"
		}
		return nil, e.src.Errorf(x, "this is %s, and a formula is needed here%s", v.describe(), hint)
	}
	return v.t, nil
}

// text writes out an expression that must be a text.
func (e *expander) text(x syntax.Expr, what string) (string, error) {
	v, err := e.value(x)
	if err != nil {
		return "", err
	}
	switch v.kind {
	case textValue:
		return v.text, nil
	case anyValue:
		return "", nil
	}
	return "", e.src.Errorf(x, "%s is a text in quotes, and this is %s", what, v.describe())
}

// number writes out an expression that must be a number.
func (e *expander) number(x syntax.Expr, what string, unknown float64) (float64, error) {
	v, err := e.value(x)
	if err != nil {
		return 0, err
	}
	switch v.kind {
	case numberValue:
		return v.n, nil
	case anyValue:
		return unknown, nil
	case textValue:
		if f, err := syntax.ParseNumber(strings.TrimSpace(v.text)); v.data && err == nil {
			return f, nil
		}
	}
	return 0, e.src.Errorf(x, "%s is a number, and this is %s", what, v.describe())
}

// whole writes out an expression that must be a whole number.
func (e *expander) whole(x syntax.Expr, what string, least int) (int, error) {
	n, err := e.number(x, what, float64(max(least, 1)))
	if err != nil {
		return 0, err
	}
	if n != math.Trunc(n) || n < float64(least) || n > math.MaxInt32 {
		return 0, e.src.Errorf(x, "%s is a whole number from %d on", what, least)
	}
	return int(n), nil
}

// value writes out an expression.
func (e *expander) value(x syntax.Expr) (value, error) {
	if e.depth++; e.depth > maxDepth {
		return value{}, e.tooDeep(x)
	}
	e.peak = max(e.peak, e.depth)
	defer func() { e.depth-- }()
	switch x := x.(type) {
	case *syntax.String:
		return value{kind: textValue, text: x.Value}, nil
	case *syntax.Number:
		return value{kind: numberValue, n: x.Value}, nil
	case *syntax.Bool:
		if x.Value {
			return e.formulaOf(x, term{op: termTrue})
		}
		return e.formulaOf(x, term{op: termFalse})
	case *syntax.Not:
		t, err := e.formula(x.X)
		if err != nil {
			return value{}, err
		}
		return e.formulaOf(x, term{op: termNot, kids: []*term{t}})
	case *syntax.Chain:
		return e.chain(x)
	case *syntax.Name:
		if v, ok := e.holes[x.Text]; ok {
			return v, nil
		}
		d, err := e.s.lookup(e.src, x, e.holes)
		if err != nil {
			return value{}, err
		}
		if d.params != nil {
			return value{}, e.src.Errorf(x, "%s is a schema and needs its holes filled: %s(%s)", d.name, d.name, strings.Join(d.params, ", "))
		}
		v, err := e.definition(d)
		if err != nil {
			return value{}, e.used(x, d, err)
		}
		return v, nil
	case *syntax.Call:
		return e.call(x)
	}
	panic(fmt.Sprintf("unknown expression %T", x))
}

var chainOps = map[syntax.Op]termOp{
	syntax.Iff: termIff, syntax.Implies: termImplies, syntax.Or: termOr, syntax.Xor: termXor, syntax.And: termAnd,
}

func (e *expander) chain(x *syntax.Chain) (value, error) {
	kids, err := e.formulas(x.X)
	if err != nil {
		return value{}, err
	}
	return e.formulaOf(x, term{op: chainOps[x.Op], kids: kids})
}

func (e *expander) formulas(xs []syntax.Expr) ([]*term, error) {
	kids := make([]*term, len(xs))
	for i, x := range xs {
		var err error
		if kids[i], err = e.formula(x); err != nil {
			return nil, err
		}
	}
	return kids, nil
}

// call writes out a schema or a formula maker.
func (e *expander) call(x *syntax.Call) (value, error) {
	if _, ok := e.holes[x.Fn.Text]; ok {
		return value{}, e.src.Errorf(x.Fn, "the hole %q stands for a text, a number or a formula, not for a schema", x.Fn.Text)
	}
	f := findFunction(x.Fn.Text)
	if f == nil {
		return e.schema(x)
	}
	if f.query {
		return value{}, e.src.Errorf(x, "%s gives a result, not a formula; it stands alone on its line", f.usage)
	}
	var join *syntax.Arg
	args := make([]syntax.Expr, 0, len(x.Args))
	for i, a := range x.Args {
		switch {
		case a.Name == nil:
			args = append(args, a.X)
		case a.Name.Text == "join" && f.name == "M" && join == nil:
			join = &x.Args[i]
		default:
			return value{}, e.src.Errorf(a.Name, "%s has no argument %q; write %s", f.name, a.Name.Text, f.usage)
		}
	}
	wrong := func() (value, error) {
		return value{}, e.src.Errorf(x, "%s does not take %s; write %s", f.name, plural(len(args), "argument"), f.usage)
	}
	switch f.name {
	case "M":
		if len(args) != 2 {
			return wrong()
		}
		var ev event.Event
		var err error
		if ev.Prefix, err = e.text(args[0], "the prefix"); err != nil {
			return value{}, err
		}
		if ev.Target, err = e.text(args[1], "the target"); err != nil {
			return value{}, err
		}
		if join != nil {
			j, err := e.text(join.X, "join")
			if err != nil {
				return value{}, err
			}
			ev.Join = &j
		}
		if lit, ok := args[1].(*syntax.String); ok && lit.Value == "" {
			return value{}, e.src.Errorf(args[1], "the target is empty; name the token that should follow the prefix")
		}
		a := eventAtom(ev)
		return e.formulaOf(x, term{op: termAtom, atom: a})

	case "prob":
		if len(args) != 1 {
			return wrong()
		}
		p, err := e.number(args[0], "a probability", 0.5)
		if err != nil {
			return value{}, err
		}
		if !(p >= 0 && p <= 1) {
			return value{}, e.src.Errorf(args[0], "a probability lies between 0 and 1")
		}
		a := &atom{kind: atomProb, p: p, key: fmt.Sprintf("p%p%x", x, e.path)}
		return e.formulaOf(x, term{op: termAtom, atom: a})

	case "likelihood":
		if len(args) != 1 && len(args) != 2 {
			return wrong()
		}
		prefix, text, err := e.prefixed(args)
		if err != nil {
			return value{}, err
		}
		return e.formulaOf(x, term{op: termAtom, atom: textAtom(prefix, text, 0)})

	case "ladder":
		if len(args) == 0 {
			return wrong()
		}
		return e.ladder(x, args)
	}

	// atleast, atmost, exactly
	if len(args) < 2 {
		return wrong()
	}
	k, err := e.whole(args[0], "k", 0)
	if err != nil {
		return value{}, err
	}
	kids, err := e.formulas(args[1:])
	if err != nil {
		return value{}, err
	}
	op := map[string]termOp{"atleast": termAtLeast, "atmost": termAtMost, "exactly": termExactly}[f.name]
	return e.formulaOf(x, term{op: op, k: k, kids: kids})
}

// prefixed reads ("text") or ("prefix", "text").
func (e *expander) prefixed(args []syntax.Expr) (prefix, text string, err error) {
	if len(args) == 2 {
		if prefix, err = e.text(args[0], "the prefix"); err != nil {
			return "", "", err
		}
	}
	last := args[len(args)-1]
	if text, err = e.text(last, "the text"); err != nil {
		return "", "", err
	}
	if lit, ok := last.(*syntax.String); ok && lit.Value == "" {
		return "", "", e.src.Errorf(last, "the text is empty and has no tokens")
	}
	return prefix, text, nil
}

// ladder reads the three forms of a ladder: of a text, of a text after a prefix
// (each with a last k: only the formula for that k), and of given formulas.
func (e *expander) ladder(x *syntax.Call, args []syntax.Expr) (value, error) {
	first, err := e.value(args[0])
	if err != nil {
		return value{}, err
	}
	if first.kind == formulaValue {
		kids, err := e.formulas(args)
		if err != nil {
			return value{}, err
		}
		return value{kind: ladderValue, l: &ladderSpec{events: kids}}, nil
	}
	k := 0
	if len(args) > 1 {
		last, err := e.value(args[len(args)-1])
		if err != nil {
			return value{}, err
		}
		if last.kind == numberValue {
			if k, err = e.whole(args[len(args)-1], "k", 1); err != nil {
				return value{}, err
			}
			args = args[:len(args)-1]
		}
	}
	if len(args) > 2 {
		return value{}, e.src.Errorf(x, `write ladder("text"), ladder("prefix", "text"), one of them with a last k, or ladder(F, G, …)`)
	}
	prefix, text, err := e.prefixed(args)
	if err != nil {
		return value{}, err
	}
	if k > 0 {
		return e.formulaOf(x, term{op: termAtom, atom: textAtom(prefix, text, k)})
	}
	return value{kind: ladderValue, l: &ladderSpec{prefix: prefix, text: text}}, nil
}

// schema writes out a schema with its holes filled.
func (e *expander) schema(x *syntax.Call) (value, error) {
	d := e.s.names[x.Fn.Text]
	if d == nil {
		var near []string
		for _, n := range e.s.known(nil) {
			if d := e.s.names[n]; d == nil || d.params != nil {
				near = append(near, n)
			}
		}
		if best := nearest.Name(x.Fn.Text, near); best != "" {
			return value{}, e.src.Errorf(x.Fn, "no schema or function is called %q; did you mean %q?", x.Fn.Text, best)
		}
		return value{}, e.src.Errorf(x.Fn, "no schema or function is called %q; define it first, as in %s(x, a) = …", x.Fn.Text, x.Fn.Text)
	}
	if d.params == nil {
		return value{}, e.src.Errorf(x, "%s is no schema and takes no arguments; write %s alone", d.name, d.name)
	}
	if len(x.Args) != len(d.params) {
		return value{}, e.src.Errorf(x, "%s has %s and is given %s: %s(%s)", d.name, plural(len(d.params), "hole"), plural(len(x.Args), "argument"), d.name, strings.Join(d.params, ", "))
	}
	holes := make(map[string]value, len(d.params))
	unknown := len(x.Args) > 0 // only while a schema is checked
	for i, a := range x.Args {
		if a.Name != nil {
			return value{}, e.src.Errorf(a.Name, "a schema's holes are filled in order, without their names: %s(%s)", d.name, strings.Join(d.params, ", "))
		}
		v, err := e.value(a.X)
		if err != nil {
			return value{}, err
		}
		if v.kind == ladderValue {
			return value{}, e.src.Errorf(a.X, "a hole is filled with a text, a number or a formula, and this is a ladder")
		}
		holes[d.params[i]] = v
		unknown = unknown && v.kind == anyValue
	}
	if e.terms++; e.terms > maxTerms {
		return value{}, e.tooMany(x)
	}
	write := func() (value, error) { return e.body(d, holes, e.path.then(x)) }
	if unknown {
		write = func() (value, error) { return e.unfilled(d, x) }
	}
	v, err := write()
	if err != nil {
		return value{}, e.used(x, d, err)
	}
	return v, nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return count(n) + " " + what + "s"
}
