package calibrate

import (
	"cmp"
	"math"
	"slices"
)

// take returns the smallest number of largest members whose mass reaches need > 0,
// with their mass and their Σ −x·exp(x); all of them if they fall short. It is a
// quickselect by mass: linear on average, whatever the number of ties. It reorders g.
func take(g []member, need float64) (n int, e, xe float64) {
	const few = 24
	for len(g) > few {
		pivot := median(g[0].x, g[len(g)/2].x, g[len(g)-1].x)
		// Afterwards g[:above] > pivot, g[above:below] == pivot, g[below:] < pivot.
		above, below := 0, len(g)
		var ae, axe float64
		for i := 0; i < below; {
			switch m := g[i]; {
			case m.x > pivot:
				ae += m.e
				axe -= m.x * m.e
				g[i], g[above] = g[above], g[i]
				above++
				i++
			case m.x < pivot:
				below--
				g[i], g[below] = g[below], g[i]
			default:
				i++
			}
		}
		if e+ae >= need {
			g = g[:above]
			continue
		}
		n, e, xe = n+above, e+ae, xe+axe
		one := g[above] // the tied members are alike
		ties := float64(below - above)
		if e+ties*one.e >= need {
			t := math.Min(math.Max(1, math.Ceil((need-e)/one.e)), ties)
			return n + int(t), e + t*one.e, xe - t*one.x*one.e
		}
		n, e, xe = n+below-above, e+ties*one.e, xe-ties*one.x*one.e
		g = g[below:]
	}
	slices.SortFunc(g, func(a, b member) int { return cmp.Compare(b.x, a.x) })
	for _, m := range g {
		if e >= need {
			break
		}
		n, e, xe = n+1, e+m.e, xe-m.x*m.e
	}
	return n, e, xe
}

func median(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}
