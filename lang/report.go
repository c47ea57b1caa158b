package lang

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/mattn/go-runewidth"
	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// Interval is a number that is known to lie between two others; they are the
// same where it is known exactly. Numbers that are undefined are NaN.
type Interval = calibrate.Interval

// Report is how far a model satisfies a formula.
type Report struct {
	Name    string // the formula's name or the schema's call; "" for a formula without one
	Formula string // the formula, its connectives in Unicode

	WMC  Interval      // probability that the formula holds, Eq. 1
	WMC0 float64       // by chance, Eq. 3
	Rho  Interval      // probabilistic consistency, Eq. 5; NaN for a tautology
	Info float64       // informativeness in bits; +Inf for an unsatisfiable formula
	Loss Interval      // semantic loss in nats, Eq. 2; +Inf where WMC is 0
	CAcc logic.Verdict // Eq. 6

	// Whether any interpretation satisfies the formula, and whether all do. WMC0 does not tell where
	// there are many events.
	Satisfiable, Valid bool

	Events      []ReportEvent
	Model       *lm.Info // nil where no event asks a model
	Calibration calibrate.Calibration

	x, short syntax.Expr // the formula; with the events' names in place of M(…)
}

// ReportEvent is an event of a report.
type ReportEvent struct {
	Name           string // its name, or its target in quotes
	Prefix, Target string // as they were written
	Given          bool   // prob(…): no model was asked
	Joint          Joint  // what its tokens stand for together
	Tokens         []ReportToken
}

// Joint says how an event's tokens make up the event.
type Joint struct {
	AtLeast int      // how many of them must hold: all for an event and a likelihood formula
	P       Interval // raw probability that all hold; NaN where fewer need to
	EventP  Interval // probability of the event: that AtLeast of them hold
}

// ReportToken is a token event: what the model was asked, and what it said.
// For prob(…) only EventP and Grad are meaningful.
type ReportToken struct {
	Token        lm.Token
	Piece        string     // the token's text
	PrefixText   string     // the text that the model was given, without its beginning-of-sequence token
	Prompt       []lm.Token // what the model was given, token by token, with its beginning-of-sequence token
	PromptPieces []string   // the text of each
	P            Interval   // raw probability
	LogP         Interval   // its natural logarithm
	Size         Interval   // number of tokens in the live region
	C            Interval   // the calibration's offset, Eq. 4
	EventP       Interval   // probability of the event, σ(logit(P) + C)
	Grad         Interval   // ∂WMC/∂EventP
}

// titled is an expression with its name, for results that show both.
type titled struct {
	name, formula string
	x             syntax.Expr // the formula
}

// title finds what a result calls an expression: of a name what it stands for,
// of a schema's call the schema with its holes filled.
func (s *Session) title(x syntax.Expr) titled {
	switch x := x.(type) {
	case *syntax.Name:
		if d := s.names[x.Text]; d != nil {
			return titled{x.Text, syntax.Format(d.body, syntax.Unicode), d.body}
		}
	case *syntax.Call:
		if d := s.names[x.Fn.Text]; d != nil && len(d.params) == len(x.Args) {
			fill := make(map[string]syntax.Expr, len(x.Args))
			for i, a := range x.Args {
				fill[d.params[i]] = a.X
			}
			filled := syntax.Substitute(d.body, fill)
			return titled{syntax.Format(x, syntax.Unicode), syntax.Format(filled, syntax.Unicode), filled}
		}
	}
	return titled{"", syntax.Format(x, syntax.Unicode), x}
}

// shorten returns a formula with the labels of its events in place of M(…), for
// lines that the whole would be too long for.
func (s *Session) shorten(u *unit, x syntax.Expr, g *grounded) syntax.Expr {
	labels := map[string]string{}
	for _, a := range g.atoms {
		labels[a.key] = a.label
	}
	return syntax.Map(x, func(x syntax.Expr) syntax.Expr {
		c, ok := x.(*syntax.Call)
		if !ok || findFunction(c.Fn.Text) == nil {
			return x
		}
		// What does not stand alone, because it has a schema's hole, stays.
		v, err := newExpander(s, u.src).value(c)
		if err != nil || v.kind != formulaValue || v.t.op != termAtom || labels[v.t.atom.key] == "" {
			return x
		}
		return &syntax.Name{Text: labels[v.t.atom.key]}
	})
}

