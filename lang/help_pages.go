package lang

// pages are the topics of %help. Those without a title belong to a function or
// a command of their name.
var pages = []topic{
	{
		name: "not", aliases: []string{"!", "~", "¬"},
		title: "!F   ~F   not F   ¬F   the negation of F",
		text:  "True when F is false. It binds tighter than every other connective: !a & b is (!a) & b.",
		example: `a = prob(0.3)
wmc(!a)`,
	},
	{
		name: "and", aliases: []string{"&", "∧"},
		title: "F & G   F and G   F ∧ G   conjunction",
		text:  "True when both are. Events are independent, so the probability of a conjunction of distinct events is the product of theirs.",
		example: `a = prob(0.3)
b = prob(0.5)
wmc(a & b)`,
	},
	{
		name: "or", aliases: []string{"|", "∨"},
		title: "F | G   F or G   F ∨ G   disjunction",
		text:  "True when at least one is.",
		example: `a = prob(0.3)
b = prob(0.5)
a | b`,
	},
	{
		name: "xor", aliases: []string{"^", "⊕"},
		title: "F xor G   F ^ G   F ⊕ G   exclusive or",
		text:  "True when exactly one of the two is: negation consistency and mutual exclusivity in the paper's Table 1. Of three or more it is true when an odd number is; for mutual exclusion among many write exactly(1, …) or atmost(1, …).",
		example: `is    = prob(0.9)
isnot = prob(0.4)
is xor isnot`,
	},
	{
		name: "implies", aliases: []string{"->", "→", "implication"},
		title: "F -> G   F implies G   F → G   implication",
		text:  "False only when F is true and G is false. It associates to the right: a -> b -> c is a -> (b -> c).",
		example: `dog    = prob(0.86)
mammal = prob(0.015)
dog -> mammal`,
	},
	{
		name: "iff", aliases: []string{"<->", "↔", "equivalence"},
		title: "F <-> G   F iff G   F ↔ G   equivalence",
		text:  "True when both are true or both are false: two paraphrases should agree. It is the loosest connective.",
		example: `said    = prob(0.7)
reworded = prob(0.6)
said <-> reworded`,
	},
	{
		name: "true", aliases: []string{"false", "⊤", "⊥"},
		title:   "true ⊤   false ⊥   the constants",
		text:    "A tautology has ρ = 0/0, which is shown as undefined; an unsatisfiable formula has WMC₀ = 0 and I = ∞.",
		example: `equivalent(prob(0.3) | true, true)`,
	},
	{
		name: "atleast", aliases: []string{"threshold"},
		text: "The paper's ∨≥k (Formula 2): k = 1 is the disjunction and k = n the conjunction. A formula that is given twice counts twice.",
		example: `a = prob(0.9)
b = prob(0.5)
c = prob(0.2)
wmc(atleast(2, a, b, c))`,
	},
	{
		name: "atmost",
		text: "With k = 1 it is mutual exclusion: no two of the formulas are true together.",
		example: `mammal  = prob(0.7)
reptile = prob(0.1)
bird    = prob(0.2)
atmost(1, mammal, reptile, bird)`,
	},
	{
		name: "exactly",
		text: "With k = 1 it says that the formulas exclude one another and leave nothing out.",
		example: `mammal  = prob(0.7)
reptile = prob(0.1)
exactly(1, mammal, reptile)`,
	},
	{
		name: "M", aliases: []string{"event", "events", "join"},
		text: `The target is joined to the prefix by one space, unless the prefix ends in white space, the target starts with white space or closing punctuation, or one side of the seam is in a script that is written without spaces; join="…" says outright what stands between them. Two events with the same prefix, target and join are the same variable.

A target of several tokens is the conjunction of its token events, each in its own context; the report shows every piece that was asked. It is an error if the prefix's last token would merge with the target.`,
		example: `dog = M("A Golden Retriever is a", "dog")
dog
wer = M("Ans", "wer", join="")`,
	},
	{
		name: "prob",
		text: "For teaching and tests. Each prob(…) that is written is a variable of its own; give it a name to use it more than once.",
		example: `p = prob(0.3)
wmc(p & p)
wmc(prob(0.3) & prob(0.3))`,
	},
	{
		name: "likelihood",
		text: `Under raw probabilities its WMC is the model's likelihood of the text, and its loss the cross-entropy (Proposition 1). likelihood("prefix", "text") takes the text as a continuation, so that only its own tokens are events. It is a formula like any other.`,
		example: `%calibration raw
loss(likelihood("A Golden Retriever is a", "dog and a friend"))
%calibration nucleus-entropy`,
	},
	{
		name: "ladder",
		text: `The probabilities that at least 1, 2, … n of a text's tokens are valid continuations: a hierarchy of bounds that descends to the likelihood (Example 4). ladder("text", k) is the one formula for k, and ladder(F, G, …) is the ladder of given formulas, which must not share events.`,
		example: `ladder(prob(0.9), prob(0.5), prob(0.2))
wmc(ladder("A Golden Retriever is", 2))`,
	},
	{
		name: "wmc",
		text: "Weighted model counting: the total probability of the interpretations that satisfy the formula, each the product of its events' probabilities and complements.",
		example: `dog    = prob(0.86)
mammal = prob(0.015)
wmc(dog -> mammal)`,
	},
	{
		name:    "wmc0",
		text:    "The number of satisfying interpretations over 2ⁿ, n the number of variables: what the formula's probability would be if each event had probability ½. It is exact for any number of variables.",
		example: `wmc0(prob(0.1) -> prob(0.9))`,
	},
	{
		name: "rho", aliases: []string{"ρ"},
		text: "The share of the possible improvement over chance, (WMC - WMC₀) / (1 - WMC₀). It is undefined for a tautology.",
		example: `a = prob(0.9)
b = prob(0.8)
rho(a -> b)`,
	},
	{
		name: "cacc",
		text: "The mean over a data set is its consistency accuracy CAcc. Where the backend sees only a part of the vocabulary it can be undecided.",
		example: `a = prob(0.9)
b = prob(0.8)
cacc(a xor b)`,
	},
	{
		name: "info",
		text: "How many bits are gained by learning that the formula holds when nothing is known: 0.415 for an implication, 1 for an exclusive or, n for a conjunction of n events, which nothing exceeds (Proposition 2).",
		example: `info(prob(0.5) -> prob(0.5))
info(prob(0.5) xor prob(0.5))`,
	},
	{
		name: "loss",
		text: "It is computed in logarithms, so that a text of thousands of tokens does not underflow.",
		example: `a = prob(0.9)
b = prob(0.8)
loss(a & b)`,
	},
	{
		name: "grad",
		text: "∂WMC/∂p is the difference between the formula's probability with the event true and with it false. The largest in magnitude is the prediction to blame.",
		example: `dog    = prob(0.86)
mammal = prob(0.015)
grad(dog -> mammal)`,
	},
	{
		name: "marginals",
		text: "What would have to be believed of each event by whoever knows that the formula holds.",
		example: `dog    = prob(0.86)
mammal = prob(0.015)
marginals(dog -> mammal)`,
	},
	{
		name: "models", aliases: []string{"interpretations"},
		text: "As in Figure 2 C–E: each satisfying interpretation with its probability, and its probability by chance. Without k the ten most probable are shown. (To list language models, %models.)",
		example: `dog    = prob(0.86)
mammal = prob(0.015)
models(dog -> mammal)`,
	},
	{
		name: "mpe",
		text: "The most probable explanation: which events to believe, if the formula must hold.",
		example: `dog    = prob(0.86)
mammal = prob(0.4)
mpe(dog -> mammal)`,
	},
	{
		name: "entails",
		text: "Entailment does not depend on probabilities. If F entails G, then F is at most as probable and at least as informative (Proposition 3).",
		example: `a = prob(0.5)
b = prob(0.5)
entails(a & b, a | b)`,
	},
	{
		name: "equivalent",
		text: "Equivalence does not depend on probabilities.",
		example: `a = prob(0.5)
b = prob(0.5)
equivalent(a -> b, !b -> !a)`,
	},
	{
		name:    "top",
		text:    "What the model itself would say next, with raw probabilities. Without k the first ten are shown.",
		example: `top("A Golden Retriever is a", 5)`,
	},
	{
		name: "schema", aliases: []string{"schemas", "hole", "holes"},
		title: "name(x, a, …) = formula   a schema: a formula with holes",
		text:  "A hole is filled with a text (for a prefix or a target), a number or a formula. A schema that is called writes its formula out anew; %run fills its holes from the rows of a file.",
		example: `exclusive(f, g) = !(f & g)
mammal  = prob(0.7)
reptile = prob(0.1)
exclusive(mammal, reptile)`,
	},
	{
		name: "model",
		text: `A model of modellog's store, one that Ollama has pulled, or with a scheme gguf:PATH, ollama:NAME, openai:URL#NAME. The model before is closed. Names keep their definitions, which are then asked of the new model.`,
		example: `%model gemma3:270m-pt
M("A Golden Retriever is a", "dog")`,
	},
	{
		name:    "models-available",
		aliases: []string{"%models"},
		title:   "%models   list the models that can be opened",
		text:    "Each with the backend that opens it. (For the interpretations that satisfy a formula, models(F).)",
		example: `%models`,
	},
	{
		name: "calibration", aliases: []string{"calibrate"},
		text: `An event's probability is σ(logit(P) + C) (Eq. 4), P being the token's raw probability. C tells how large the live region of continuations is:

nucleus-entropy [p]: the entropy of the smallest set of tokens with mass p, renormalised (the default, p = 0.95). entropy: that of the whole distribution. nucleus-size [p]: the logarithm of the number of tokens in the nucleus. raw: 0, the token's own probability.`,
		example: `%calibration nucleus-entropy 0.9
%calibration raw
M("A Golden Retriever is a", "dog")
%calibration nucleus-entropy`,
	},
	{
		name:    "load",
		text:    "The file's names are then there, and its results are shown. Paths within the file start at its own folder. If the file has a mistake, none of its names are kept.",
		example: `%load schemas.logic`,
	},
	{
		name: "run",
		text: `The rows fill the schema's holes: a CSV file with the holes' names as header, or with one column for each hole; a JSONL file of objects with the holes as fields, or of arrays; a Parquet file with columns of the holes' names. The summary gives the number of rows n, the mean WMC and ρ, CAcc in percent and I.

Rows with a target of several tokens are left out and counted, as in the paper; multi=keep keeps them. Rows that cannot be used are counted with their line numbers. limit=N stops after N rows.`,
		example: `implication(x, a, b) = M(x, a) -> M(x, b)
%run implication facts.jsonl
%plot histogram`,
	},
	{
		name: "plot", aliases: []string{"figure", "histogram", "histograms", "informativeness"},
		text: `%plot report F draws a report's events and gradients; %plot interpretations F the interpretations with their probabilities, as Figure 2 does; %plot ladder "text" (or a ladder's name) Example 4's bounds; %plot calibration E, … how raw probabilities become event probabilities; %plot informativeness F, … ρ over I, of formulas, of a ladder's rungs or of the runs of a schema; %plot histogram the ρ of the last %run, and %plot histograms those of all runs, a row for each model and a column for each schema, as Figures 3 to 6 do. For %plot scaling there is %help scaling.

%save FILE writes the figure.`,
		example: `dog    = prob(0.86)
mammal = prob(0.015)
%plot report dog -> mammal`,
	},
	{
		name:  "scaling",
		title: `%plot scaling FILE.csv [SCHEMA] [subset="…"] [QUANTITY=rho(SCHEMA)]   values over the size of models`,
		text: `A file has a value in each row: the columns size (number of parameters) and value, and as far as it has them model, family, std, unit and table, and lo and hi of a value that is an interval. Rows with a table are published and hollow, those without are your own and filled. Other columns, such as subset and quantity, say what the value is of: each gets a curve plot, and subset="…" or quantity="…" choose some.

A schema adds the models that it was run with in this session: the mean CAcc (or quantity=rho) over runs that differ in p alone, with their standard deviation, as in the paper's tables. SCHEMA="…" says which subset of the file it measures, and P1=wmc(SCHEMA), P1=rho(SCHEMA) or P1=cacc(SCHEMA) that the mean WMC, ρ or CAcc of its runs is the file's quantity P1.

%table shows the same in a table.`,
		example: `implication(x, a, b) = M(x, a) -> M(x, b)
%run implication facts.jsonl
%plot scaling published.csv implication subset="Forward Implication"`,
	},
	{
		name: "table",
		text: `It takes what %plot scaling does, and shows a line for each model and published table and a column for each subset and quantity, published values with their own digits. Below it stands what the values measured here are means of.`,
		example: `implication(x, a, b) = M(x, a) -> M(x, b)
%run implication facts.jsonl
%table published.csv implication subset="Forward Implication"`,
	},
	{
		name: "calc", aliases: []string{"arithmetic"},
		text: `Numbers, and the queries that give one (wmc wmc0 rho cacc info loss), with + - * / ^ and parentheses. grad(F, E) is ∂WMC(F)/∂p of the event E. exp, ln, log2, sqrt, logit and sigmoid are there too. Of several expressions, with commas between them, each gets a line, so that both sides of an equation stand together.`,
		example: `dog    = prob(0.86)
mammal = prob(0.015)
rule   = dog -> mammal
%calc rho(rule), (wmc(rule) - wmc0(rule)) / (1 - wmc0(rule))
%calc sigmoid(logit(0.0577) + 4.60)
%calc -grad(rule, dog) / wmc(rule)`,
	},
	{
		name: "save",
		text: "By the name's ending: .svg, .png and .pdf are the last figure, .logic and .txt the session's definitions. The file's absolute path is printed. A relative path starts in the working directory. A file of definitions that %save did not write itself is never overwritten.",
		example: `a = prob(0.3)
%plot report !a
%save figure.svg`,
	},
	{
		name: "who",
		text: "In the order in which they were first defined, with their kind: event, formula, schema or ladder.",
		example: `a = prob(0.3)
%who`,
	},
	{
		name:    "reset",
		text:    "The calibration and the model stay as they are.",
		example: `%reset`,
	},
	{
		name:    "time",
		text:    "The time includes opening the model, if the statement is the first to need it. A second look at the same events is answered from the cache of readings.",
		example: `%time wmc(prob(0.3) & prob(0.5))`,
	},
	{
		name:    "help",
		text:    "A topic is a connective (-> or implies), a function (M, wmc, …), a command (run or %run) or one of: schema, statements.",
		example: `%help ->`,
	},
	{
		name: "statements", aliases: []string{"syntax", "#", ";", "comment"},
		title: "statements, comments and silence",
		text: `A statement ends at the line's end, unless a parenthesis is open or the line ends in a connective or "=". # starts a comment. A trailing ; silences a result.

A name stands for an event, a formula, a schema or a ladder. What it stands for is looked up when it is used: redefining an event changes every formula that mentions it. A text is written in "…" or '…' with \n, \t, \\, \", \u0041; r"…" takes backslashes as they are.`,
		example: `a = prob(0.9)   # an event
b = prob(0.8)
rule = a ->
  b
rule;
rule`,
	},
}
