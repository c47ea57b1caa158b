package logic

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrTooLarge is wrapped by the error of a compilation that outgrew its node limit.
var ErrTooLarge = errors.New("formula too large to compile")

// DefaultNodeLimit is the number of diagram nodes and intermediate states at which Compile gives up
// unless WithNodeLimit says otherwise; it keeps a process that compiles within about a gigabyte. Measured, a
// process peaks at 0.4 GiB on the strict orders of 13 items and at 0.7 GiB on WordNet's 16,099 organisms, which
// branching works on, and at 0.3 GiB, giving up, on the independent sets of a grid of 20 × 20, along a tree.
const DefaultNodeLimit = 2_000_000

// Option is a setting of Compile.
type Option func(*compiler)

// WithNodeLimit sets how many diagram nodes and intermediate states a compilation may make, at most
// about a thousand million. Each takes 50 to 250 bytes, and until the garbage of growing tables is
// collected a process may hold twice that.
func WithNodeLimit(n int) Option {
	return func(c *compiler) { c.limit = min(max(n, 1), 1<<30) }
}

type compiler struct {
	ctx    context.Context
	b      *builder
	limit  int
	quota  int // bytes of residuals and states
	steps  int
	packed int   // sets of factors compiled by packed states
	err    error // the reason for stopping, where it is not the store's
	way    way
	mod    *modular

	local []int32 // by atom: its number among those of the connected factors at hand
	value []int8  // by atom, 0 but while literals are settled; see static
}

func newCompiler(ctx context.Context, opts []Option) *compiler {
	c := &compiler{ctx: ctx, limit: DefaultNodeLimit}
	for _, o := range opts {
		o(c)
	}
	if c.quota == 0 {
		c.quota = int(min(160*int64(max(c.limit, 1<<14)), math.MaxInt))
	}
	return c
}

// way is how sets of factors are compiled; tests hold the ways against each other.
type way uint8

const (
	inTurns way = iota
	alongTree
	byResiduals // along the tree too, but never by packed states
	byBranching
)

// Which part of the node limit was reached.
var (
	errNodes = errors.New("its nodes")
	errSteps = errors.New("its steps, of which there may be four for each")
)

// stop counts a step and tells whether to give up; the reason is in c.err.
func (c *compiler) stop() bool {
	c.steps++
	if c.err != nil {
		return true
	}
	switch {
	case len(c.b.nodes)-c.b.leaves > c.limit:
		c.err = errNodes
	case c.steps/4 > c.limit:
		c.err = errSteps
	default:
		c.err = c.ctx.Err() // each time, since a step may look at thousands of factors
	}
	return c.err != nil
}

// asked is stop for work that makes no states.
func (c *compiler) asked() bool {
	if c.err == nil {
		c.err = c.ctx.Err()
	}
	if c.err == nil && len(c.b.nodes)-c.b.leaves > c.limit {
		c.err = errNodes
	}
	return c.err != nil
}

func (c *compiler) atomEdge(a int32) edge { return c.mod.edges[a] }

func (c *compiler) literalEdge(s *store, e fedge) edge {
	return c.mod.edges[s.nodes[e>>1].lo] ^ e&1
}

// Compile turns f into a decision diagram. The diagram is exact; only its size depends on f's structure:
// chains, trees, thresholds and read-once formulas take linear or near-linear size in any number of
// variables, grids and the like about 2 to the power of their width.
//
// It returns an error that wraps ErrTooLarge when the node limit is reached, and ctx's error soon after
// ctx ends.
func Compile(ctx context.Context, f *Formula, opts ...Option) (*Diagram, error) {
	c := newCompiler(ctx, opts)
	ended := func() bool { return ctx.Err() != nil }
	vars := f.varsUntil(ended)
	c.b = newBuilder(len(vars))
	fail := func() error {
		which := c.err
		switch {
		case which == nil: // of itself only memory stops a store
			which = fmt.Errorf("its memory of %d MB for residuals and states", c.quota/1e6)
		case which != errNodes && which != errSteps:
			return fmt.Errorf("compiling a formula of %d variables: %w", len(vars), c.err)
		}
		return fmt.Errorf("compiling a formula of %d variables: %w: the limit of %d nodes and intermediate states (%v) was reached, with %d nodes of the diagram made in %d steps; "+
			"split the formula into parts that share fewer variables, or raise the limit", len(vars), ErrTooLarge, c.limit, which, len(c.b.nodes)-c.b.leaves, c.steps)
	}
	if err := ctx.Err(); err != nil {
		c.err = err
		return nil, fail()
	}
	conv := &converter{s: newStore(c.quota, c.asked), atom: make(map[Var]int)}
	root := conv.convert(f)
	if conv.s.over {
		return nil, fail()
	}
	rank := make([]int, len(conv.vars))
	for i, v := range conv.vars {
		rank[i] = int(v)
	}
	c.mod = splitModules(conv.s, root, c.b, rank, c.asked)
	if c.mod == nil {
		return nil, fail()
	}
	c.local, c.value = make([]int32, len(c.mod.s.atoms)), make([]int8, len(c.mod.s.atoms))
	top := c.compile(c.mod.root)
	if top == edgeStop || c.mod.s.over || c.err != nil { // what was made after a stop means nothing
		return nil, fail()
	}
	polarities := f.polarities(ended)
	if c.asked() {
		return nil, fail()
	}
	return newDiagram(c.b, top, conv.vars, vars, polarities), nil
}