// show evaluates an expression that stands alone: a query, a formula or a ladder.
func (s *Session) show(ctx context.Context, u *unit, x syntax.Expr) error {
	if c, ok := x.(*syntax.Call); ok {
		if f := findFunction(c.Fn.Text); f != nil && f.query {
			return s.query(ctx, u, c, f)
		}
	}
	r, err := s.result(ctx, u, x)
	if err != nil {
		return err
	}
	return u.emit(r)
}

// result evaluates a formula to a report, a ladder to a ladder.
func (s *Session) result(ctx context.Context, u *unit, x syntax.Expr) (Result, error) {
	e := newExpander(s, u.src)
	v, err := e.value(x)
	if err != nil {
		return nil, err
	}
	if v.kind == ladderValue {
		return s.ladder(ctx, u, s.title(x), v.l)
	}
	t, err := e.asFormula(x, v)
	if err != nil {
		return nil, err
	}
	return s.report(ctx, u, s.title(x), t)
}

// report measures a formula.
func (s *Session) report(ctx context.Context, u *unit, title titled, t *term) (*Report, error) {
	g, err := s.ground(ctx, u, t)
	if err != nil {
		return nil, err
	}
	m, err := s.measure(ctx, g, g.formulas[0])
	if err != nil {
		return nil, err
	}
	grad, err := m.gradient(ctx)
	if err != nil {
		return nil, err
	}
	events, err := g.events(ctx, grad)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Name: title.name, Formula: title.formula,
		WMC: m.WMC, WMC0: m.WMC0, Rho: m.Rho, Info: m.Info, Loss: m.Loss, CAcc: m.CAcc,
		Satisfiable: m.d.Satisfiable(), Valid: m.d.Valid(),
		Calibration: s.calibration,
		Events:      events,
		x:           title.x,
		short:       s.shorten(u, title.x, g),
	}
	for _, e := range r.Events {
		if !e.Given {
			info := s.model.Info()
			r.Model = &info
			break
		}
	}
	return r, nil
}

