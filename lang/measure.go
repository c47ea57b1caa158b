package lang

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/logic"
)

// grounded is one or more formulas over shared variables: every atom resolved
// to the token events that the model will be asked about.
type grounded struct {
	vars     []variable
	atoms    []groundAtom
	formulas []*logic.Formula // one for each root
	read     bool             // the readings are there
}

// variable is a Boolean variable of a grounded formula: a token event, or an
// event of given probability.
type variable struct {
	step    *event.Step // nil for prob(…)
	given   float64     // of prob(…)
	label   string
	reading event.Reading
}

// groundAtom is an atom with its variables, in the order of its tokens.
type groundAtom struct {
	*atom
	label string
	vars  []int
}

// needsModel reports whether an atom of the terms asks a model.
func needsModel(atoms []*atom) bool {
	for _, a := range atoms {
		if a.kind != atomProb {
			return true
		}
	}
	return false
}

// atomsOf lists the distinct atoms of terms in the order in which they are
// first met.
func atomsOf(roots []*term) []*atom {
	var atoms []*atom
	seen := map[*term]bool{}
	known := map[string]bool{}
	var visit func(t *term)
	visit = func(t *term) {
		if seen[t] {
			return
		}
		seen[t] = true
		if t.op == termAtom && !known[t.atom.key] {
			known[t.atom.key] = true
			atoms = append(atoms, t.atom)
		}
		for _, k := range t.kids {
			visit(k)
		}
	}
	for _, t := range roots {
		visit(t)
	}
	return atoms
}

func (s *Session) reader(label string) *event.Reader {
	return &event.Reader{Model: s.model, Cache: s.opts.Cache, Progress: s.progress(label)}
}

// ground resolves the events of terms to tokens. The model is opened if it is
// needed, but not run.
func (s *Session) ground(ctx context.Context, u *unit, roots ...*term) (*grounded, error) {
	atoms := atomsOf(roots)
	if needsModel(atoms) {
		if err := s.needModel(ctx, u); err != nil {
			return nil, err
		}
	}
	g := &grounded{}
	byKey := map[string]int{}
	r := s.reader("")
	for _, a := range atoms {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		ga := groundAtom{atom: a}
		var steps []event.Step
		switch a.kind {
		case atomProb:
			ga.vars = []int{len(g.vars)}
			g.vars = append(g.vars, variable{given: a.p})
		case atomEvent:
			resolved, err := r.Resolve(ctx, []event.Event{a.ev})
			if err != nil {
				return nil, err
			}
			steps = resolved[0].Steps
		case atomText:
			var err error
			if steps, err = r.Likelihood(ctx, a.prefix, a.text); err != nil {
				return nil, err
			}
		}
		for i := range steps {
			key := steps[i].Key()
			v, ok := byKey[key]
			if !ok {
				v = len(g.vars)
				byKey[key] = v
				g.vars = append(g.vars, variable{step: &steps[i]})
			}
			ga.vars = append(ga.vars, v)
		}
		g.atoms = append(g.atoms, ga)
	}
	s.labelVariables(g)
	for _, t := range roots {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.formulas = append(g.formulas, g.formula(t))
	}
	return g, nil
}

