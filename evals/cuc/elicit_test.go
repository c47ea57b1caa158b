package cuc

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/engine"
	"github.com/modellog/modellog/lm"
)

// own are examples of our own writing.
const own = "premises,phi,not_phi,label\n" +
	"\"All bakers rise early.\nAnna is a baker.\",Anna rises early.,Anna does not rise early.,true\n" +
	"\"No bridge in the valley is old.\nThe mill bridge is in the valley.\",The mill bridge is old.,,false\n" +
	"The ferry sails on Mondays or on Fridays.,The ferry sails on Mondays.,The ferry does not sail on Mondays.,uncertain\n"

// A base model is asked by a text and a model with a template in a conversation; the style can be chosen.
func TestStyles(t *testing.T) {
	gemma, smol := engine.Open(t, modeltest.Gemma), engine.Open(t, modeltest.SmolLM)
	for _, x := range []struct {
		m     lm.Model
		style Style
		want  Style
		fails string
	}{
		{gemma, AutoStyle, PlainStyle, ""}, {gemma, PlainStyle, PlainStyle, ""}, {gemma, ChatStyle, "", "no chat template"},
		{smol, AutoStyle, ChatStyle, ""}, {smol, PlainStyle, PlainStyle, ""}, {smol, ChatStyle, ChatStyle, ""},
	} {
		a, err := newAsker(t.Context(), x.m, DefaultPrompts(), x.style)
		if x.fails != "" {
			if err == nil || !strings.Contains(err.Error(), x.fails) {
				t.Errorf("%s, %s: %v", x.m.Info().Name, x.style, err)
			}
			continue
		}
		if err != nil || a.Style != x.want {
			t.Errorf("%s, %s: %v", x.m.Info().Name, x.style, err)
			continue
		}
		in, err := a.question(t.Context(), "All cats purr.", "Tom purrs.", Formats[0])
		if err != nil {
			t.Fatal(err)
		}
		if bos := x.m.Info().AddBOS; bos != (in.Tokens[0] == x.m.Info().BOS && bos) {
			t.Errorf("%s: the first token is %d", x.m.Info().Name, in.Tokens[0])
		}
		if chat := strings.Contains(in.Text, "<|im_start|>assistant"); chat != (x.want == ChatStyle) || !strings.Contains(in.Text, "All cats purr.") || strings.Contains(in.Text, "{") {
			t.Errorf("%s: %q", x.m.Info().Name, in.Text)
		}
	}
}

