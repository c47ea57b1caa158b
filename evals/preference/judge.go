package preference

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"unicode"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

var nan = math.NaN()

// labels are what the two items are called, in the order in which they are shown.
var labels = [2]string{"A", "B"}

// Ask says how a model is asked for its judgements.
type Ask struct {
	Prompts     *Prompts      // of the task
	Style       answers.Style // answers.Auto if empty
	Paraphrases int           // how many of the task's paraphrases are asked besides its question
	NoNegated   bool          // leave the negated questions out
	Cut         int           // tokens that a source or an item is cut to; 0 for none
	CoT         *Sampling     // sampled chains of thought; nil for the labels' probabilities
}

// Sampling says how chains of thought are sampled.
type Sampling struct {
	Samples     int     // of each ordered pair and question
	Temperature float64 // the paper's is 0.7
	MaxTokens   int     // of an answer
	Seed        uint64
}

func (a *Ask) complete() error {
	if a.Style == "" {
		a.Style = answers.Auto
	}
	switch {
	case a.Prompts == nil:
		return errors.New("there are no prompts; take a task's")
	case a.Paraphrases < 0 || a.Paraphrases >= len(a.Prompts.Questions):
		return fmt.Errorf("%d paraphrases are asked for; %s has %d", a.Paraphrases, a.Prompts.Task, len(a.Prompts.Questions)-1)
	case a.Cut < 0:
		return fmt.Errorf("texts are cut to %d tokens; 1 is the least", a.Cut)
	}
	if s := a.CoT; s != nil && (s.Samples < 1 || s.Samples > maxSamples || s.MaxTokens < 1 || !(s.Temperature >= 0)) {
		return fmt.Errorf("%d samples of at most %d tokens at temperature %g; there are 1 to %d samples, of at least 1 token, at 0 or above", s.Samples, s.MaxTokens, s.Temperature, maxSamples)
	}
	return nil
}

// maxSamples bounds the samples of a judgement.
const maxSamples = 10_000

// questions are those that are asked.
func (a *Ask) questions() []Question {
	if a.NoNegated {
		return []Question{Relation}
	}
	return []Question{Relation, Negated}
}

// Asked is how many judgements an instance of n items takes: N(N − 1) of each question and wording.
func (a *Ask) Asked(n int) int { return n * (n - 1) * len(a.questions()) * (a.Paraphrases + 1) }

// judge asks a model about instances.
type judge struct {
	Ask
	reader *event.Reader
	asker  *answers.Asker
	labels *answers.Pair // nil where answers are sampled
}

func newJudge(ctx context.Context, r *event.Reader, a Ask) (*judge, error) {
	if err := a.complete(); err != nil {
		return nil, err
	}
	j := &judge{Ask: a, reader: r}
	var err error
	if j.asker, err = answers.NewAsker(ctx, r.Model, a.Style, a.CoT != nil); err != nil {
		return nil, err
	}
	if a.CoT != nil {
		if _, ok := r.Model.(lm.Generator); !ok {
			return nil, fmt.Errorf("%s cannot write, and so gives no chain of thought", r.Model.Info().Name)
		}
		return j, nil
	}
	// In small letters the first label would be an English word.
	j.labels, err = answers.Find(ctx, r.Model, labels, answers.Spaced(labels, j.asker.Style))
	return j, err
}

// frame is the prompt that a model of this style gets.
func (j *judge) frame() string {
	switch {
	case j.CoT != nil && j.asker.Style == answers.Plain:
		return j.Prompts.CoT + "\n" // the model writes on
	case j.CoT != nil:
		return j.Prompts.CoT
	case j.asker.Style == answers.Plain:
		return j.Prompts.Plain
	}
	return j.Prompts.Chat
}

// texts are an instance's texts as they are shown.
type texts struct {
	source  string
	items   []string
	cut     []bool // of the items
	cutMore int    // 1 where the source is cut
}

func (j *judge) texts(ctx context.Context, inst *Instance) (*texts, error) {
	t := &texts{}
	var err error
	cut := false
	if t.source, cut, err = j.shorten(ctx, inst.Source); err != nil {
		return nil, err
	}
	if cut {
		t.cutMore = 1
	}
	for _, item := range inst.Items {
		text, cut, err := j.shorten(ctx, item.Text)
		if err != nil {
			return nil, err
		}
		t.items, t.cut = append(t.items, text), append(t.cut, cut)
	}
	return t, nil
}