// formula builds a term's formula over the variables.
func (g *grounded) formula(root *term) *logic.Formula {
	atoms := make(map[string]*logic.Formula, len(g.atoms))
	for _, a := range g.atoms {
		lits := make([]*logic.Formula, len(a.vars))
		for i, v := range a.vars {
			lits[i] = logic.Literal(logic.Var(v))
		}
		if a.kind == atomText && a.k > 0 {
			atoms[a.key] = logic.AtLeast(a.k, lits...)
		} else {
			atoms[a.key] = logic.And(lits...)
		}
	}
	made := map[*term]*logic.Formula{}
	var build func(t *term) *logic.Formula
	build = func(t *term) *logic.Formula {
		if f := made[t]; f != nil {
			return f
		}
		kids := make([]*logic.Formula, len(t.kids))
		for i, k := range t.kids {
			kids[i] = build(k)
		}
		var f *logic.Formula
		switch t.op {
		case termTrue:
			f = logic.True()
		case termFalse:
			f = logic.False()
		case termAtom:
			f = atoms[t.atom.key]
		case termNot:
			f = logic.Not(kids[0])
		case termAnd:
			f = logic.And(kids...)
		case termOr:
			f = logic.Or(kids...)
		case termXor:
			f = logic.Xor(kids...)
		case termImplies:
			// a → (b → c) is a ∧ b → c, which does not get deeper with
			// the chain's length.
			last := len(kids) - 1
			f = logic.Implies(logic.And(kids[:last]...), kids[last])
		case termIff:
			// (a ↔ b) ↔ c is a ⊕ b ⊕ c, with a negation for each
			// connective.
			if f = logic.Iff(kids[0], kids[1]); len(kids) > 2 {
				f = logic.Xor(kids...)
				if len(kids)%2 == 0 {
					f = logic.Not(f)
				}
			}
		case termAtLeast:
			f = logic.AtLeast(t.k, kids...)
		case termAtMost:
			f = logic.AtMost(t.k, kids...)
		case termExactly:
			f = logic.Exactly(t.k, kids...)
		}
		made[t] = f
		return f
	}
	return build(root)
}

// labelVariables names each atom by the name that it was given, and otherwise
// by its target in quotes; the variables of several tokens are numbered.
func (s *Session) labelVariables(g *grounded) {
	used := map[string]int{}
	unique := func(label string) string {
		used[label]++
		if n := used[label]; n > 1 {
			return unusedLabel(used, label, n)
		}
		return label
	}
	// Names first, so that they are never the ones that get numbered.
	for i := range g.atoms {
		a := &g.atoms[i]
		if names := s.labels[a.key]; len(names) > 0 {
			a.label = unique(names[0])
		}
	}
	for i := range g.atoms {
		a := &g.atoms[i]
		if a.label == "" {
			switch a.kind {
			case atomEvent:
				a.label = unique(`"` + escape(a.ev.Target) + `"`)
			case atomProb:
				a.label = unique(fmt.Sprintf("prob(%g)", a.p))
			case atomText:
				a.label = unique(`"` + cutRight(escape(a.text), 12) + `"`)
			}
		}
		for j, v := range a.vars {
			if g.vars[v].label != "" {
				continue // the first event that asks for it names it
			}
			g.vars[v].label = a.label
			if len(a.vars) > 1 {
				g.vars[v].label = fmt.Sprintf("%s.%d", a.label, j+1)
			}
		}
	}
}

// unusedLabel numbers a label that is taken.
func unusedLabel(used map[string]int, label string, n int) string {
	for ; ; n++ {
		numbered := fmt.Sprintf("%s (%d)", label, n)
		if used[numbered] == 0 {
			used[numbered]++
			return numbered
		}
	}
}

// readAll asks the model about all variables, in one batch.
func (s *Session) readAll(ctx context.Context, g *grounded) error {
	if g.read {
		return nil
	}
	var steps []event.Step
	var at []int
	for i, v := range g.vars {
		if v.step != nil {
			steps = append(steps, *v.step)
			at = append(at, i)
		}
	}
	if len(steps) > 0 {
		readings, err := s.reader("reading "+plural(len(steps), "event")).Read(ctx, steps, s.calibration)
		if err != nil {
			return err
		}
		for i, r := range readings {
			g.vars[at[i]].reading = r
		}
	}
	g.given()
	return nil
}

// given puts in the probabilities that no model is asked for; all variables have
// their readings then.
func (g *grounded) given() {
	for i, v := range g.vars {
		if v.step == nil {
			g.vars[i].reading = event.Reading{
				LogP:   calibrate.Exact(math.Log(v.given)),
				Logit:  calibrate.Exact(math.Log(v.given) - math.Log1p(-v.given)),
				EventP: calibrate.Exact(v.given),
			}
		}
	}
	g.read = true
}

// exact reports whether every variable's probability is known exactly.
func (g *grounded) exact() bool {
	for _, v := range g.vars {
		if !v.reading.Logit.IsExact() { // which the weights are made of
			return false
		}
	}
	return true
}