// The tokens of each answer are what they say they are, none is of both answers, and the two answers' are written
// alike: what the vocabulary has of one answer alone counts for neither. What is left out is told with the reason.
func TestAnswers(t *testing.T) {
	spelling := func(text, answer string) string { // its form: which space, which case
		form := "mixed"
		switch word := strings.TrimSpace(text); word {
		case strings.ToUpper(answer):
			form = "capitals"
		case strings.ToUpper(answer[:1]) + strings.ToLower(answer[1:]):
			form = "capitalised"
		case strings.ToLower(answer):
			form = "small"
		}
		return form + strings.Repeat(", space", len(text)-len(strings.TrimLeft(text, " ")))
	}
	for _, r := range modeltest.All {
		m := engine.Open(t, r)
		single := func(text string) bool {
			_, tokens, err := lm.Continue(t.Context(), m, "Answer:", text)
			return err == nil && len(tokens) == 1
		}
		for _, f := range Formats {
			for _, style := range []Style{PlainStyle, ChatStyle} {
				a, err := findAnswers(t.Context(), m, f, style)
				if err != nil {
					if r != modeltest.SmolLM || f != Formats[2] {
						t.Error(err)
					}
					continue
				}
				if len(a.Yes) != len(a.No) || len(a.Yes) == 0 {
					t.Fatalf("%s, %s: %d and %d variants", r.Name, f, len(a.Yes), len(a.No))
				}
				for i, y := range a.Yes {
					n := a.No[i]
					if form := spelling(y.Text, f.Yes); form != spelling(n.Text, f.No) || strings.HasPrefix(form, "mixed") {
						t.Errorf("%s, %s: %q stands with %q", r.Name, f, y.Text, n.Text)
					}
					for _, v := range []Variant{y, n} {
						if v.Piece != v.Text || string(m.Piece(v.Token)) != v.Text {
							t.Errorf("%s: token %d is %q, and not %q", r.Name, v.Token, m.Piece(v.Token), v.Text)
						}
					}
					if slices.ContainsFunc(a.No, func(n Variant) bool { return n.Token == y.Token }) {
						t.Errorf("%s, %s: %q is of both answers", r.Name, f, y.Piece)
					}
				}
				for _, l := range a.LeftOut {
					if single(l.First) && single(l.Second) || l.Why == "" || !strings.Contains(a.String(), fmt.Sprintf("%q / %q", l.First, l.Second)) {
						t.Errorf("%s, %s: %+v is left out, of %s", r.Name, f, l, a)
					}
				}
				if n := len(a.Yes) + len(a.LeftOut); n != 6 { // capitals, capitalised and small; YES is in capitals as it is
					t.Errorf("%s, %s: %d variants", r.Name, f, n)
				}
				if a.Asked != a.Yes[0].Token || f == Formats[0] && strings.HasPrefix(a.Yes[0].Piece, " ") != (style == PlainStyle) {
					t.Errorf("the event is of %q", a.Yes[0].Piece)
				}
			}
		}
		// Answers that no token tells apart.
		if _, err := findAnswers(t.Context(), m, Format{Name: "own", Yes: "Cat", No: "cat"}, PlainStyle); err == nil || !strings.Contains(err.Error(), "write both Cat and cat in one token each (a token is of both answers)") {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	// SmolLM2 has YES only in parts, and so NO, which it has, does not count either; and nothing of Entailed and
	// Refuted, as the first format an error and as another one a note.
	smol := engine.Open(t, modeltest.SmolLM)
	a, err := findAnswers(t.Context(), smol, Formats[0], ChatStyle)
	if err != nil {
		t.Fatal(err)
	}
	const want = `YES = "Yes" " Yes" "yes" " yes", NO = "No" " No" "no" " no"; left out of both, "YES" / "NO" ("YES" is "Y" + "ES"), " YES" / " NO" (" YES" is " Y" + "ES")`
	if a.String() != want {
		t.Errorf("%s\nwant %s", a, want)
	}
	reader := &event.Reader{Model: smol}
	if _, err := newElicitor(t.Context(), reader, DefaultPrompts(), AutoStyle, Formats[2:]); err == nil || !strings.Contains(err.Error(), "no way to write both Entailed and Refuted in one token each") || !strings.Contains(err.Error(), "under another format of answers (--answers)") {
		t.Error(err)
	}
	e, err := newElicitor(t.Context(), reader, DefaultPrompts(), AutoStyle, Formats)
	if err != nil || len(e.answers) != 3 || !strings.HasPrefix(e.answers[2].String(), "Entailed/Refuted is not asked: its vocabulary has no way") {
		t.Fatalf("%v, %v", e.answers, err)
	}
}

// What is measured of an example is what another way to the same numbers gives: the whole distribution after
// each question, its softmax summed over the answers' tokens, and the constraint by its closed form.
func TestElicit(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	d, err := Read(Plain, write(t, "own.csv", own))
	if err != nil {
		t.Fatal(err)
	}
	count := &counting{Model: m}
	e, err := newElicitor(t.Context(), &event.Reader{Model: count}, DefaultPrompts(), AutoStyle, Formats)
	if err != nil {
		t.Fatal(err)
	}
	e.asker.Model = m // which writes conversations
	rows, err := e.measure(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 6 || count.n != 12 {
		t.Fatalf("%d rows from %d readings; 3 examples under the 2 of 3 formats that the model has are 6 and 12", len(rows), count.n)
	}
	for i, row := range rows {
		x, a := d.Examples[i/2], e.answers[i%2]
		if row.Status != StatusMeasured || row.Line != x.Line || row.Format != a.Format.Name || row.Label != x.Label {
			t.Fatalf("%+v", row)
		}
		var events [2]float64
		for k, got := range []*Answer{row.Phi, row.NotPhi} {
			in, err := e.asker.question(t.Context(), x.Premises, []string{x.Phi, x.NotPhi}[k], a.Format)
			if err != nil {
				t.Fatal(err)
			}
			var yes, no float64
			if err := m.Read(t.Context(), [][]lm.Token{in.Tokens}, func(_ int, dist lm.Distribution) error {
				total := 0.0
				top := float64(slices.Max(dist.Logits))
				for _, l := range dist.Logits {
					total += math.Exp(float64(l) - top)
				}
				p := func(t lm.Token) float64 { return math.Exp(float64(dist.Logits[t])-top) / total }
				for _, v := range a.Yes {
					yes += p(v.Token)
				}
				for _, v := range a.No {
					no += p(v.Token)
				}
				s, err := calibrate.Summarize(dist.Logits, []float64{0.95})
				if err != nil {
					return err
				}
				c := s.Nuclei[0].Entropy.Lo
				odds := p(a.Asked) / (1 - p(a.Asked)) * math.Exp(c)
				events[k] = odds / (1 + odds)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			for _, v := range []struct {
				what      string
				got, want float64
			}{{"P(YES)", got.Yes.Lo, yes}, {"P(NO)", got.No.Lo, no}, {"p", got.P.Lo, yes / (yes + no)}, {"event", got.EventP.Lo, events[k]}, {"neither", got.Neither(), 1 - yes - no}} {
				if math.Abs(v.got-v.want) > 1e-4 {
					t.Errorf("line %d, %s, question %d: %s is %g, want %g", x.Line, a.Format, k, v.what, v.got, v.want)
				}
			}
			if got.Tokens != len(in.Tokens) || got.P.Lo != got.P.Hi {
				t.Errorf("%+v", got)
			}
		}
		p, q := row.Phi.EventP.Lo, row.NotPhi.EventP.Lo
		wmc := p*(1-q) + q*(1-p)
		if math.Abs(row.WMC.Lo-wmc) > 1e-12 || math.Abs(row.Rho.Lo-(2*wmc-1)) > 1e-12 || (row.CAcc == "consistent") != (wmc > 0.5) {
			t.Errorf("WMC %v, ρ %v, %s; by hand %g", row.WMC, row.Rho, row.CAcc, wmc)
		}
	}
}

// counting counts the prefixes that a model is asked about.
type counting struct {
	lm.Model
	n int
}

func (c *counting) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	c.n += len(prefixes)
	return c.Model.Read(ctx, prefixes, yield)
}

// narrow is a model of which only the most probable tokens are told, as a server tells them.
type narrow struct {
	lm.Model
	k int
}

func (m narrow) Info() lm.Info {
	i := m.Model.Info()
	i.Whole, i.Backend, i.Digest = false, "test", ""
	return i
}

func (m narrow) Read(ctx context.Context, prefixes [][]lm.Token, yield func(int, lm.Distribution) error) error {
	return m.Model.Read(ctx, prefixes, func(i int, d lm.Distribution) error {
		top := float64(slices.Max(d.Logits))
		total := 0.0
		order := make([]lm.Token, len(d.Logits))
		for t, l := range d.Logits {
			order[t] = lm.Token(t)
			total += math.Exp(float64(l) - top)
		}
		slices.SortFunc(order, func(a, b lm.Token) int {
			switch {
			case d.Logits[a] > d.Logits[b]:
				return -1
			case d.Logits[a] < d.Logits[b]:
				return 1
			}
			return int(a - b)
		})
		out := lm.Distribution{Vocabulary: d.Vocabulary}
		for _, t := range order[:m.k] {
			out.Top = append(out.Top, lm.TokenLogProb{Token: t, LogProb: float64(d.Logits[t]) - top - math.Log(total)})
		}
		return yield(i, out)
	})
}

// Of a backend that tells less, the bounds have the exact values within; where they are too wide the row is
// counted and says why.
func TestBoundsOfServers(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	d, err := Read(Plain, write(t, "own.csv", own))
	if err != nil {
		t.Fatal(err)
	}
	rows := func(m lm.Model) []*Measured {
		e, err := newElicitor(t.Context(), &event.Reader{Model: m}, DefaultPrompts(), PlainStyle, Formats[:1])
		if err != nil {
			t.Fatal(err)
		}
		out, err := e.measure(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	exact := rows(m)
	for _, k := range []int{1, 20, 1000} {
		unsure := 0
		for i, row := range rows(narrow{m, k}) {
			for j, a := range []*Answer{row.Phi, row.NotPhi} {
				b := []*Answer{exact[i].Phi, exact[i].NotPhi}[j]
				for _, v := range [][2]Bounds{{a.Yes, b.Yes}, {a.No, b.No}, {a.P, b.P}, {a.EventP, b.EventP}} {
					if v[0].Lo > v[1].Lo+1e-4 || v[0].Hi < v[1].Hi-1e-4 {
						t.Errorf("top %d: %v does not have %v", k, v[0], v[1])
					}
				}
				if (a.P.Hi-a.P.Lo > certain) && row.Status != StatusUnsure {
					t.Errorf("top %d: p in %v is taken as known", k, a.P)
				}
			}
			if row.Status == StatusUnsure {
				unsure++
				if !strings.Contains(row.Why, "between") {
					t.Error(row.Why)
				}
			}
		}
		if k == 1 && unsure != 3 || k == 1000 && unsure != 0 {
			t.Errorf("top %d: %d of 3 rows are not sure", k, unsure)
		}
	}
}

// A question that is too long for the model is a bad row, and the others are asked.
func TestTooLong(t *testing.T) {
	m := engine.Open(t, modeltest.SmolLM)
	long := strings.Repeat("The ferry sails on Mondays. ", m.Info().Context/4)
	d, err := Read(Plain, write(t, "own.csv", own+long+",The ferry sails.,The ferry does not sail.,true\n"))
	if err != nil {
		t.Fatal(err)
	}
	e, err := newElicitor(t.Context(), &event.Reader{Model: m}, DefaultPrompts(), PlainStyle, Formats[:1])
	if err != nil {
		t.Fatal(err)
	}
	rows, err := e.measure(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if last := rows[3]; last.Status != StatusBad || !strings.Contains(last.Why, "context") || last.Line != 7 {
		t.Errorf("%+v", last)
	}
	for _, r := range rows[:3] {
		if r.Status != StatusMeasured {
			t.Errorf("%+v", r)
		}
	}
}

func TestBoundsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Bounds{Lo: rapid.Float64().Draw(t, "lo"), Hi: rapid.Float64().Draw(t, "hi")}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		var back Bounds
		if err := json.Unmarshal(text, &back); err != nil || back != b {
			t.Fatalf("%s: %v, %v", text, back, err)
		}
	})
	for _, bad := range []string{`"x"`, `[1]`, `[1,2,3]`, `{}`} {
		if err := json.Unmarshal([]byte(bad), new(Bounds)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// The joint score is 0 at both ends of the trap.
func TestJoint(t *testing.T) {
	if Joint(0, math.NaN(), 0) != 0 || Joint(1, 0.5, 1) != 0 || math.Abs(Joint(0.5, 0.8, 0.25)-0.3) > 1e-15 {
		t.Error("joint scores")
	}
}

// What goes through a model for all questions, when what they begin with alike is read once, is less by a factor of
// 1.7 and more than when each is read by itself.
func TestPremisesAreRead(t *testing.T) {
	for _, set := range []struct {
		kind Kind
		name string
	}{{FOLIO, "data/folio-validation.jsonl"}, {LogiQA, "data/logiqa2nli-test.jsonl"}} {
		d, err := Read(set.kind, modeltest.Shared(t, set.name))
		if err != nil {
			t.Fatal(err)
		}
		d.Draw(304, DefaultSeed)
		for _, r := range modeltest.All {
			m := engine.Open(t, r)
			a, err := newAsker(t.Context(), m, DefaultPrompts(), AutoStyle)
			if err != nil {
				t.Fatal(err)
			}
			var questions [][]lm.Token
			apart := 0
			for _, x := range d.Examples {
				if x.Bad != "" {
					continue
				}
				for _, s := range []string{x.Phi, x.NotPhi} {
					in, err := a.question(t.Context(), x.Premises, s, Formats[0])
					if err != nil {
						t.Fatal(err)
					}
					questions = append(questions, in.Tokens)
					apart += len(in.Tokens)
				}
			}
			slices.SortFunc(questions, slices.Compare[[]lm.Token]) // as package event does
			once, err := m.Tokens(questions)
			if err != nil {
				t.Fatal(err)
			}
			ratio := float64(apart) / float64(once)
			t.Logf("%s, %s: %d tokens apart and %d read, %.2f times fewer", d.Name, r.Name, apart, once, ratio)
			if ratio < 1.7 {
				t.Errorf("%s, %s: only %.2f times fewer tokens", d.Name, r.Name, ratio)
			}
		}
	}
}
