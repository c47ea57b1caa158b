package calibrate

import (
	"cmp"
	"math"
	"slices"
)

// take returns the sums over the smallest number of largest members whose mass
// reaches need > 0, or over all of them if they fall short. It is a quickselect by
// mass: linear on average, whatever the number of ties. It reorders g.
func take(g []member, need float64) bin {
	const few = 24
	var got bin
	for len(g) > few {
		pivot := median(g[0].x, g[len(g)/2].x, g[len(g)-1].x)
		// Afterwards g[:above] > pivot, g[above:below] == pivot, g[below:] < pivot.
		above, below := 0, len(g)
		var higher bin
		for i := 0; i < below; {
			switch m := &g[i]; {
			case m.x > pivot:
				higher.count(m.x, m.e)
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
		if got.e+higher.e >= need {
			g = g[:above]
			continue
		}
		got.add(&higher)
		m := g[above] // the tied members are alike
		ties := below - above
		enough := got.e+float64(ties)*m.e >= need
		if enough {
			ties = min(max(1, int(math.Ceil((need-got.e)/m.e))), ties)
		}
		mass := float64(ties) * m.e
		got.add(&bin{mass, -m.x * mass, ties})
		if enough {
			return got
		}
		g = g[below:]
	}
	slices.SortFunc(g, func(a, b member) int { return cmp.Compare(b.x, a.x) })
	for _, m := range g {
		if got.e >= need {
			break
		}
		got.count(m.x, m.e)
	}
	return got
}

func median(a, b, c float64) float64 {
	return max(min(a, b), min(max(a, b), c))
}
