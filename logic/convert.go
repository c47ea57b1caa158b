package logic

// converter rewrites a Formula into a store's residuals. Nested connectives of one family (∧ ∨ → and
// negations; ⊕ ↔) become one n-ary node, so a chain of any depth costs linear time; no step recurses.
type converter struct {
	s    *store
	atom map[Var]int
	vars []Var // by atom
	refs map[*Formula]int
	done map[*Formula]fedge
}

type signed struct {
	f   *Formula
	neg bool
}

// conjunctive returns the parts of f when it is a conjunction of its (perhaps negated) arguments, or the
// negation of one (outer).
func conjunctive(f *Formula) (outer, inner, ok bool) {
	switch f.op {
	case OpAnd:
		return false, false, true
	case OpOr:
		return true, true, true
	case OpImplies:
		return true, false, true // and the second argument negated
	case OpAtLeast:
		if f.k == len(f.args) {
			return false, false, true
		}
		if f.k == 1 {
			return true, true, true
		}
	case OpAtMost, OpExactly:
		if f.k == 0 {
			return false, true, true
		}
	}
	return false, false, false
}

func strip(x signed) signed {
	for x.f.op == OpNot {
		x = signed{x.f.args[0], !x.neg}
	}
	return x
}

// private tells whether x's sub-formula is used in one place only, its negations included.
func (c *converter) private(x signed) bool {
	f := x.f
	for f.op == OpNot && c.refs[f] == 1 {
		f = f.args[0]
	}
	return c.refs[f] == 1
}

// parts gathers the arguments of f's whole family. Sub-formulas used elsewhere too are not opened.
func (c *converter) parts(f *Formula) (kids []signed, outer bool) {
	if o, _, ok := conjunctive(f); ok {
		stack := []signed{{f, o}}
		for len(stack) > 0 {
			x := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			y := strip(x)
			if o, inner, ok := conjunctive(y.f); ok && o == y.neg && (y.f == f || c.private(x)) {
				for i := len(y.f.args) - 1; i >= 0; i-- {
					stack = append(stack, signed{y.f.args[i], inner != (y.f.op == OpImplies && i == 1)})
				}
				continue
			}
			kids = append(kids, y)
		}
		return kids, o
	}
	if f.op == OpXor || f.op == OpIff {
		stack := []signed{{f, false}}
		for len(stack) > 0 {
			x := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			y := strip(x)
			if (y.f.op == OpXor || y.f.op == OpIff) && (y.f == f || c.private(x)) {
				outer = outer != (y.neg != (y.f.op == OpIff))
				for i := len(y.f.args) - 1; i >= 0; i-- {
					stack = append(stack, signed{y.f.args[i], false})
				}
				continue
			}
			kids = append(kids, y)
		}
		return kids, outer
	}
	for _, a := range f.args {
		kids = append(kids, strip(signed{a, false}))
	}
	return kids, false
}

func (c *converter) convert(root *Formula) fedge {
	c.refs = make(map[*Formula]int)
	c.done = make(map[*Formula]fedge)
	root.postorder(c.s.stop, func(f *Formula) {
		for _, a := range f.args {
			if !a.leaf() { // of others none asks
				c.refs[a]++
			}
		}
	})
	type frame struct {
		f     *Formula
		kids  []signed
		outer bool
		next  int
	}
	top := strip(signed{root, false})
	var stack []frame
	open := func(f *Formula) {
		fr := frame{f: f}
		fr.kids, fr.outer = c.parts(f)
		stack = append(stack, fr)
	}
	open(top.f)
	for steps := 0; len(stack) > 0 && !c.s.over; steps++ {
		if steps&4095 == 4095 && c.s.stop() {
			c.s.over = true
		}
		fr := &stack[len(stack)-1]
		if fr.next < len(fr.kids) {
			k := fr.kids[fr.next].f
			fr.next++
			if k.leaf() {
				continue // made where it is used
			}
			if _, ok := c.done[k]; !ok {
				open(k)
			}
			continue
		}
		c.done[fr.f] = c.build(fr.f, fr.kids, fr.outer)
		stack = stack[:len(stack)-1]
	}
	e := c.done[top.f]
	if top.neg {
		e ^= 1
	}
	return e
}

func (c *converter) build(f *Formula, kids []signed, outer bool) fedge {
	s := c.s
	switch f.op {
	case OpTrue:
		return fTrue
	case OpFalse:
		return fFalse
	case OpVar:
		a, ok := c.atom[f.v]
		if !ok {
			a = len(c.vars)
			c.atom[f.v] = a
			c.vars = append(c.vars, f.v)
		}
		return s.atom(a)
	}
	base := len(s.buf)
	for _, k := range kids {
		var e fedge
		if k.f.leaf() {
			e = c.build(k.f, nil, false)
		} else {
			e = c.done[k.f]
		}
		if k.neg {
			e ^= 1
		}
		s.buf = append(s.buf, e)
	}
	var e fedge
	if _, _, ok := conjunctive(f); ok {
		e = s.and(base)
	} else {
		switch f.op {
		case OpXor, OpIff:
			e = s.xor(base)
		case OpAtLeast:
			e = s.card(base, f.k, len(kids))
		case OpAtMost:
			e = s.card(base, 0, f.k)
		case OpExactly:
			e = s.card(base, f.k, f.k)
		}
	}
	if outer {
		e ^= 1
	}
	return e
}
