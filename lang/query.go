package lang

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/logic"
)

// query answers a query that stands alone on its line.
func (s *Session) query(ctx context.Context, u *unit, c *syntax.Call, f *function) error {
	r, err := s.ask(ctx, u, c, f)
	if err != nil {
		return err
	}
	return u.emit(r)
}

// ask finds a query's answer.
func (s *Session) ask(ctx context.Context, u *unit, c *syntax.Call, f *function) (Result, error) {
	args := make([]syntax.Expr, len(c.Args))
	for i, a := range c.Args {
		if a.Name != nil {
			return nil, u.src.Errorf(a.Name, "%s has no argument %q; write %s", f.name, a.Name.Text, f.usage)
		}
		args[i] = a.X
	}
	least, most := 1, 1
	switch f.name {
	case "models", "top":
		most = 2
	case "entails", "equivalent":
		least, most = 2, 2
	}
	if len(args) < least || len(args) > most {
		return nil, u.src.Errorf(c, "%s does not take %s; write %s", f.name, plural(len(args), "argument"), f.usage)
	}
	e := newExpander(s, u.src)
	k := 0
	if most == 2 && least == 1 {
		k = 10
		if len(args) == 2 {
			var err error
			if k, err = e.whole(args[1], "k", 1); err != nil {
				return nil, err
			}
			if k > maxListed {
				return nil, u.src.Errorf(args[1], "k is at most %s", count(maxListed))
			}
		}
	}
	if f.name == "top" {
		prefix, err := e.text(args[0], "the prefix")
		if err != nil {
			return nil, err
		}
		return s.top(ctx, u, prefix, k)
	}

	roots := []*term{nil}
	var err error
	if roots[0], err = e.formula(args[0]); err != nil {
		return nil, err
	}
	first := s.title(args[0])
	formula, about := first.formula, []syntax.Expr{first.x}
	if least == 2 {
		second, err := e.formula(args[1])
		if err != nil {
			return nil, err
		}
		roots = append(roots, second)
		other := s.title(args[1])
		formula += ", " + other.formula
		about = append(about, other.x)
	}
	g, err := s.ground(ctx, u, roots...)
	if err != nil {
		return nil, err
	}
	r, err := s.answer(ctx, f.name, formula, g, k)
	if err != nil {
		return nil, err
	}
	if v, ok := r.(*Value); ok {
		v.args = about
	}
	return r, nil
}

// maxListed is how many rows a query may ask for, maxListedTruths how many truth values
// the interpretations of models(F, k) may have together.
const (
	maxListed       = 10_000
	maxListedTruths = 1_000_000
)

// answer answers a query about a grounded formula.
func (s *Session) answer(ctx context.Context, query, formula string, g *grounded, k int) (Result, error) {
	f := g.formulas[0]
	switch query {
	case "entails":
		yes, err := logic.Entails(ctx, f, g.formulas[1])
		return &Value{Query: query, Formula: formula, Truth: &yes}, err
	case "equivalent":
		yes, err := logic.Equivalent(ctx, f, g.formulas[1])
		return &Value{Query: query, Formula: formula, Truth: &yes}, err
	case "wmc0", "info":
		// Neither depends on what the model says.
		d, err := s.compiled.compile(ctx, f)
		if err != nil {
			return nil, err
		}
		if query == "wmc0" {
			return exactly(query, formula, d.WMC0()), nil
		}
		return exactly(query, formula, d.Informativeness()), nil
	}
	m, err := s.measure(ctx, g, f)
	if err != nil {
		return nil, err
	}
	switch query {
	case "wmc":
		return &Value{Query: query, Formula: formula, Number: m.WMC}, nil
	case "rho":
		return &Value{Query: query, Formula: formula, Number: m.Rho}, nil
	case "loss":
		return &Value{Query: query, Formula: formula, Number: m.Loss}, nil
	case "cacc":
		return &Value{Query: query, Formula: formula, Verdict: &m.CAcc}, nil
	case "grad":
		return m.gradTable(ctx, formula)
	case "marginals":
		return m.marginalTable(ctx, formula)
	case "models":
		return m.modelTable(ctx, formula, k)
	case "mpe":
		return m.mpeTable(formula)
	}
	return nil, fmt.Errorf("the query %s has no answer", query)
}

// rowEvent is how a table's JSON names a variable.
type rowEvent struct {
	Event  string  `json:"event"`
	Prefix *string `json:"prefix"`
	Piece  *string `json:"piece"`
}