// weights returns each variable's weight; where the probability is an
// interval, that of its upper end if side is positive, and otherwise of its lower end.
func (g *grounded) weights(side int) []logic.Weight {
	w := make([]logic.Weight, len(g.vars))
	for i, v := range g.vars {
		l := v.reading.Logit.Lo
		if side > 0 {
			l = v.reading.Logit.Hi
		}
		if v.step == nil {
			w[i] = logic.WeightFromProbability(v.given)
		} else {
			w[i] = logic.WeightFromLogit(l)
		}
	}
	return w
}

// probabilities returns the ends of each variable's probability.
func (g *grounded) probabilities() (lo, hi []float64) {
	lo, hi = make([]float64, len(g.vars)), make([]float64, len(g.vars))
	for i, v := range g.vars {
		lo[i], hi[i] = v.reading.EventP.Lo, v.reading.EventP.Hi
	}
	return lo, hi
}

// diagramCache keeps the diagrams of a session by their formulas' structure. The
// rows of a run have the same formula over other events, and so one diagram.
type diagramCache struct {
	byKey map[[sha256.Size]byte]*logic.Diagram
	order [][sha256.Size]byte // oldest first
	nodes int                 // of all together
}

// Of more diagrams, or of diagrams of more nodes together (some 50 bytes each), only the latest are kept.
const (
	maxDiagrams     = 128
	maxDiagramNodes = logic.DefaultNodeLimit
)

func newDiagramCache() *diagramCache {
	return &diagramCache{byKey: map[[sha256.Size]byte]*logic.Diagram{}}
}

// compile returns a formula's diagram.
func (c *diagramCache) compile(ctx context.Context, f *logic.Formula) (*logic.Diagram, error) {
	key, err := structure(ctx, f)
	if err != nil {
		return nil, err
	}
	if d := c.byKey[key]; d != nil {
		return d, nil
	}
	d, err := logic.Compile(ctx, f)
	if err != nil {
		if errors.Is(err, logic.ErrTooLarge) {
			return nil, fmt.Errorf("the formula is too entangled to be counted exactly (%w); split it into smaller ones", err)
		}
		return nil, err
	}
	c.keep(key, d)
	return d, nil
}

// keep adds a diagram and lets go of the oldest where they are too many.
func (c *diagramCache) keep(key [sha256.Size]byte, d *logic.Diagram) {
	c.byKey[key] = d
	c.order = append(c.order, key)
	c.nodes += d.Size()
	for len(c.order) > maxDiagrams || c.nodes > maxDiagramNodes && len(c.order) > 1 {
		c.nodes -= c.byKey[c.order[0]].Size()
		delete(c.byKey, c.order[0])
		c.order = c.order[1:]
	}
}

// structure hashes a formula as the graph that it is: equal for two formulas
// exactly when they are built alike over the same variables.
func structure(ctx context.Context, f *logic.Formula) ([sha256.Size]byte, error) {
	h := sha256.New()
	ids := map[*logic.Formula]uint64{}
	var buf []byte
	var visit func(f *logic.Formula) uint64
	visit = func(f *logic.Formula) uint64 {
		if id, ok := ids[f]; ok {
			return id
		}
		if len(ids)&4095 == 4095 && ctx.Err() != nil {
			return 0 // of no use any more
		}
		args := f.Args()
		kids := make([]uint64, len(args))
		for i, a := range args {
			kids[i] = visit(a)
		}
		buf = append(buf[:0], byte(f.Op()))
		buf = binary.AppendVarint(buf, int64(f.Var()))
		buf = binary.AppendVarint(buf, int64(f.K()))
		buf = binary.AppendUvarint(buf, uint64(len(kids)))
		for _, k := range kids {
			buf = binary.AppendUvarint(buf, k)
		}
		h.Write(buf)
		ids[f] = uint64(len(ids))
		return ids[f]
	}
	visit(f)
	return [sha256.Size]byte(h.Sum(nil)), ctx.Err()
}