// compile returns the diagram of a residual over the modules' atoms.
func (c *compiler) compile(e fedge) edge {
	s := c.mod.s
	if e <= fFalse {
		return e
	}
	if s.isLiteral(e) {
		return c.literalEdge(s, e)
	}
	n := s.nodes[e>>1]
	factors := []fedge{e &^ 1}
	if n.kind == fAnd {
		factors = s.kids(n.list)
	}
	y := newDynamic(c, s, c.mod.rank)
	y.buf = append(y.buf, factors...)
	units, ok := y.propagate(-1, 0)
	if s.over {
		return edgeStop
	}
	if !ok {
		return edgeFalse ^ e&1
	}
	slices.Sort(y.buf)
	rest := s.exclusions(slices.Compact(y.buf), c.asked)
	if rest == nil {
		return edgeStop
	}
	r := edgeTrue
	for _, part := range y.split(rest) {
		d := c.connected(part)
		if d == edgeStop {
			return d
		}
		r = c.b.and(r, d)
		if r == edgeFalse {
			break
		}
	}
	return y.with(units, r) ^ e&1
}

// connected compiles factors that hang together.
func (c *compiler) connected(factors []fedge) edge {
	s := c.mod.s
	if len(factors) == 1 {
		if n := s.nodes[factors[0]>>1]; s.flat[n.list] {
			if d, ok := c.single(s, factors[0], n); ok {
				return d
			}
		}
	}
	var atoms []int32
	for _, e := range factors {
		atoms = append(atoms, s.support(e)...)
	}
	if s.over || c.asked() {
		return edgeStop
	}
	slices.Sort(atoms)
	atoms = slices.Compact(atoms)
	slices.SortFunc(atoms, func(a, b int32) int { return c.mod.rank[a] - c.mod.rank[b] })
	for i, a := range atoms {
		c.local[a] = int32(i)
	}
	tree := newOrderProblem(s, factors, len(atoms), c.local).plan(c.asked)
	if tree == nil {
		return edgeStop
	}
	// Packed states take a tenth of the time of residuals, or less.
	first := 1 << 21
	var along attempt
	var p *packed
	if c.way != byResiduals {
		p = newPacked(c, s, factors, atoms, tree)
	}
	if p != nil {
		along, first = p, min(1<<22, c.limit)
		c.packed++
	} else {
		along = newStatic(c, s, factors, atoms, tree)
	}
	if c.way == alongTree || c.way == byResiduals || c.way == inTurns && tree.cost <= 15 {
		return along.run(math.MaxInt)
	}
	free := newDynamic(c, s, c.mod.rank)
	free.factors = factors
	if c.way == byBranching {
		return free.run(math.MaxInt)
	}
	const look = 512 // at factors, by branching, for a state along the tree; either takes some microseconds

	// Where the tree promises little, both ways take turns, each keeping what it has found; the one that
	// suits the formula then costs at most a small multiple of what it would have alone. Each has a part of the
	// memory: when the tree's is used up it waits for branching, and when branching's is, that is given up, since
	// its states are the larger ones, and the tree has all.
	along.share(s.quota*3/8, c.limit)
	free.share(s.quota*3/8, c.limit)
	// A tree whose states number 2 to a fair part of the variables has found no structure; then branching
	// gets the first long turn.
	width := tree.cost - math.Log2(float64(len(atoms)))
	branching := tree.cost > 15 && width > float64(len(atoms))/4
	over := func(d edge) bool { return d != edgeStop || c.err != nil || s.over }
	if branching {
		if d := free.run(1 << 22); over(d) {
			return d
		}
	}
	if !branching && (tree.cost <= 22 || p != nil && tree.cost <= 30) {
		if d := along.run(first); over(d) {
			return d
		}
	}
	for budget := 1 << 14; ; budget = min(2*budget, math.MaxInt/look) {
		if !along.full() {
			if d := along.run(budget); over(d) {
				return d
			}
		}
		if d := free.run(look * budget); over(d) {
			return d
		}
		if free.full() {
			free.leave()
			along.share(math.MaxInt, math.MaxInt)
			return along.run(math.MaxInt)
		}
	}
}

// attempt is a way of compiling that can be left and gone on with.
type attempt interface {
	run(budget int) edge     // edgeStop beyond the budget, and when it is full
	share(bytes, states int) // how many it may have
	full() bool              // it has them
}

// single compiles one connective over distinct literals: a threshold of k of n takes O(n·k) nodes.
func (c *compiler) single(s *store, e fedge, n fnode) (edge, bool) {
	kids := s.kids(n.list)
	es := make([]edge, len(kids))
	for i, k := range kids {
		if i > 0 && k>>1 == kids[i-1]>>1 {
			return 0, false // a variable counts twice
		}
		es[i] = c.literalEdge(s, k)
	}
	var d edge
	switch n.kind {
	case fAnd:
		d = edgeTrue
		for i := len(es) - 1; i >= 0; i-- {
			d = c.b.ite(es[i], d, edgeFalse)
		}
	case fXor:
		d = edgeFalse
		for i := len(es) - 1; i >= 0; i-- {
			d = c.b.ite(es[i], d^1, d)
		}
	case fCard:
		d = c.b.threshold(es, int(n.lo), int(n.hi), c.stop)
		if d == edgeStop {
			return d, true
		}
	}
	return d ^ e&1, true
}
