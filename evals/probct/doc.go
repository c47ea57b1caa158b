// Package probct is the paper's diagnostic suite, ProbCT (ModelLog, §4 and
// Appendix B): what a language model should believe of facts that follow from
// one another, built from knowledge graphs.
//
// A suite is a folder: schemas of the constraint language in suite.logic, and for
// each a file of rows that fill its holes. Load reads which subsets there are.
//
// Build makes the published five from a WordNet in WNDB format and from
// GeoNames' cities and countries. Each candidate is a handful of statements in
// templates; it is kept if it meets the four criteria of Appendix B.2: it is grammatical,
// its words have one meaning, what it is about is well known, and it is true. A candidate
// is decided upon by rules over the graph and word frequencies, or by a language model.
// The same sources, seed and options give the same bytes.
package probct
