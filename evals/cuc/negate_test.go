package cuc

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The table of examples, which is what a reader sees of the rules.
func TestNegationExamples(t *testing.T) {
	rows, err := ParseNegations(NegationExamples)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Rule]int{}
	for _, r := range rows {
		got, rule, err := Negate(r.Sentence)
		why := ""
		if err != nil {
			why = err.Error()
		}
		if got != r.Negation || rule != r.Rule || why != r.Refused {
			t.Errorf("line %d: %q\n  gives %q (%s) %s\n  want  %q (%s) %s", r.Line, r.Sentence, got, rule, why, r.Negation, r.Rule, r.Refused)
		}
		seen[r.Rule]++
	}
	for _, rule := range []Rule{Unwrap, Quantifier, Remove, Insert, Wrap, ""} {
		if seen[rule] < 2 {
			t.Errorf("the rule %q has %d examples", rule, seen[rule])
		}
	}
	if _, err := ParseNegations("a | b"); err == nil {
		t.Error("a line of two fields is taken")
	}
}

func TestNegateFOLIO(t *testing.T) {
	for _, x := range []struct {
		sentence, formula, want string
		rule                    Rule
	}{
		{"Rock is a turtle.", "Turtle(rock)", "Rock is not a turtle.", Insert},
		{"Rock is not a turtle.", "¬Turtle(rock)", "Rock is a turtle.", Remove},
		{"Rock is not a turtle.", "¬(Turtle(rock))", "Rock is a turtle.", Remove},
		{"Platypus are mammals.", "∀x (Platypus(x) → Mammal(x))", "It is not the case that Platypus are mammals.", Wrap},
		// The sentence looks like an atom, and its formula says that it is none.
		{"Koalas are quokka.", "LoveToSleep(koala) ∧ Quokka(koala)", "It is not the case that Koalas are quokka.", Wrap},
		// The formula is negated and the sentence is not, or says it otherwise.
		{"Rock is unlike a turtle.", "¬Turtle(rock)", "It is not the case that Rock is unlike a turtle.", Wrap},
		{"Rock is not a turtle.", "NotTurtle(rock)", "It is not the case that Rock is not a turtle.", Wrap},
		{"No one gets flu.", "∀x (Human(x) → ¬Flu(x))", "It is not the case that no one gets flu.", Wrap},
		{"Peter has wings", "((HaveWings(peter)", "It is not the case that Peter has wings.", Wrap},
	} {
		got, rule, err := NegateFOLIO(x.sentence, x.formula)
		if err != nil || got != x.want || rule != x.rule {
			t.Errorf("%q, %q: %q (%s), %v", x.sentence, x.formula, got, rule, err)
		}
	}
	if _, _, err := NegateFOLIO(" ", "P(a)"); err == nil {
		t.Error("an empty conclusion is negated")
	}
	for f, want := range map[string]shape{
		"Turtle(rock)": atom, "Leads(roderickstrong, creedbrothers)": atom, "(Turtle(rock))": atom, "¬¬Turtle(rock)": atom, "¬Turtle(rock)": negatedAtom,
		"¬(Turtle(rock))": negatedAtom, "¬(A(x) ∧ B(x))": compound, "A(x) ⊕ B(x)": compound, "": compound, "Turtle(rock": compound, "∃x A(x)": compound,
	} {
		if got := shapeOf(f); got != want {
			t.Errorf("%q is of shape %d, want %d", f, got, want)
		}
	}
}

// Whatever the text, there is a negation that differs from it, or a reason; and insertion and removal
// undo each other.
func TestNegateAny(t *testing.T) {
	words := strings.Fields("The a No Some All Every river Anna is are was not will can must sings , and or if that to , . ? ! It case it's (x) \" 7 é ’")
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 9).Draw(t, "words"), " ")
		got, rule, err := Negate(s)
		if err != nil {
			if got != "" || rule != "" {
				t.Fatalf("%q: %q besides %v", s, got, err)
			}
			return
		}
		if got == "" || rule == "" || got == oneLine(s) {
			t.Fatalf("%q gives %q (%s)", s, got, rule)
		}
		if rule == Insert && !strings.Contains(got, "cannot") {
			back, r, err := Negate(got)
			if err != nil || r != Remove || !strings.EqualFold(strings.TrimRight(back, ".! "), strings.TrimRight(oneLine(s), ".! ")) {
				t.Fatalf("%q gives %q, and that %q (%s), %v", s, got, back, r, err)
			}
		}
	})
}

func FuzzNegate(f *testing.F) {
	rows, err := ParseNegations(NegationExamples)
	if err != nil {
		f.Fatal(err)
	}
	for _, r := range rows {
		f.Add(r.Sentence)
	}
	f.Add("\xff is \xfe")
	f.Fuzz(func(t *testing.T, s string) {
		if got, _, err := Negate(s); err == nil && got == oneLine(s) {
			t.Errorf("%q is its own negation", s)
		}
	})
}
