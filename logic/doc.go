// Package logic measures how far probabilities satisfy logical constraints.
//
// A [Formula] is built over Boolean variables: events that a model holds true with a known probability.
// [Compile] turns it into a decision [Diagram] once; the diagram is then evaluated many times under
// different weights, each time in one pass over its nodes:
//
//   - the weighted model count WMC(F; θ) of Eq. 1, the probability that F holds when each variable P is
//     true with probability P_θ(P), independently;
//   - all derivatives ∂WMC/∂p in one backward pass; WMC is linear in each probability, so the derivative is
//     WMC(F|v) − WMC(F|¬v);
//   - the semantic loss −log WMC of Eq. 2 and its gradient, in log space: a conjunction of thousands of
//     unlikely events does not underflow, and next to 1 the loss comes from WMC(¬F);
//   - the uninformed baseline WMC₀(F) = |I(F)| / 2^|vars(F)| of Eq. 3 and the informativeness
//     I(F) = −log₂ WMC₀(F), from exact counts of any size;
//   - the consistency ρ = (WMC − WMC₀)/(1 − WMC₀) of Eq. 5 and CAcc = 1[WMC > WMC₀] of Eq. 6 ([Score]);
//     near equality is decided with 320 bits, so weights of ½ are never "better than chance" by rounding;
//   - marginals P(v | F), the most probable interpretations, all interpretations in truth-table order;
//   - sure bounds on all of these when probabilities are only known within intervals ([ScoreBounds]).
//
// [Entails] and [Equivalent] compare formulas; [Ladder] gives all thresholds F≥1 … F≥n of Example 4 in
// one O(n²) pass; [ReadDIMACS] reads weighted CNF as the model counting competition writes it.
//
// # Undefined values
//
// An unsatisfiable formula has WMC₀ = 0 and I = +Inf; where WMC is 0 the loss is +Inf. A tautology has
// ρ = 0/0, which is flagged. No result is NaN. By Eq. 6 neither is consistent: their WMC cannot exceed
// WMC₀.
//
// # Diagrams
//
// There is one kind of node, "if t then h else l", in which t shares no variable with h and l, and edges
// may be complemented. With t a variable it is a decision; with l = ⊥ or h = ⊤ it is a decomposable
// conjunction or disjunction; parity and thresholds of independent parts are made of it too. Since t is
// independent of the rest,
//
//	v(node) = v(t)·v(h) + (1 − v(t))·v(l)
//
// and the same holds for the complement: both are kept, so that neither tiny probabilities nor those next
// to 1 lose digits. Nodes lie in a flat array by their height, so that neighbours do not wait for each
// other; a count by itself computes of each only the sign that the root needs.
//
// # Compilation
//
// The formula becomes a set of factors (its conjuncts) over n-ary ∧, ⊕ and thresholds with complements;
// no auxiliary variables are introduced. Clauses of two literals that exclude each pair of a set become one
// factor, "at most one of the set". Parts in which each variable occurs once are put together
// directly, thresholds of k of n in O(n·k) nodes. The rest is split into independent components, and each
// is compiled by conditioning. Two ways exist:
//
// Along a pseudo-tree. A tree over the variables is chosen such that each factor's variables lie on one
// way from the root; below a variable, only the residuals of factors that ancestors have touched matter,
// and equal residuals are compiled once. Candidate orders are the variables' own; where that promises more
// than four states a variable, the order of a minimum-degree elimination, or, where factors of more than 48
// variables lie over local ones (a threshold over everything), the tree of the local ones walked depth first;
// and, where the best of these promises more than four times as many, FORCE's. The one with the fewest
// estimated states is used. What is left of a clause, a threshold or a parity over literals is a number
// (satisfied or not, so many true so far, odd or even), and a state a few words of such numbers; with formulas
// inside factors it is a list of residuals. Chains, trees and small taxonomies take a few nodes a variable this
// way, a grid 2 to the power of its width.
// An order is not changed afterwards: on the families of make bench-exact CUDD's sifting takes 0.9 to 700
// times as long as CUDD without it.
//
// By branching. The variable that decides most is branched on, forced literals are propagated, and what is
// left is split into components again. This finds decompositions that no fixed tree has: of the strict
// orders over K items, 3^K states instead of K!; of WordNet's 16,099 organisms, 26,496 states.
//
// Where the tree's estimate is high both ways take turns until one is done, each with its share of the memory,
// and go on from where they were. A compilation is bounded by a node limit ([ErrTooLarge]), and with it the memory that it takes, and stops soon
// after its context ends.
package logic
