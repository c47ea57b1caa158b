package lang

import (
	"encoding/json"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lang/syntax"
	"github.com/modellog/modellog/logic"
)

// Value is a query's answer that is one number or one truth value.
type Value struct {
	Query   string // "wmc", "rho", "entails", …; "calc"
	Formula string // what was asked about, its connectives in Unicode; of "calc" the arithmetic as it was written
	Number  Interval
	Truth   *bool          // of entails and equivalent
	Verdict *logic.Verdict // of cacc

	args []syntax.Expr // what was asked about
}

func exactly(query, formula string, x float64) *Value {
	return &Value{Query: query, Formula: formula, Number: calibrate.Exact(x)}
}

// Kind returns "value".
func (v *Value) Kind() string { return "value" }

// Text shows the value: a number with six significant figures, or an interval.
func (v *Value) Text(st Style) string {
	switch {
	case v.Truth != nil && *v.Truth:
		return "true"
	case v.Truth != nil:
		return "false"
	case v.Verdict != nil:
		switch *v.Verdict {
		case logic.Consistent:
			return "1"
		case logic.Inconsistent:
			return "0"
		}
		return v.Verdict.String()
	}
	return span(plain(v.Number.Lo), plain(v.Number.Hi))
}

// MarshalJSON gives {"kind":"value","query":…,"formula":…,"value":…}.
func (v *Value) MarshalJSON() ([]byte, error) {
	var value any = number(v.Number)
	switch {
	case v.Truth != nil:
		value = *v.Truth
	case v.Verdict != nil:
		value = caccJSON(*v.Verdict)
	}
	return json.Marshal(struct {
		Kind    string `json:"kind"`
		Query   string `json:"query"`
		Formula string `json:"formula"`
		Value   any    `json:"value"`
	}{v.Kind(), v.Query, v.Formula, value})
}
