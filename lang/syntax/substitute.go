package syntax

// Map returns x with each of its expressions replaced by what f makes of it, inner
// ones first. What f returns unchanged is shared with x, and the names of functions
// and of arguments stay.
func Map(x Expr, f func(Expr) Expr) Expr {
	switch y := x.(type) {
	case *Not:
		if z := Map(y.X, f); z != y.X {
			x = &Not{y.span, z}
		}
	case *Chain:
		var c *Chain
		for i, k := range y.X {
			if z := Map(k, f); z != k {
				if c == nil {
					c = &Chain{y.span, y.Op, append([]Expr(nil), y.X...)}
					x = c
				}
				c.X[i] = z
			}
		}
	case *Call:
		var c *Call
		for i, a := range y.Args {
			if z := Map(a.X, f); z != a.X {
				if c == nil {
					c = &Call{y.span, y.Fn, append([]Arg(nil), y.Args...)}
					x = c
				}
				c.Args[i].X = z
			}
		}
	}
	return f(x)
}

// Substitute returns x with names replaced.
func Substitute(x Expr, fill map[string]Expr) Expr {
	return Map(x, func(x Expr) Expr {
		if n, ok := x.(*Name); ok {
			if y, ok := fill[n.Text]; ok {
				return y
			}
		}
		return x
	})
}