func (v *variable) row() rowEvent {
	r := rowEvent{Event: v.label}
	if v.step != nil {
		r.Prefix, r.Piece = &v.step.PrefixText, &v.step.Piece
	}
	return r
}

// asked shows what the model was asked about a variable.
func (v *variable) asked() string {
	if v.step == nil {
		return "given"
	}
	return escape(v.step.PrefixText) + "▸" + escape(v.step.Piece)
}

// gradTable shows ∂WMC/∂p for each variable.
func (m *measurement) gradTable(ctx context.Context, formula string) (*Table, error) {
	grad, err := m.gradient(ctx)
	if err != nil {
		return nil, err
	}
	t := &Table{Query: "grad", Formula: formula, Head: []string{"event", "asked", "p", "∂WMC/∂p"}, flex: 1}
	for i := range m.g.vars {
		v := &m.g.vars[i]
		t.asked = append(t.asked, v.step)
		t.Cells = append(t.Cells, []string{v.label, v.asked(), show(v.reading.EventP, sig), signed(grad[i], sig)})
		t.Rows = append(t.Rows, struct {
			rowEvent
			P    number `json:"p"`
			Grad number `json:"grad"`
		}{v.row(), number(v.reading.EventP), number(grad[i])})
	}
	return t, nil
}

// marginalTable shows each variable's probability given the formula.
func (m *measurement) marginalTable(ctx context.Context, formula string) (*Table, error) {
	given, err := m.marginals(ctx)
	if err != nil {
		return nil, err
	}
	t := &Table{Query: "marginals", Formula: formula, Head: []string{"event", "asked", "p", "p given F"}, flex: 1}
	for i := range m.g.vars {
		v := &m.g.vars[i]
		t.asked = append(t.asked, v.step)
		t.Cells = append(t.Cells, []string{v.label, v.asked(), show(v.reading.EventP, sig), show(given[i], sig)})
		t.Rows = append(t.Rows, struct {
			rowEvent
			P     number `json:"p"`
			Given number `json:"given_formula"`
		}{v.row(), number(v.reading.EventP), number(given[i])})
	}
	if m.WMC.Hi == 0 {
		t.Note = "the formula has probability 0, so nothing can be said given that it holds"
	}
	return t, nil
}

// wideInterpretation is the number of variables up to which an interpretation
// has a column for each.
const wideInterpretation = 6

// modelTable shows the most probable satisfying interpretations, as Figure 2
// C–E does.
func (m *measurement) modelTable(ctx context.Context, formula string, k int) (*Table, error) {
	t := &Table{Query: "models", Formula: formula, flex: -1}
	n := len(m.g.vars)
	if n <= wideInterpretation {
		for _, v := range m.g.vars {
			t.Head = append(t.Head, v.label)
		}
	} else {
		t.Head = append(t.Head, "what is true in it")
		t.flex = 0
	}
	t.Head = append(t.Head, "probability", "by chance")
	logChance := -float64(n) * math.Ln2

	total := m.d.Count()
	listed := k
	if total.IsInt64() {
		listed = int(min(int64(k), total.Int64()))
	}
	if most := max(maxListedTruths/max(n, 1), 1); listed > most {
		return nil, fmt.Errorf("the formula has %s, so that k is at most %s here (k times the variables at most %s)", plural(n, "variable"), count(most), count(maxListedTruths))
	}
	err := m.topModels(ctx, listed, func(truth logic.Interpretation, logP Interval) {
		var row []string
		if n <= wideInterpretation {
			for i := range m.g.vars {
				row = append(row, truthMark(truth[i]))
			}
		} else {
			row = append(row, m.trueOnes(truth))
		}
		t.Cells = append(t.Cells, append(row, span(figuresOfLog(logP.Lo, sig), figuresOfLog(logP.Hi, sig)), figuresOfLog(logChance, sig)))
		t.Rows = append(t.Rows, struct {
			Interpretation interpretation `json:"interpretation"`
			P              number         `json:"p"`
			LogP           number         `json:"log_p"`
			Chance         number         `json:"chance"`
			LogChance      float64        `json:"log_chance"`
		}{interpretation{m.g.vars, truth}, numberOfLog(logP), number(logP), numberOfLog(calibrate.Exact(logChance)), logChance})
	})
	if err != nil {
		return nil, err
	}
	all := new(big.Int).Lsh(big.NewInt(1), uint(n))
	t.Note = fmt.Sprintf("%s of %s interpretations satisfy it", bigCount(total), bigCount(all))
	by := ""
	if !m.g.exact() {
		by = " by their upper ends"
	}
	if total.Cmp(big.NewInt(int64(listed))) > 0 {
		t.Note += fmt.Sprintf("; these are the %s most probable%s (models(F, k) shows more)", count(listed), by)
	}
	return t, nil
}

