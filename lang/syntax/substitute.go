package syntax

// Substitute returns x with names replaced. The result shares with x what has
// no name in it to replace, and names of functions stay.
func Substitute(x Expr, fill map[string]Expr) Expr {
	switch x := x.(type) {
	case *Name:
		if y, ok := fill[x.Text]; ok {
			return y
		}
	case *Not:
		if y := Substitute(x.X, fill); y != x.X {
			return &Not{x.span, y}
		}
	case *Chain:
		for i, k := range x.X {
			y := Substitute(k, fill)
			if y == k {
				continue
			}
			c := &Chain{x.span, x.Op, append([]Expr(nil), x.X...)}
			c.X[i] = y
			for j := i + 1; j < len(c.X); j++ {
				c.X[j] = Substitute(c.X[j], fill)
			}
			return c
		}
	case *Call:
		for i, a := range x.Args {
			y := Substitute(a.X, fill)
			if y == a.X {
				continue
			}
			c := &Call{x.span, x.Fn, append([]Arg(nil), x.Args...)}
			c.Args[i].X = y
			for j := i + 1; j < len(c.Args); j++ {
				c.Args[j].X = Substitute(c.Args[j].X, fill)
			}
			return c
		}
	}
	return x
}
