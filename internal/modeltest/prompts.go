package modeltest

import (
	"errors"
	"testing"

	"github.com/modellog/modellog/lm"
)

// Prompt is a prefix, with words that may be asked about after it.
type Prompt struct {
	Prefix  string
	Targets []string // joined as lm.Join does
}

// Prompts are what the models are compared on where no reference is needed, so
// that the comparison runs wherever the models are: likely and unlikely targets,
// sure and unsure predictions, short and long prefixes, and text of many kinds.
var Prompts = []Prompt{
	// Kinds of things, and their negation.
	{"A sparrow is a kind of", []string{"bird", "fish", "tool"}},
	{"A sparrow is not a kind of", []string{"bird", "fish", "tool"}},
	{"Every whale is a", []string{"fish", "whale", "mother"}},
	{"No stone is", []string{"alive", "hard", "left"}},
	{"An oak is a tree, and a tree is a", []string{"plant", "metal", "tree"}},
	{"If something is a square, then it is also a", []string{"circle", "square", "house"}},
	{"It would be wrong to say that snow is", []string{"black", "white"}},
	{"A hammer is a tool that is used to", []string{"build", "sleep", "break"}},
	{"Copper and iron are", []string{"metals", "animals", "both"}},
	// Places and time.
	{"Madrid is the capital of", []string{"Spain", "Norway"}},
	{"The river that flows through London is the", []string{"River", "city", "longest"}},
	{"Oslo, Norway; Rome, Italy; Cairo,", []string{"Egypt", "France"}},
	{"The day after Monday is", []string{"Tuesday", "Friday", "a"}},
	// Arithmetic.
	{"3 + 4 =", []string{"seven", "?"}},
	{"One half of ten is", []string{"five", "ten"}},
	{"1, 2, 3, 4, 5,", []string{"six", "and"}},
	// Code and marks.
	{"for i in range(10): print(", []string{"i", "x"}},
	{"if err != nil { return", []string{"err", "nil", "false"}},
	{"SELECT name FROM users WHERE id", []string{"=", "IN", "of"}},
	{"{\"colour\": \"red\", \"size\":", []string{"\"", "1"}},
	{"<ul><li>one</li><li>two", []string{"<", "."}},
	// Other languages and scripts.
	{"Die Hauptstadt von Österreich heißt", []string{"die", "in", "."}},
	{"Le chat dort sur le", []string{"lit", "sol", "."}},
	{"El café está", []string{"en", "bien", "."}},
	{"日本の首都は", []string{"東", "大", "。"}},
	{"Москва — столица", []string{"России", "и", "."}},
	{"Η Αθήνα είναι", []string{"η", "."}},
	{"Her favourite animal is 🐱, and his is", []string{"a", "the", "not"}},
	// Short and long.
	{"The", []string{"first", "quick", "of"}},
	{"Yes", []string{",", ".", "or"}},
	{"Question: Is a tomato a fruit? Answer", []string{":", "the"}},
	{"The lighthouse keeper climbed the stairs every evening at dusk, lit the lamp, wrote the hour into a book with a red cover, looked out over " +
		"the water for a ship that was years late, and climbed down again. On the last day of the year a storm came up. The stairs were wet, the door " +
		"would not close, and the book with the red cover lay on the floor. Still the keeper climbed up, as on all the evenings before, and lit the",
		[]string{"lamp", "fire", "ship"}},
}

// Question is a prompt in the tokens of a model.
type Question struct {
	Prefix  string
	IDs     []lm.Token // what the model is given, with its beginning-of-sequence token
	Targets []Target
}

// Target is a target of one token.
type Target struct {
	Text string // with the white space that joins it to its prefix
	ID   lm.Token
}

// Questions returns the Prompts in the model's tokens. Targets that are not one
// token of this model are left out.
func Questions(t testing.TB, m lm.Model) []Question {
	t.Helper()
	questions := make([]Question, len(Prompts))
	for i, p := range Prompts {
		q := &questions[i]
		q.Prefix = p.Prefix
		own, err := m.Tokenize(t.Context(), p.Prefix)
		if err != nil {
			t.Fatal(err)
		}
		if q.IDs, err = lm.Prompt(m, own); err != nil {
			t.Fatal(err)
		}
		for _, target := range p.Targets {
			text, _ := lm.Join(p.Prefix, target)
			continuation := text[len(p.Prefix):]
			_, after, err := lm.Continue(t.Context(), m, p.Prefix, continuation)
			var merged *lm.BoundaryError
			switch {
			case errors.As(err, &merged):
			case err != nil:
				t.Fatal(err)
			case len(after) == 1:
				q.Targets = append(q.Targets, Target{Text: continuation, ID: after[0]})
			}
		}
	}
	return questions
}

// Prefixes returns the prefixes of Questions.
func Prefixes(t testing.TB, m lm.Model) [][]lm.Token {
	t.Helper()
	var prefixes [][]lm.Token
	for _, q := range Questions(t, m) {
		prefixes = append(prefixes, q.IDs)
	}
	return prefixes
}
