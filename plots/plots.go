// Package plots draws what modellog computes: a formula's interpretations, the
// ladder of likelihood bounds, the map from raw to event probabilities, histograms
// of the consistency score ρ for one or many data sets and models, a report's events with their
// gradients, consistency over informativeness, how scores depend on the size of models and on
// each other, and judgements of pairs.
//
// Every drawing is a constructor that checks its data and returns a [Figure], which
// draws itself on any canvas of gonum.org/v1/plot/vg or is written as SVG, PNG or PDF.
// All share one look (theme.go): the width of a notebook's column, blue for what is
// consistent and red for what is not, as in the paper, in shades that people who do
// not tell red from green can tell apart.
//
// Text is drawn as outlines, like matplotlib's, so that a figure looks the same in
// every viewer and the signs of logic are there whatever fonts are installed. The
// font is DejaVu Sans. A letter that it lacks (Chinese, Japanese, Korean) is written
// as text in SVG, for the viewer to find a font, and shows as a box elsewhere.
//
// Numbers that cannot be drawn (NaN, an infinity, a probability outside [0, 1], no
// data at all) are errors that name the place. Nothing panics on an axis that is
// logarithmic: probabilities of zero are drawn at its lower edge and say so.
package plots
