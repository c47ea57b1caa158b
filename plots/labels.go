package plots

import (
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// labels gathers names of points and what they should not hide, and then writes them where
// they do least harm.
type labels struct {
	names     []name
	obstacles []obstacle
	alone     bool // the points are on no line of their own, so that a name must not be nearer to another's
}

type name struct {
	at   vg.Point
	text string
}

// obstacle is an area, and how bad it is to write over it.
type obstacle struct {
	vg.Rectangle
	harm float64
}

const (
	harmLine  = 1
	harmPoint = 3
	harmTaken = 8   // it would be taken for another point's
	harmName  = 100 // too bad to be done
)

func around(p vg.Point, r vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: p.X - r, Y: p.Y - r}, Max: vg.Point{X: p.X + r, Y: p.Y + r}}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// distance is how far a point is from an area.
func distance(a vg.Rectangle, p vg.Point) float64 {
	return math.Hypot(float64(max(a.Min.X-p.X, p.X-a.Max.X, 0)), float64(max(a.Min.Y-p.Y, p.Y-a.Max.Y, 0)))
}

// point keeps names away from a mark, and names it unless the name is empty.
func (ls *labels) point(at vg.Point, text string) {
	ls.obstacles = append(ls.obstacles, obstacle{around(at, 4), harmPoint})
	if text != "" {
		ls.names = append(ls.names, name{at, text})
	}
}

// line keeps names away from a line through points.
func (ls *labels) line(points ...vg.Point) {
	for i := 1; i < len(points); i++ {
		d := points[i].Sub(points[i-1])
		n := math.Ceil(math.Hypot(float64(d.X), float64(d.Y)) / 3)
		for j := 0.0; j <= n && n > 0 && n < 1000; j++ {
			ls.obstacles = append(ls.obstacles, obstacle{around(points[i-1].Add(d.Scale(vg.Length(j/n))), 0.7), harmLine})
		}
	}
}

// draw writes the names, each near its point and joined to it where it is not beside it. A
// name for which there is no room is left out.
func (ls *labels) draw(c draw.Canvas) {
	sty := style(tickSize, ink)
	sty.YAlign = text.YCenter
	const height = 1.15 * tickSize
	for _, n := range ls.names {
		label := fit(n.text, sty, 0.35*columnWidth)
		w := sty.Width(label)
		best, least, far := vg.Rectangle{}, math.Inf(1), false
		for _, d := range []vg.Length{7, 11, 17, 25, 36} {
			for i, dir := range []vg.Point{{X: 1}, {X: -1}, {X: 0.8, Y: 0.9}, {X: -0.8, Y: 0.9}, {X: 0.8, Y: -0.9}, {X: -0.8, Y: -0.9}, {Y: 1.2}, {Y: -1.2}} {
				at := n.at.Add(dir.Scale(d))
				switch {
				case dir.X < 0:
					at.X -= w
				case dir.X == 0:
					at.X -= w / 2
				}
				box := vg.Rectangle{Min: vg.Point{X: at.X, Y: at.Y - height/2}, Max: vg.Point{X: at.X + w, Y: at.Y + height/2}}
				if box.Min.X < c.Min.X || box.Max.X > c.Max.X || box.Min.Y < c.Min.Y || box.Max.Y > c.Max.Y {
					continue
				}
				harm := float64(d)/20 + float64(i)/100
				for _, o := range ls.obstacles {
					if overlap(box, o.Rectangle) {
						harm += o.harm
					}
				}
				for _, other := range ls.names {
					if ls.alone && other.at != n.at && distance(box, other.at) <= distance(box, n.at) {
						harm += harmTaken
					}
				}
				if harm < least {
					best, least, far = box, harm, d > 11
				}
			}
		}
		if least >= harmName {
			continue
		}
		ls.obstacles = append(ls.obstacles, obstacle{best, harmName})
		if far { // from the nearest place of the name's frame
			from := vg.Point{X: min(max(n.at.X, best.Min.X-1), best.Max.X+1), Y: min(max(n.at.Y, best.Min.Y+1), best.Max.Y-1)}
			c.StrokeLines(line(faint, 0.5), []vg.Point{from, n.at})
		}
		c.FillText(sty, vg.Point{X: best.Min.X, Y: (best.Min.Y + best.Max.Y) / 2}, label)
	}
}
