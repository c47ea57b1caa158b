package lang

import "slices"

// function is a function of the language. What each does is in expand.go
// (formula makers) and query.go (queries).
type function struct {
	name  string
	usage string
	query bool // gives a result of its own instead of a formula
	doc   string
}

// functions are the reserved names, makers first.
var functions = []function{
	{"M", `M("prefix", "target", join="…")`, false, "the event that the model takes the target as a valid continuation of the prefix"},
	{"prob", `prob(p)`, false, "an event with the probability p and no model behind it"},
	{"likelihood", `likelihood("text")`, false, "the conjunction of a text's token events (Formula 1)"},
	{"ladder", `ladder("text")`, false, "all of Example 4's bounds: at least 1, 2, … n of a text's tokens"},
	{"atleast", `atleast(k, F, G, …)`, false, "at least k of the formulas are true"},
	{"atmost", `atmost(k, F, G, …)`, false, "at most k of the formulas are true"},
	{"exactly", `exactly(k, F, G, …)`, false, "exactly k of the formulas are true"},
	{"wmc", `wmc(F)`, true, "the probability that the formula holds (Eq. 1)"},
	{"wmc0", `wmc0(F)`, true, "the same by chance: the share of satisfying interpretations (Eq. 3)"},
	{"rho", `rho(F)`, true, "probabilistic consistency ρ: 0 is chance, 1 is perfect (Eq. 5)"},
	{"cacc", `cacc(F)`, true, "1 if the model satisfies the formula better than chance, else 0 (Eq. 6)"},
	{"info", `info(F)`, true, "informativeness in bits, -log₂ WMC₀"},
	{"loss", `loss(F)`, true, "semantic loss in nats, -ln WMC (Eq. 2)"},
	{"grad", `grad(F)`, true, "∂WMC/∂p for each token event"},
	{"marginals", `marginals(F)`, true, "each token event's probability, given that the formula holds"},
	{"models", `models(F, k)`, true, "the k most probable interpretations that satisfy the formula"},
	{"mpe", `mpe(F)`, true, "the most probable interpretation that satisfies the formula"},
	{"entails", `entails(F, G)`, true, "true if every interpretation that satisfies F satisfies G"},
	{"equivalent", `equivalent(F, G)`, true, "true if the same interpretations satisfy both"},
	{"top", `top("prefix", k)`, true, "the k most probable next tokens after a prefix"},
}

func findFunction(name string) *function {
	i := slices.IndexFunc(functions, func(f function) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	return &functions[i]
}