// cuts is how many texts of a pair's prompt were cut.
func (t *texts) cuts(a, b int) int {
	n := t.cutMore
	for _, i := range []int{a, b} {
		if t.cut[i] {
			n++
		}
	}
	return n
}

// shorten cuts a text to the last word with which it has at most Cut tokens, or within the first word where
// that alone has more.
func (j *judge) shorten(ctx context.Context, text string) (string, bool, error) {
	if j.Cut == 0 || len(text) <= j.Cut { // a token has a byte at least
		return text, false, nil
	}
	fits := func(s string) (bool, error) {
		tokens, err := j.reader.Model.Tokenize(ctx, s)
		return len(tokens) <= j.Cut, err
	}
	ok, err := fits(text)
	if ok || err != nil {
		return text, false, err
	}
	longest := func(ends []int) (string, error) {
		n := sort.Search(len(ends), func(k int) bool {
			if err != nil {
				return true
			}
			var ok bool
			ok, err = fits(text[:ends[k]])
			return !ok
		})
		if err != nil || n == 0 {
			return "", err
		}
		return text[:ends[n-1]], nil
	}
	var words, runes []int // where they end
	space := true
	for i, r := range text {
		if i > 0 {
			runes = append(runes, i)
		}
		now := unicode.IsSpace(r)
		if now && !space {
			words = append(words, i)
		}
		space = now
	}
	short, err := longest(words)
	if short == "" && err == nil {
		short, err = longest(runes)
	}
	return short, true, err
}

// input is what the model is given for a text.
func (j *judge) input(ctx context.Context, text string) (lm.Input, error) {
	in, err := j.asker.Input(ctx, text)
	if err != nil {
		return in, err
	}
	room := 0
	if j.CoT != nil {
		room = j.CoT.MaxTokens
	}
	if n, most := len(in.Tokens), j.reader.Model.Info().Context; most > 0 && n+room > most {
		if room > 0 {
			return in, fmt.Errorf("the prompt has %d tokens and the answer up to %d, and the model's context holds %d; cut the texts, or take shorter answers", n, room, most)
		}
		return in, &lm.ContextError{Tokens: n, Context: most}
	}
	return in, nil
}

// asked is a judgement with what is asked for it.
type asked struct {
	row  *Row
	text string   // the message, or the text to continue
	in   lm.Input // what the model is given
}

// ask makes an instance's rows. A text that is too long, or that the model's template refuses, makes bad rows and is
// no error.
func (j *judge) ask(ctx context.Context, inst *Instance) (out []asked, err error) {
	if inst.Bad != "" {
		return []asked{{row: &Row{Instance: inst.ID, Line: inst.Line, Status: StatusBad, Why: inst.Bad}}}, nil
	}
	t, err := j.texts(ctx, inst)
	if err != nil {
		return nil, err
	}
	human := inst.Human()
	for w := range j.Paraphrases + 1 {
		for _, q := range j.questions() {
			for a := range inst.Items {
				for b := range inst.Items {
					if a == b {
						continue
					}
					row := &Row{
						Instance: inst.ID, Line: inst.Line, First: inst.Items[a].ID, Second: inst.Items[b].ID,
						Question: q, Wording: w, Human: humanWord(human(a, b)), Cut: t.cuts(a, b), Status: StatusJudged,
					}
					x := asked{row: row, text: fill(j.frame(), t.source, t.items[a], t.items[b], j.Prompts.Questions[w].of(q))}
					x.in, err = j.input(ctx, x.text)
					if ctx.Err() != nil {
						return nil, ctx.Err()
					}
					if err != nil {
						row.Status, row.Why = StatusBad, err.Error()
					} else {
						row.Tokens = len(x.in.Tokens)
					}
					out = append(out, x)
				}
			}
		}
	}
	return out, nil
}

// humanWord says whom the annotation prefers; "" where it says nothing.
func humanWord(p float64) string {
	switch {
	case p > 0.5:
		return "first"
	case p < 0.5:
		return "second"
	case p == 0.5:
		return "tie"
	}
	return ""
}

// read is what one instance took.
type read struct {
	Sent int `json:"sent"`           // tokens of all prompts
	Read int `json:"read,omitempty"` // tokens that went through the model for them; 0 where it does not tell
}

