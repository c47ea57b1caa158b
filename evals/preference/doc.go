// Package preference measures and improves the logical consistency of a model's pairwise judgements
// (Measuring, Evaluating and Improving Logical Consistency in Large Language Models, 2024).
//
// A model is shown two items, xᵢ first and xⱼ second, and asked which of them stands in a relation to the
// other: is the more coherent summary, the more relevant passage, the earlier event. F(xᵢ, xⱼ) is its
// decision, here taken from P(xᵢ ≻ xⱼ) ([Judgements]). Over the items of one instance, all in [0, 1]:
//
//   - s_tran(K), Eq. 1, the share of subsets of K items whose relation graph has no cycle ([Transitivity]);
//   - s_comm, Eq. 2, the share of pairs whose winner does not depend on the order in which they are shown
//     ([Commutativity]);
//   - s_neg, Eq. 3, the share of ordered pairs for which the negated question is answered the other way
//     ([NegationInvariance]);
//   - H, the share of pairs on which the judgement agrees with human annotation ([HumanAgreement]).
//
// Noisy annotations are refined and augmented by a ranking that is estimated from them ([Refine],
// [Augment]), and a model that judges consistently is a better comparison for merge sort ([PairS]).
// The graded view of the three scores, ρ of the constraints that they count, is [Bridge].
//
// # How a model is asked
//
// [Run] asks for all ordered pairs of an instance, under the relation and under its negation, N(N − 1) judgements
// each. A judgement is one reading of the next token after a prompt that shows the items as A and B: with the
// probabilities of all tokens that write a label, a space before it or none, P(xᵢ ≻ xⱼ) = P(A) / (P(A) + P(B)), and
// what the model puts on neither is kept. In small letters A would be an English word, and is not counted. Or
// a judgement is the majority of sampled chains of thought ([Sampling]), each of which is asked to end with the line
// "Answer: A" or "Answer: B". The same said otherwise counts as well ("The answer is Summary A", \boxed{A}, a letter
// alone in the last line); a chain that names both, or none, is counted and left out, and a tie is ½.
//
// The prompts are files ([Prompts]), of modellog's own wording: the paper's templates (Appendix F, Figure 7) are a
// picture, which its text does not have, and its ten paraphrases a task are not published. The source stands
// first, the items next and the question last, so that what the prompts of an instance begin with alike is read once.
//
// # What is read where the paper leaves it open
//
// F(xᵢ, xⱼ) = F(xⱼ, xᵢ) in Eq. 2 means that the same item wins, not that the same label is given: a model
// that always answers "A" has s_comm = 0. A decision is P ≥ ½ for the item that is shown first, as Algorithm
// 1 has it, so that a model that is exactly undecided prefers the first. Algorithm 1 reads each pair in one
// order only, the one with i < j; so does s_tran here, unless that order was not judged and the other was. A
// model that always answers "A" then ranks items as they are listed, and has s_tran = 1. [CalibratedGraph] is
// of judgements averaged over both orders, which a bias for places does not decide; its s_tran is told beside.
//
// Pairs that were not judged count for nothing: a partial graph has fewer edges, and Eqs. 2 and 3 are means
// over the pairs that were judged in all the ways that they ask for. H is over all judgements, in either order;
// a pair with equal human scores is left out of it and counted. Annotations that contradict each other on a
// pair are a cycle of two in the graph of a data set ([ComparisonGraph]), and augmented pairs are shown in both
// orders, without which Table 2 could not give them an s_comm.
//
// Figures 4 and 5 have no text: which way their axes go, and whether s_tran in Figure 4 is of direct judgements or of the
// chains of thought that self-agreement is of, is not said. [Figures] draws both, one point for each model.
//
// CaTeRS's relations CAUSE_TO_END_… say that one event ends another, and nothing of which begins first; they count as
// unordered, as overlaps do.
//
// # Slips of the paper
//
// §2.1 speaks of 2^K combinations of pairwise relations over K items; there are 2^(K(K−1)/2). Table 1 prints
// "78,7" and Table 4 "+.2.4"; Table 2 gives 1 where its other rows are percentages. Phi-3-mini has s_comm 66.9
// on SummEval in Table 1 and 46.9 in Table 4.
//
// §3.2 calls the correlations of transitivity with human agreement below 0.05 on all data sets. Over the ten
// models of Table 1 Pearson's are 0.53, 0.57 and −0.11 for direct judgements, and 0.86, 0.86 and 0.04 for CoT
// (SummEval, NovelEval, CaTeRS).
//
// Appendix B and §4.2 cite Mostafazadeh et al. (2016b), the paper of CaTeRS, for Summarize from Feedback, which
// is Stiennon et al. (2020), and Cachola et al. (2020), scientific abstracts, for the TL;DR of Reddit. Appendix
// B uses the whole training set of 64,832 comparisons; Table 2 counts 14.8K.
package preference
