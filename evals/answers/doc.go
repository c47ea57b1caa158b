// Package answers puts a question with two answers to a model and reads how probable each answer is: what the
// evaluations share that read a decision from one next-token distribution.
//
// An answer may be written in several ways, with a space before it or without; its probability is that of all
// tokens that write it ([Pair]). The share of the first, P(first) / (P(first) + P(second)), is the decision, and
// what the model puts on neither is kept ([Pair.Read]). Where a backend tells only of the most probable tokens,
// the numbers are intervals ([Bounds]).
//
// A model that has a chat template is asked in a conversation, another by a text to go on with ([Asker]).
package answers