// direct judges an instance by the labels' probabilities. All its prompts are read in one call, sorted, so that
// what they begin with alike is read once.
func (j *judge) direct(ctx context.Context, inst *Instance) ([]*Row, read, error) {
	asked, err := j.ask(ctx, inst)
	if err != nil {
		return nil, read{}, err
	}
	var rows []*Row
	var steps []event.Step
	var prefixes [][]lm.Token
	for _, x := range asked {
		rows = append(rows, x.row)
		if x.row.Status == StatusJudged {
			steps = append(steps, j.labels.Steps(x.in)...)
			prefixes = append(prefixes, x.in.Tokens)
		}
	}
	readings, err := j.reader.Read(ctx, steps, calibrate.Calibration{Method: calibrate.Raw})
	if err != nil {
		return nil, read{}, err
	}
	for _, row := range rows {
		if row.Status != StatusJudged {
			continue
		}
		r := j.labels.Read(readings[:j.labels.Len()])
		readings = readings[j.labels.Len():]
		row.P, row.A, row.B = &r.Share, &r.First, &r.Second
		if r.Share.Lo < 0.5 && r.Share.Hi >= 0.5 {
			row.Status = StatusUnsure
			row.Why = fmt.Sprintf("of the model's most probable tokens, which are all that the backend tells, follows only that P(A) is between %.3g and %.3g", r.Share.Lo, r.Share.Hi)
		}
	}
	return rows, j.count(prefixes), nil
}

// counter is a model that tells how many tokens go through it.
type counter interface {
	Tokens(prefixes [][]lm.Token) (int, error)
}

func (j *judge) count(prefixes [][]lm.Token) (r read) {
	for _, p := range prefixes {
		r.Sent += len(p)
	}
	if c, ok := j.reader.Model.(counter); ok && len(prefixes) > 0 {
		prefixes = slices.Clone(prefixes)
		slices.SortFunc(prefixes, slices.Compare) // as they are read
		if n, err := c.Tokens(prefixes); err == nil {
			r.Read = n
		}
	}
	return r
}

// Answered is what a model says of an instance's items in one wording.
type Answered struct {
	Judged

	// SelfAgreement is the mean share of sampled answers that agree with their majority, over the judgements of
	// the relation of which two answers at least could be parsed, in [½, 1]; NaN where there is none. One answer
	// alone agrees with itself.
	SelfAgreement float64
}

// Collect puts an instance's rows together, a list element for each wording in order. A judgement that was not
// made, or is not sure, is NaN. Rows of other instances are passed over.
func Collect(inst *Instance, rows []*Row) ([]*Answered, error) {
	at := map[string]int{}
	for i, item := range inst.Items {
		if _, twice := at[item.ID]; twice {
			return nil, fmt.Errorf("instance %s has two items called %s", inst.ID, item.ID)
		}
		at[item.ID] = i
	}
	var out []*Answered
	var sums, counts []float64
	for _, r := range rows {
		if r.Instance != inst.ID || r.First == "" {
			continue
		}
		for len(out) <= r.Wording {
			j, err := NewJudgements(len(inst.Items))
			if err != nil {
				return nil, err
			}
			out = append(out, &Answered{Judged: Judged{Instance: inst, Relation: j}, SelfAgreement: nan})
			sums, counts = append(sums, 0), append(counts, 0)
		}
		x := out[r.Wording]
		if r.Question == Negated && x.Negated == nil {
			var err error
			if x.Negated, err = NewJudgements(len(inst.Items)); err != nil {
				return nil, err
			}
		}
		a, ok := at[r.First]
		b, also := at[r.Second]
		if !ok || !also {
			return nil, fmt.Errorf("a row of instance %s has items %s and %s, of which the data does not have both", inst.ID, r.First, r.Second)
		}
		if r.Status != StatusJudged {
			continue
		}
		to := x.Relation
		if r.Question == Negated {
			to = x.Negated
		}
		if to.Judged(a, b) {
			return nil, fmt.Errorf("instance %s: two rows judge %s and %s, in this order, under the %s question of wording %d", inst.ID, r.First, r.Second, r.Question, r.Wording)
		}
		if err := to.Set(a, b, r.P.Middle(), r.neither()); err != nil {
			return nil, fmt.Errorf("instance %s: %w", inst.ID, err)
		}
		if r.Votes != nil && r.Question == Relation && r.Votes.A+r.Votes.B > 1 {
			sums[r.Wording] += SelfAgreement(r.Votes.A, r.Votes.B)
			counts[r.Wording]++
		}
	}
	for w, x := range out {
		if counts[w] > 0 {
			x.SelfAgreement = sums[w] / counts[w]
		}
	}
	return out, nil
}
