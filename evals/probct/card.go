package probct

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/modellog/modellog/notebooks/published"
)

// reading is what was found when rows of a build were read: a line with that build's digest, and a
// text in Markdown.
//
//go:embed reading.md
var reading string

// readingOf returns the note of a digest's reading, and the digest that there is a note of.
func readingOf(digest string) (note, of string) {
	first, text, _ := strings.Cut(reading, "\n")
	of = strings.TrimSpace(strings.TrimPrefix(first, "digest:"))
	if of != digest {
		return "", of
	}
	return strings.TrimSpace(text), of
}

// Card writes a suite's data card, in Markdown. The judge is nil where the rules decided.
func Card(m *BuildManifest, t *Templates, judge *LLM) ([]byte, error) {
	paper, err := publishedCounts()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	line("# ProbCT: data card\n")
	line("A diagnostic suite of five subsets for what a language model should believe of facts that follow from one another,")
	line("after ModelLog (§4, Appendix B). The paper's own rows are not these: they are built anew by `modellog probct build`,")
	line("from the sources below. The schemas are in `%s`, the rows in a `.jsonl` file for each.\n", LogicFile)
	line("- Digest of the rows: `%s`", m.Digest)
	line("- Built by modellog %s, seed %d, at most %d rows of a subset", m.Modellog, m.Seed, m.Rows)
	if judge != nil {
		line("- Judge: `llm`, %s", m.Model)
	} else {
		line("- Judge: `rules`, deterministic: the same sources, seed and options make the same bytes")
	}

	line("\n## Counts\n")
	line("| subset | raw | filtered | share | paper: raw | filtered |\n|---|--:|--:|--:|--:|--:|")
	for _, s := range Published() {
		c := m.Subsets[s]
		line("| %s | %d | %d | %.1f %% | %s | %s |", Title(s), c.Raw, c.Filtered, 100*float64(c.Filtered)/float64(max(1, c.Raw)), paper[s]["raw"], paper[s]["filtered"])
	}
	line("\nRaw are candidates that were judged; drawing ends when a subset is full. They are drawn from words of the frequency list, and")
	line("targets only from words that passed the criteria by themselves, so the shares are not those of the paper's Table 4, whose raw rows are not public.")
	line("Of %d words that could be targets %d passed.", m.Targets.Raw, m.Targets.Filtered)
	if judge != nil {
		none := 0
		for _, c := range m.Subsets {
			none += c.NoText
		}
		line("Of %d candidates besides, the templates have no text (two targets that need different articles, say), and the model was not asked about them.", none)
		line("\n## The model's answers\n")
		line("A candidate is kept where the answers to all four questions are yes. One that is neither yes nor no keeps it out.\n")
		line("| criterion | yes | no | neither | share of yes |\n|---|--:|--:|--:|--:|")
		for _, k := range Criteria() {
			a := m.Answers[k.String()]
			line("| %v | %d | %d | %d | %.1f %% |", k, a.Yes, a.No, a.Unparsable, 100*float64(a.Yes)/float64(max(1, a.Yes+a.No+a.Unparsable)))
		}
		line("\nA model that says the same of nearly all candidates tells nothing of them; of a small one that is to be expected.")
		line("\nThe questions (SHA-256 `%.12s…`):\n\n```\n%s\n```\n", m.Prompts, strings.TrimSpace(judge.prompts()))
	}
	line("How many rows are left for a model whose tokenizer splits some targets (B.3) is printed by `modellog probct build --split MODEL`.")

	line("\n## Why candidates were rejected\n")
	line("A candidate can fail several criteria; under each the first fault found counts.\n")
	names := append(Published(), "targets")
	counts := func(s string) *Counts {
		if s == "targets" {
			return &m.Targets
		}
		return m.Subsets[s]
	}
	head, rule := "| criterion | fault |", "|---|---|"
	for _, s := range names {
		head += " " + Title(s) + " |"
		rule += "--:|"
	}
	line("%s\n%s", head, rule)
	for _, k := range Criteria() {
		faults := make(map[string]bool)
		for _, s := range names {
			for f := range counts(s).Rejected[k.String()] {
				faults[f] = true
			}
		}
		for _, f := range slices.Sorted(maps.Keys(faults)) {
			row := fmt.Sprintf("| %v | %s |", k, f)
			for _, s := range names {
				row += fmt.Sprintf(" %d |", counts(s).Rejected[k.String()][f])
			}
			line("%s", row)
		}
	}

	line("\n## Candidates\n")
	line("Subjects are nouns of WordNet's files of animals, artifacts, body parts, foods, natural objects, people, plants and substances;")
	line("people by name only if they are dead (\"was\"). Targets are single words, since B.3 keeps only targets of one token.")
	line("Words that WordNet or its definitions mark as slurs, vulgar or sexual are not drawn, nor are words of its upper taxonomy that nobody says of a thing (*whole*, *artifact*; `upper.txt`).")
	line("At most %.0f %% of a subset's rows have the same first target, %.0f %% the same last one, so that no word makes up a subset.\n", 100*targetCap, 100*lastCap)
	line("- Transitivity, forward implication: a noun, something above it in the taxonomy, and something above that.")
	line("- Negation consistency: a noun and something above it, and the same denied.")
	line("- Mutual exclusivity: something above a noun, and a sibling of that: both have the same nearest target above them, neither is above the other, and nothing in the whole taxonomy, kind or instance, is below both. What they have in common must be a noun whose kinds WordNet divides by one mark (`exclusive.txt`): siblings among people are roles, which can both apply.")
	line("- Spatial exclusivity: a town or a country, what it is in (a US state, a country, a continent), and another of the same kind.")

	line("\n## Rules\n")
	if judge != nil {
		line("These decided on the words that can be targets. On candidates the model alone decided.\n")
	}
	line("- *Grammatical*: articles by sound; a text that two targets share must suit both (a/an, mass, \"the\"); count and mass nouns told apart by how much rarer the plural is; no plurals, no scientific names; no target that the subject already spells (\"a swivel chair is a chair\").")
	line("- *Monosemous*: one meaning as a noun in WordNet, or the first meaning with at least %.0f %% (a subject) or %.0f %% (a target) of the noun's occurrences in the texts that WordNet's makers tagged with senses. For places: no town of that name in another country with more than %.0f %% of the inhabitants, and no other first meaning in WordNet.", 100*subjectShare, 100*targetShare, 100*namesakeShare)
	line("- *Salient*: frequency of at least Zipf %.1f for a subject and %.1f for a target (Zipf: decimal logarithm of occurrences in a thousand million words); a noun and not mostly another part of speech in tagged texts; a compound only if it was tagged, since the list has words; a counted noun's plural not more than %.0f times rarer, unless it was tagged; none of the words in `homographs.txt`; people by a surname that WordNet has of one person, tagged, Zipf %.1f. Towns: Zipf %.1f and %d inhabitants, or a capital, and in WordNet or a million; countries: Zipf %.1f, and no territories.", subjectZipf, targetZipf, math.Pow(10, countedGap), nameZipf, cityZipf, cityPopulation, countryZipf)
	line("- *Factual*: entailed by the taxonomy without the edges in `faults.txt`; nothing mythical or hypothetical by its definition; no disputed places, no countries on two continents.")
	line("\nThe thresholds follow from the criteria and were set by reading rows. No model's score was looked at.")

	line("\n## Templates\n\n```\n%s\n```", strings.TrimSpace(t.Text))

	line("\n## Sources\n")
	for _, s := range m.Sources {
		line("- %s. Licence: %s", s.Name, s.Licence)
		for _, f := range slices.Sorted(maps.Keys(s.Files)) {
			line("  - `%s` SHA-256 `%s`", f, s.Files[f])
		}
	}
	line("\nWordNet 3.1 Copyright 2011 by Princeton University. All rights reserved. Princeton University makes no representations or warranties about it; its licence is in `LICENSE.WordNet`.")
	line("Places are from GeoNames (geonames.org), CC BY 4.0, chosen and put into sentences. Frequencies are from wordfreq by Robyn Speer (CC BY-SA 4.0; SUBTLEX by Marc Brysbaert et al. and others); rows were chosen by them and do not have them.")
	if m.YAGO != nil {
		line("YAGO: %d facts say where something is, %d were used, %d name places that the gazetteer does not have or has several times.", m.YAGO.Facts, m.YAGO.Used, m.YAGO.Unknown)
	}

	line("\n## Rows read by eye\n")
	if note, of := readingOf(m.Digest); note != "" {
		line("%s", note)
	} else {
		line("The rows of this build were not read. Those of the build with digest `%s` were, and its card has the share that is wrong.", of)
	}

	line("\n## Known faults\n")
	line("- WordNet's taxonomy has edges that do not hold of the world. Those found are in `faults.txt`; others remain.")
	line("- A word's frequency is that of its spelling: a rare noun that is spelt as a common name or verb form can pass.")
	line("- Sense frequencies are from a small corpus of the 1960s (SemCor); most nouns were never tagged.")
	line("- Compounds, among them the paper's *golden retriever*, are left out where only their words' frequencies are known.")
	line("- A bare kind in \"X is a type of\" follows the paper's Table 8; `--templates` writes it otherwise.")
	line("- GeoNames' populations are of municipalities; some well-known small towns are missing.")
	return b.Bytes(), nil
}

// publishedCounts are the paper's Table 4, as printed: of each subset the rows raw and filtered.
func publishedCounts() (map[string]map[string]string, error) {
	figures, err := published.Table("ModelLog Table 4")
	if err != nil {
		return nil, err
	}
	counts := make(map[string]map[string]string)
	for _, s := range Published() {
		counts[s] = make(map[string]string)
		for _, f := range figures {
			if f.Subset == Title(s) && f.Family == "" { // the other rows are of models' tokenizers
				counts[s][f.Quantity] = f.Printed
			}
		}
	}
	return counts, nil
}