// events returns what was asked and said of each event.
func (g *grounded) events(ctx context.Context, grad []Interval) ([]ReportEvent, error) {
	events := make([]ReportEvent, 0, len(g.atoms))
	for _, a := range g.atoms {
		e := ReportEvent{Name: a.label, Given: a.kind == atomProb, Joint: Joint{AtLeast: len(a.vars)}}
		switch a.kind {
		case atomEvent:
			e.Prefix, e.Target = a.ev.Prefix, a.ev.Target
		case atomText:
			e.Prefix, e.Target = a.prefix, a.text
			if a.k > 0 {
				e.Joint.AtLeast = a.k
			}
		}
		for _, v := range a.vars {
			x := g.vars[v]
			t := ReportToken{LogP: x.reading.LogP, P: expInterval(x.reading.LogP), Size: x.reading.Size, C: x.reading.C, EventP: x.reading.EventP}
			if x.step != nil {
				t.Token, t.Piece, t.PrefixText = x.step.Target, x.step.Piece, x.step.PrefixText
				t.Prompt, t.PromptPieces = x.step.Prefix, x.step.PrefixPieces
			}
			if t.Grad = calibrate.Exact(math.NaN()); grad != nil {
				t.Grad = grad[v]
			}
			e.Tokens = append(e.Tokens, t)
		}
		var err error
		if e.Joint, err = joint(ctx, e.Joint.AtLeast, e.Tokens); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, nil
}

// joint says what at least k token events make together.
func joint(ctx context.Context, k int, tokens []ReportToken) (Joint, error) {
	j := Joint{AtLeast: k, P: calibrate.Exact(math.NaN())}
	if len(tokens) == 1 {
		j.P, j.EventP = tokens[0].P, tokens[0].EventP
		return j, nil
	}
	if k < len(tokens) {
		end := func(p func(ReportToken) float64) (float64, error) {
			w := make([]logic.Weight, len(tokens))
			for i, t := range tokens {
				w[i] = logic.WeightFromProbability(p(t))
			}
			rungs, err := logic.Ladder(ctx, w)
			if err != nil || k > len(rungs) {
				return 0, err
			}
			return math.Exp(rungs[k-1].LogWMC()), nil
		}
		var err error
		if j.EventP.Lo, err = end(func(t ReportToken) float64 { return t.EventP.Lo }); err == nil {
			j.EventP.Hi, err = end(func(t ReportToken) float64 { return t.EventP.Hi })
		}
		return j, err
	}
	logP, logEvent := Interval{}, Interval{}
	for _, t := range tokens {
		logP.Lo += t.LogP.Lo
		logP.Hi += t.LogP.Hi
		logEvent.Lo += math.Log(t.EventP.Lo)
		logEvent.Hi += math.Log(t.EventP.Hi)
	}
	j.P, j.EventP = expInterval(logP), expInterval(logEvent)
	return j, nil
}

func expInterval(i Interval) Interval { return Interval{Lo: math.Exp(i.Lo), Hi: math.Exp(i.Hi)} }

// Kind returns "report".
func (r *Report) Kind() string { return "report" }

// verdict is the word at the end of a report's first line.
func (r *Report) verdict() (word, style string) {
	switch {
	case !r.Satisfiable:
		return "never true", styleDoubt
	case r.Valid:
		return "always true", styleDoubt
	case r.CAcc == logic.Consistent:
		return "consistent", styleGood
	case r.CAcc == logic.Inconsistent:
		return "inconsistent", styleBad
	}
	return "undecided", styleDoubt
}

// Text shows the formula and its verdict, the scores, and a line for each token event
// with what was asked (prefix▸token), its raw probability, the live region's
// size and C, the event's probability and its gradient.
func (r *Report) Text(st Style) string {
	table := eventGrid(r.Events, true)
	scores := flow(st.width(), 2, "WMC "+show(r.WMC, sig), "WMC₀ "+figures(r.WMC0, sig), "ρ "+show(r.Rho, sig),
		"I "+figures(r.Info, sig)+" bits", "loss "+show(r.Loss, sig))
	lines := table.lines
	if len(table.head) > 4 && !table.fits(st) {
		lines = table.stacked // intervals, on a narrow terminal
	}
	body := append(scores, lines(st)...)

	word, style := r.verdict()
	out := append([]string{header(r.Name, r.Formula, formatted(r.short), word, style, st, body)}, body...)
	return strings.Join(append(out, footnotes(r.Events, st)...), "\n")
}

// formatted writes an expression for people; "" for none.
func formatted(x syntax.Expr) string {
	if x == nil {
		return ""
	}
	return syntax.Format(x, syntax.Unicode)
}

// header shows a formula with its name, and a word at the right end above the
// lines to come. A formula that is too long is shown in its short form, if there is one.
func header(name, formula, short, word, style string, st Style, below []string) string {
	title := escape(clip(formula))
	if name != "" {
		name, _, _ = strings.Cut(name, "(") // of a schema's call only the schema
		if short == name {
			short = title // which tells more, though its end is cut
		}
		title, short = name+": "+title, name+": "+short
	}
	width := max(60, runewidth.StringWidth(title)+2+runewidth.StringWidth(word))
	for _, l := range below {
		width = max(width, runewidth.StringWidth(stripColor(l)))
	}
	width = min(width, st.width())
	room := width - runewidth.StringWidth(word) - 2
	if runewidth.StringWidth(title) > room {
		title = escape(clip(short))
	}
	title = cutRight(title, room)
	pad := strings.Repeat(" ", width-runewidth.StringWidth(word)-runewidth.StringWidth(title))
	return st.paint(styleBold, title) + pad + st.paint(style, word)
}

// stripColor removes ANSI colours.
func stripColor(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], 'm')
		if j < 0 {
			return s
		}
		s = s[:i] + s[i+j+1:]
	}
}

