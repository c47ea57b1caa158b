// Package cuc measures coherence under commitment: whether a model that does not contradict itself
// also commits itself to anything (Coherence Under Commitment, ICML 2026 workshop).
//
// Of an example, premises P and a conclusion φ, a model is asked two questions: is φ logically
// entailed by P, and is ¬φ? Each is one reading of the next token. With the probabilities p(φ) and
// p(¬φ) of a YES against a NO,
//
//	c(φ) = p(φ) + p(¬φ), in [0, 2],     v_neg(φ) = max(0, c(φ) − 1),
//
// and the answer is TRUE, FALSE or UNCERTAIN by thresholds τ and δ ([Thresholds]). A model that
// commits itself to nothing (c ≤ 1) never contradicts itself: that is the trap, which the share of
// examples that it answers at all (coverage) shows.
//
// # Elicitation
//
// An answer may be written in several ways, with a space before it or without and in another case;
// the probability of a YES is that of all tokens that write it ([Answers]), and
// p = P(YES) / (P(YES) + P(NO)) within its own question. A way to write it counts only where the vocabulary
// has both answers so, each as one token: with a NO of three spellings against a YES of two, p would be of the
// tokenizer. A format of which nothing is left cannot be asked, and the tables say so. What a model puts on neither is kept too, and
// all figures are to be had of P(YES) as it is ([Options].Unnormalised). A model that has a chat
// template is asked in a conversation, another by a text to go on with. The prompts are files
// ([Prompts]).
//
// # Data
//
// FOLIO and LogiQA 2.0 lie in files with licences of their own, which are read in place. Neither has
// negated conclusions; [NegateFOLIO] and [Negate] make them by rules, and what the rules cannot negate
// is counted and not asked. Rows of a run have no text of the data.
//
// # Where the paper says nothing
//
// Accuracy counts the three-way answer over all examples, so that UNCERTAIN is right where the label
// says so: it is the only reading that gives the published Table 1 from whole numbers of examples.
// A LogiQA label "not entailed" is met by FALSE and by UNCERTAIN. The calibration error ECE_cov takes
// the answered examples, the probability of the answer as confidence, and ten bins of equal width.
package cuc
