// Package modellog states what a language model should believe as logic over its
// next-token predictions, and measures how far it does. It is what a Go program, or a
// cell in Go of a notebook, needs of the project.
//
// A [Formula] is built from events, [M] and [Prob], and connectives. A [Session]
// evaluates it: its model is asked for each event's probability, and the [Report] has
// the formula's WMC, WMC₀, ρ, CAcc, informativeness, loss and gradient.
//
// A session evaluates the constraint language, the one that the terminal and the
// notebooks speak (see package lang), and a Formula is a text of that language, so that whatever can be
// said in one can be said in the other: [Session.Eval] takes programs, [Text] puts a
// formula of the language among others, and [Session.Define] gives a name that both know.
//
// # Sessions
//
// In a cell in Go the names of this package are at hand, even without an import, and [Connect] reaches the session of the notebook's own kernel, with the
// names of the other cells and the model that is loaded there. Any other program opens a model
// by its name and a session on it with Open of package [github.com/modellog/modellog/local]:
//
//	s, err := local.Open(ctx, "gemma3:270m-pt", local.Options{})
//	…
//	defer s.Close()
//	report, err := s.Evaluate(ctx, modellog.M("A robin is a", "bird"))
//
// The package itself opens no models, needs no C compiler, and is light: a cell in Go that imports it
// is linked in about the time that one without it takes.
package modellog