// maxLabel is how wide an event's name is shown.
const maxLabel = 18

// eventGrid makes a line for each token event.
func eventGrid(events []ReportEvent, grad bool) *grid {
	g := &grid{indent: 2}
	asked := false
	for _, e := range events {
		asked = asked || !e.Given
	}
	g.head = append(g.head, column{title: "event"})
	if asked {
		g.head = append(g.head,
			column{title: "asked", flex: true, left: true, style: stylePiece},
			column{title: "P"},
			column{title: "live region"})
	}
	g.head = append(g.head, column{title: "event"})
	if !asked {
		g.head[len(g.head)-1].title = "P"
	}
	if grad {
		g.head = append(g.head, column{title: "∂WMC"})
	}
	n := 0
	for _, e := range events {
		for i, t := range e.Tokens {
			if n++; n > maxRows {
				continue
			}
			label := cutRight(escape(e.Name), maxLabel)
			if len(e.Tokens) > 1 {
				label = fmt.Sprintf("%s.%d", cutRight(escape(e.Name), maxLabel-4), i+1)
			}
			row := []string{label}
			switch {
			case asked && e.Given:
				row = append(row, "given", "", "")
			case asked:
				row = append(row, escape(t.PrefixText)+"▸"+escape(t.Piece), show(t.P, sig), t.region())
			}
			row = append(row, show(t.EventP, sig))
			if grad {
				row = append(row, signed(t.Grad, sig))
			}
			g.add(row...)
		}
	}
	if len(g.rows) == 0 {
		g.head = nil
	}
	return g
}

// region shows the live region's size and the offset C.
func (t ReportToken) region() string {
	if t.Size.Hi == 0 {
		return "raw"
	}
	size := func(x float64) string {
		if x == math.Trunc(x) && x < 1e9 {
			return count(int(x))
		}
		return figures(x, sig)
	}
	return span(size(t.Size.Lo), size(t.Size.Hi)) + ", C " + show(t.C, sig)
}

// footnotes says which events have several tokens, and what was left out.
func footnotes(events []ReportEvent, st Style) []string {
	var notes []string
	n := 0
	for _, e := range events {
		n += len(e.Tokens)
		if len(e.Tokens) < 2 {
			continue
		}
		how := "all of them (∧)"
		if e.Joint.AtLeast < len(e.Tokens) {
			how = fmt.Sprintf("at least %s of them", count(e.Joint.AtLeast))
		}
		if len(notes) < 5 {
			notes = append(notes, st.paint(styleDim, fmt.Sprintf("  %s is %d tokens: it holds when %s hold", cutRight(e.Name, 24), len(e.Tokens), how)))
		}
	}
	if n > maxRows {
		notes = append(notes, st.paint(styleDim, fmt.Sprintf("  … and %s more token events (JSON has all)", count(n-maxRows))))
	}
	return notes
}

// MarshalJSON gives the report as one object; see REFERENCE.md.
func (r *Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Kind        string          `json:"kind"`
		Name        *string         `json:"name"`
		Formula     string          `json:"formula"`
		WMC         number          `json:"wmc"`
		WMC0        number          `json:"wmc0"`
		Rho         number          `json:"rho"`
		CAcc        *int            `json:"cacc"`
		Info        number          `json:"info"`
		Loss        number          `json:"loss"`
		Events      []jsonEvent     `json:"events"`
		Model       *jsonModel      `json:"model"`
		Calibration jsonCalibration `json:"calibration"`
	}{
		r.Kind(), optional(r.Name), r.Formula, number(r.WMC), number(calibrate.Exact(r.WMC0)), number(r.Rho), caccJSON(r.CAcc),
		number(calibrate.Exact(r.Info)), number(r.Loss), jsonEvents(r.Events), modelJSON(r.Model), calibrationJSON(r.Calibration),
	})
}

