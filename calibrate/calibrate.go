// Package calibrate turns the probability of a token into the probability of an
// event.
//
// A language model answers with a categorical distribution over its vocabulary:
// a valid continuation that shares its prefix with a hundred others has a raw
// probability near one per cent. ModelLog (§3.1) asks instead whether a token
// lies in the model's live region of plausible continuations, and offsets the
// odds of the raw probability P by a number C that measures how large that
// region is:
//
//	P̂ = σ(logit(P) + C)                                              (Eq. 4)
//
// The four choices of C are
//
//	raw              C = 0
//	nucleus-entropy  C = H(nucleus), the default, with p = 0.95
//	entropy          C = H(whole distribution)
//	nucleus-size     C = ln |nucleus|
//
// (the last two are Appendix E's). The nucleus for a threshold p is the smallest
// set of most probable tokens whose mass reaches p; its entropy is that of the
// distribution renormalised over the set. All entropies are in nats and all
// logarithms are natural.
//
// # Whole and truncated distributions
//
// [Summarize] reads one logit for every token of the vocabulary and gives exact
// values. [SummarizeTop] reads what a server that returns only its k most
// probable tokens gives, and answers with intervals in which the value for the
// whole distribution surely lies: the tokens that were not listed share a known
// mass, and none of them is more probable than the last one listed. Both answer
// with a [Summary], so that what follows need not know which it was: an exact
// value is an [Interval] of width zero.
//
// # Conventions
//
// Where a cumulative mass meets p up to rounding (one part in 10¹²) it has
// reached it: the nucleus of 100 equally likely tokens at p = 0.95 has 95
// tokens, whatever order the sum was taken in. Tokens of equal probability enter
// a nucleus by increasing id; since they are equally probable this has no
// influence on its size, mass or entropy. A token that is e⁷⁰⁰ times less
// probable than the most probable one counts as masked: it belongs to no nucleus,
// not even that of p = 1.
package calibrate