// interpretation marshals as an object with each variable's truth value.
type interpretation struct {
	vars  []variable
	truth logic.Interpretation
}

func (x interpretation) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i := range x.vars {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(x.vars[i].label)
		if err != nil {
			return nil, err
		}
		b = strconv.AppendBool(append(append(b, name...), ':'), x.truth[i])
	}
	return append(b, '}'), nil
}

func truthMark(b bool) string {
	if b {
		return "T"
	}
	return "F"
}

// trueOnes lists the labels of what an interpretation makes true.
func (m *measurement) trueOnes(truth []bool) string {
	var labels []string
	for i, v := range m.g.vars {
		if truth[i] {
			labels = append(labels, v.label)
		}
	}
	if labels == nil {
		return "nothing"
	}
	return strings.Join(labels, ", ")
}

// bigCount shows a count of interpretations, a very large one as a power of ten.
func bigCount(n *big.Int) string {
	s := n.String()
	if len(s) > 15 {
		return fmt.Sprintf("%s.%se%d", s[:1], s[1:3], len(s)-1)
	}
	return count(int(n.Int64()))
}

// mpeTable shows the most probable satisfying interpretation.
func (m *measurement) mpeTable(formula string) (*Table, error) {
	t := &Table{Query: "mpe", Formula: formula, Head: []string{"event", "asked", "p", "in it"}, flex: 1}
	if !m.d.Satisfiable() {
		t.Note = "no interpretation satisfies it"
		return t, nil
	}
	if !m.g.exact() {
		return nil, fmt.Errorf("which interpretation is the most probable is not known where probabilities are intervals; models(F) shows each with its interval")
	}
	best, _ := m.d.MPE(m.g.weights(0))
	truth, logp := best.Interpretation, best.LogProb
	for i := range m.g.vars {
		v := &m.g.vars[i]
		t.asked = append(t.asked, v.step)
		t.Cells = append(t.Cells, []string{v.label, v.asked(), show(v.reading.EventP, sig), truthMark(truth[i])})
		t.Rows = append(t.Rows, struct {
			rowEvent
			P    number `json:"p"`
			True bool   `json:"true"`
		}{v.row(), number(v.reading.EventP), truth[i]})
	}
	t.Note = "its probability is " + figuresOfLog(logp, sig)
	p, lp := numberOfLog(calibrate.Exact(logp)), number(calibrate.Exact(logp))
	t.p, t.logP = &p, &lp
	return t, nil
}

// top shows the most probable next tokens after a prefix.
func (s *Session) top(ctx context.Context, u *unit, prefix string, k int) (Result, error) {
	if err := s.needModel(ctx, u); err != nil {
		return nil, err
	}
	tokens, err := s.reader("reading 1 prefix").Top(ctx, prefix, k)
	if err != nil {
		return nil, err
	}
	t := &Table{Query: "top", Head: []string{"token", "id", "P"}, right: []bool{false, true, false}, flex: 0}
	unsure := false
	for _, x := range tokens {
		p := expInterval(x.LogP)
		id := count(int(x.Token))
		if x.Among != nil {
			id += "?"
			unsure = true
		}
		t.Cells = append(t.Cells, []string{escape(prefix) + "▸" + escape(x.Piece), id, show(p, sig)})
		t.Rows = append(t.Rows, struct {
			Token int32   `json:"token"`
			Among []int32 `json:"among,omitempty"`
			Piece string  `json:"piece"`
			LogP  number  `json:"log_p"`
			P     number  `json:"p"`
		}{x.Token, x.Among, x.Piece, number(x.LogP), number(p)})
	}
	if len(tokens) < k {
		t.Note = fmt.Sprintf("the model shows %s of the %s asked for", count(len(tokens)), count(k))
	}
	if unsure {
		if t.Note != "" {
			t.Note += "; "
		}
		t.Note += "?: the server names several tokens by one text, of which this is the likeliest"
	}
	return t, nil
}