// caccJSON is 1 (Eq. 6), 0, or null where it is undecided.
func caccJSON(v logic.Verdict) *int {
	zero, one := 0, 1
	switch v {
	case logic.Consistent:
		return &one
	case logic.Inconsistent:
		return &zero
	}
	return nil
}

// optional is null in JSON for an empty text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

type jsonEvent struct {
	Name   string      `json:"name"`
	Prefix *string     `json:"prefix"`
	Target *string     `json:"target"`
	Tokens []lm.Token  `json:"tokens"`
	Pieces []string    `json:"pieces"`
	P      number      `json:"p"`
	C      *number     `json:"c"`
	EventP number      `json:"event_p"`
	Steps  []jsonToken `json:"steps"`

	AtLeast int `json:"at_least,omitempty"` // of the steps, where not all need to hold
}

type jsonToken struct {
	Token  *lm.Token `json:"token"`
	Piece  *string   `json:"piece"`
	LogP   number    `json:"log_p"`
	P      number    `json:"p"`
	C      number    `json:"c"`
	Size   number    `json:"live_region"`
	EventP number    `json:"event_p"`
	Grad   number    `json:"grad"`

	Prompt       []lm.Token `json:"prompt,omitempty"`
	PromptPieces []string   `json:"prompt_pieces,omitempty"`
}

// maxPrompts is the number of tokens of an event up to which each has its own
// prompt in JSON. In a longer text each prompt is the one before it and its token.
const maxPrompts = 64

// jsonEvents gives each event with its probability, and its tokens one by one. An
// event of one token has its C.
func jsonEvents(events []ReportEvent) []jsonEvent {
	out := []jsonEvent{}
	for _, e := range events {
		j := jsonEvent{Name: e.Name, Tokens: []lm.Token{}, Pieces: []string{}, Steps: []jsonToken{}}
		if !e.Given {
			j.Prefix, j.Target = &e.Prefix, &e.Target
		}
		for i, t := range e.Tokens {
			jt := jsonToken{
				LogP: number(t.LogP), P: number(t.P), C: number(t.C), Size: number(t.Size),
				EventP: number(t.EventP), Grad: number(t.Grad),
			}
			if !e.Given {
				jt.Token, jt.Piece = &t.Token, &t.Piece
				if i == 0 || len(e.Tokens) <= maxPrompts {
					jt.Prompt, jt.PromptPieces = t.Prompt, t.PromptPieces
				}
				j.Tokens = append(j.Tokens, t.Token)
				j.Pieces = append(j.Pieces, t.Piece)
			}
			j.Steps = append(j.Steps, jt)
		}
		j.P, j.EventP = number(e.Joint.P), number(e.Joint.EventP)
		if e.Joint.AtLeast < len(e.Tokens) {
			j.AtLeast = e.Joint.AtLeast
		}
		if len(e.Tokens) == 1 {
			c := number(e.Tokens[0].C)
			j.C = &c
		}
		out = append(out, j)
	}
	return out
}

type jsonModel struct {
	Name         string `json:"name"`
	Backend      string `json:"backend"`
	Digest       string `json:"digest,omitempty"`
	Quantization string `json:"quantization,omitempty"`
	Precision    string `json:"precision,omitempty"`
}

func modelJSON(i *lm.Info) *jsonModel {
	if i == nil {
		return nil
	}
	return &jsonModel{i.Name, i.Backend, i.Digest, i.Quantization, i.Precision}
}

type jsonCalibration struct {
	Method string   `json:"method"`
	P      *float64 `json:"p"`
}

func calibrationJSON(c calibrate.Calibration) jsonCalibration {
	j := jsonCalibration{Method: c.Method.String()}
	if c.Method.UsesNucleus() {
		j.P = &c.P
	}
	return j
}
