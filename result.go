package modellog

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/logic"
)

// Interval is a number that is known to lie between two others; they are the same
// where it is known exactly.
type Interval = calibrate.Interval

// Result is what a statement of a program brings forth.
type Result struct {
	Kind  string            // "report", "value", "table", "ladder", "run", "figure" or "note"
	JSON  json.RawMessage   // the whole of it; see the reference of the language
	Forms map[string]string // in which it can be shown, by MIME type; there is always "text/plain"
}

// String returns the result as the terminal shows it.
func (r Result) String() string { return r.Forms["text/plain"] }

func (r Result) result() Result { return r }

// String returns the report as the terminal shows it.
func (r *Report) String() string { return r.Result.String() }

func (r *Report) result() Result { return r.Result }

// String returns the run's figures as the terminal shows them.
func (r *Run) String() string { return r.Result.String() }

func (r *Run) result() Result { return r.Result }

// Report is how far a model satisfies a formula.
type Report struct {
	Result  Result // in the forms in which it can be shown
	Name    string // the formula's, where it has one
	Formula string // its connectives in Unicode

	WMC  Interval      // probability that the formula holds, Eq. 1
	WMC0 float64       // by chance, Eq. 3
	Rho  Interval      // probabilistic consistency ρ, Eq. 5; NaN for a tautology
	CAcc logic.Verdict // whether WMC is above chance, Eq. 6
	Info float64       // informativeness in bits; +Inf for an unsatisfiable formula
	Loss Interval      // semantic loss in nats, Eq. 2; +Inf where WMC is 0

	Events []Event
}

// Event is an event of a formula.
type Event struct {
	Name           string // or its target in quotes
	Prefix, Target string // "" for Prob
	Given          bool   // Prob: no model was asked
	EventP         Interval
	Tokens         []TokenEvent // one for Prob
}

// TokenEvent is an event that a token comes next. Of Prob only EventP and Gradient are meaningful.
type TokenEvent struct {
	Token      lm.Token
	Piece      string   // its text
	P          Interval // raw probability
	LogP       Interval // its natural logarithm
	C          Interval // the calibration's offset, Eq. 4
	LiveRegion Interval // number of tokens that the calibration takes as live
	EventP     Interval // probability of the event, σ(logit(P) + C), Eq. 4
	Gradient   Interval // ∂WMC/∂EventP
}

// Run is a schema measured on each row of a file.
type Run struct {
	Result Result // in the forms in which it can be shown
	Schema string // with its holes
	File   string

	Rows       int // read
	N          int // measured, which the figures below are over
	MultiToken int // left out because a target has several tokens
	BadRows    int
	Bad        []BadRow // the first of them
	Stopped    bool     // before the file's end

	WMC       Interval // mean WMC; NaN without any
	Rho       Interval // mean ρ over the rows where it is defined; NaN without any
	CAcc      Interval // share of the consistent rows, in [0, 1]; NaN without any
	Undecided int      // rows whose CAcc the intervals leave open
	Undefined int      // rows that are always true, where ρ is undefined
	Info      float64  // mean informativeness in bits
}

// BadRow is a row that could not be measured, and why.
type BadRow struct {
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// number reads an interval from the JSON of a result.
type number struct {
	Interval
	null bool
}

func (n *number) UnmarshalJSON(data []byte) error {
	var ends []*float64
	if data[0] == '[' {
		if err := json.Unmarshal(data, &ends); err != nil {
			return err
		}
		if len(ends) != 2 {
			return fmt.Errorf("an interval has two ends, not %d", len(ends))
		}
		n.Interval = Interval{Lo: math.Inf(-1), Hi: math.Inf(1)}
		if ends[0] != nil {
			n.Lo = *ends[0]
		}
		if ends[1] != nil {
			n.Hi = *ends[1]
		}
		return nil
	}
	var x *float64
	if err := json.Unmarshal(data, &x); err != nil {
		return err
	}
	if n.null = x == nil; !n.null {
		n.Interval = calibrate.Exact(*x)
	}
	return nil
}

// or is the interval, or what stands for null.
func (n number) or(null float64) Interval {
	if n.null {
		return calibrate.Exact(null)
	}
	return n.Interval
}

// Report reads a result that is a report.
func (r Result) Report() (*Report, error) {
	var j struct {
		Name, Formula        string
		WMC, WMC0, Rho, Info number
		Loss                 number
		CAcc                 *int
		Events               []struct {
			Name           string
			Prefix, Target *string
			EventP         number `json:"event_p"`
			Steps          []struct {
				Token  lm.Token
				Piece  string
				LogP   number `json:"log_p"`
				P, C   number
				Live   number `json:"live_region"`
				EventP number `json:"event_p"`
				Grad   number
			}
		}
	}
	if err := r.decode("report", &j); err != nil {
		return nil, err
	}
	inf, nan := math.Inf(1), math.NaN()
	out := &Report{
		Result: r, Name: j.Name, Formula: j.Formula,
		WMC: j.WMC.or(nan), WMC0: j.WMC0.or(nan).Lo, Rho: j.Rho.or(nan), Info: j.Info.or(inf).Lo, Loss: j.Loss.or(inf),
	}
	if j.CAcc != nil {
		out.CAcc = []logic.Verdict{logic.Inconsistent, logic.Consistent}[min(max(*j.CAcc, 0), 1)]
	}
	for _, e := range j.Events {
		event := Event{Name: e.Name, Given: e.Prefix == nil, EventP: e.EventP.or(nan)}
		if e.Prefix != nil && e.Target != nil {
			event.Prefix, event.Target = *e.Prefix, *e.Target
		}
		for _, t := range e.Steps {
			logP := t.LogP.or(-inf)
			if event.Given {
				logP = t.LogP.or(nan)
			}
			event.Tokens = append(event.Tokens, TokenEvent{
				Token: t.Token, Piece: t.Piece, P: t.P.or(nan), LogP: logP, C: t.C.or(nan), LiveRegion: t.Live.or(nan),
				EventP: t.EventP.or(nan), Gradient: t.Grad.or(nan),
			})
		}
		out.Events = append(out.Events, event)
	}
	return out, nil
}

// Run reads a result that is a run.
func (r Result) Run() (*Run, error) {
	var j struct {
		Schema, File         string
		Rows, N              int
		MultiToken           int `json:"multi_token"`
		BadRows              int `json:"bad_rows"`
		Bad                  []BadRow
		Stopped              bool
		WMC, Rho, CAcc, Info number
		Undecided, Undefined int
	}
	if err := r.decode("run", &j); err != nil {
		return nil, err
	}
	nan := math.NaN()
	info := math.Inf(1)
	if j.N == 0 {
		info = nan
	}
	return &Run{
		Result: r, Schema: j.Schema, File: j.File, Rows: j.Rows, N: j.N, MultiToken: j.MultiToken, BadRows: j.BadRows, Bad: j.Bad,
		Stopped: j.Stopped, WMC: j.WMC.or(nan), Rho: j.Rho.or(nan), CAcc: j.CAcc.or(nan), Undecided: j.Undecided, Undefined: j.Undefined, Info: j.Info.or(info).Lo,
	}, nil
}

func (r Result) decode(kind string, v any) error {
	if r.Kind != kind {
		return fmt.Errorf("reading a %s: the result is a %s", kind, r.Kind)
	}
	if err := json.Unmarshal(r.JSON, v); err != nil {
		return fmt.Errorf("reading a %s: %w", kind, err)
	}
	return nil
}
