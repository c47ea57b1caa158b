package probct

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/notebooks/published"
)

// Kappa is Cohen's κ of two annotators who each accept or reject: how much more they agree
// than two would who accept as often as they do, but at random. both and neither
// count the items that they agree to accept and to reject, first and second those that only
// one accepts. It is not defined without items, and where both always say the same, since
// chance then agrees as well; ok is false.
//
//	κ = (p_o − p_e) / (1 − p_e)
func Kappa(both, first, second, neither int) (kappa float64, ok bool) {
	n := float64(both + first + second + neither)
	if n == 0 {
		return 0, false
	}
	// In counts, so that a chance agreement of 1 is exactly that.
	a, b := float64(both+first), float64(both+second)
	expected := a*b + (n-a)*(n-b)
	if expected == n*n {
		return 0, false
	}
	observed := float64(both+neither) * n
	return (observed - expected) / (n*n - expected), true
}

// Agreement is what two annotators say of one subset's candidates, of those that both accepted
// or rejected (Table 5).
type Agreement struct {
	Subset string // "" for all of them together

	N              int // judged by both
	Both, Neither  int // accepted by both, by neither
	First, Second  int // accepted by the first alone, by the second alone
	Filter         int // accepted by the filter
	FilterAndFirst int // accepted by the filter and the first annotator
	FilterAndOther int // accepted by the filter and the second annotator

	OnlyFirst, OnlySecond int // judged by one annotator alone, and in none of the above
}

// CompareAnswers counts what two annotators say, subset by subset and for all together, which
// comes last where there are several. It is an error if they judged candidates of
// different suites, or if the filter's decisions are not the same.
func CompareAnswers(first, second *Answers) ([]Agreement, error) {
	if first.Decisions != second.Decisions {
		return nil, fmt.Errorf("the two judged candidates of different suites, or of one that was built anew in between (SHA-256 of %s %.12s… and %.12s…)", DecisionsFile, first.Decisions, second.Decisions)
	}
	by := make(map[string]*Agreement)
	of := func(subset string) *Agreement {
		if by[subset] == nil {
			by[subset] = &Agreement{Subset: subset}
		}
		return by[subset]
	}
	decided := func(a *Answers, k itemKey) *Judged {
		if j := a.said[k]; j != nil && j.Answer != Skip {
			return j
		}
		return nil
	}
	for k := range first.said {
		a, b := decided(first, k), decided(second, k)
		switch {
		case a == nil:
			continue
		case b == nil:
			of(k.subset).OnlyFirst++
			continue
		case a.Accepted != b.Accepted:
			return nil, fmt.Errorf("the filter's decision about %s of %s is not the same in both files", k.id, k.subset)
		}
		of(k.subset).add(a.Answer == Accept, b.Answer == Accept, a.Accepted)
	}
	for k := range second.said {
		if decided(second, k) != nil && decided(first, k) == nil {
			of(k.subset).OnlySecond++
		}
	}
	if len(by) == 0 {
		return nil, errors.New("neither annotator has accepted or rejected anything")
	}
	var out []Agreement
	all := Agreement{}
	for _, a := range by {
		out = append(out, *a)
		all.sum(*a)
	}
	slices.SortFunc(out, func(a, b Agreement) int { return compareSubsets(a.Subset, b.Subset) })
	if len(out) > 1 {
		out = append(out, all)
	}
	return out, nil
}

// compareSubsets puts the published subsets first, in the paper's order.
func compareSubsets(a, b string) int {
	place := func(s string) string {
		if i := slices.Index(Published(), s); i >= 0 {
			return fmt.Sprint("0", i)
		}
		return "1" + s
	}
	switch pa, pb := place(a), place(b); {
	case pa < pb:
		return -1
	case pa > pb:
		return 1
	}
	return 0
}

func (a *Agreement) add(first, second, filter bool) {
	a.N++
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&a.Both, first && second)
	count(&a.Neither, !first && !second)
	count(&a.First, first && !second)
	count(&a.Second, second && !first)
	count(&a.Filter, filter)
	count(&a.FilterAndFirst, filter && first)
	count(&a.FilterAndOther, filter && second)
}

func (a *Agreement) sum(b Agreement) {
	for _, p := range []struct {
		to   *int
		from int
	}{
		{&a.N, b.N}, {&a.Both, b.Both}, {&a.Neither, b.Neither}, {&a.First, b.First}, {&a.Second, b.Second}, {&a.Filter, b.Filter},
		{&a.FilterAndFirst, b.FilterAndFirst}, {&a.FilterAndOther, b.FilterAndOther}, {&a.OnlyFirst, b.OnlyFirst}, {&a.OnlySecond, b.OnlySecond},
	} {
		*p.to += p.from
	}
}

// Kappa is Cohen's κ of the two annotators.
func (a Agreement) Kappa() (float64, bool) { return Kappa(a.Both, a.First, a.Second, a.Neither) }

// portion is a part of a whole, undefined of nothing.
func portion(part, whole int) table.Cell {
	if whole == 0 {
		return table.Undefined()
	}
	return table.Number(float64(part)/float64(whole), 2)
}

// AgreementTable is Table 5: what two annotators and the filter accept, how far the filter is right
// by each annotator, and Cohen's κ, above the published figures.
func AgreementTable(first, second *Answers, agreements []Agreement) (*table.Table, error) {
	columns := []table.Column{{Head: "Subset", Key: "subset"}}
	for _, q := range [][2]string{
		{"n", "examples"}, {"human accept", "human accept"}, {"filter accept", "filter accept"},
		{"annotator 1 precision", "annotator 1 precision"}, {"annotator 2 precision", "annotator 2 precision"}, {"Cohen's κ", "Cohen's kappa"},
	} {
		columns = append(columns, table.Column{Head: q[0], About: table.About{Quantity: q[1]}})
	}
	own := table.Group{Heading: "judged here"}
	notes := []string{
		fmt.Sprintf("Human accept: accepted by both annotators, %s (1) and %s (2), of the n candidates that both judged. Precision: of those that the filter accepts, the part that an annotator accepts.", first.Annotator, second.Annotator),
	}
	judges := make(map[string]bool) // of the filter
	for _, a := range []*Answers{first, second} {
		for _, j := range a.said {
			judges[j.Judge] = true
		}
	}
	filter := ""
	for _, j := range slices.Sorted(maps.Keys(judges)) {
		if j == "llm" {
			j = "a language model"
		}
		if filter != "" {
			filter += " and "
		}
		filter += j
	}
	for _, a := range agreements {
		title := Title(a.Subset)
		if a.Subset == "" {
			title = "all"
		}
		kappa, ok := a.Kappa()
		if !ok {
			kappa = math.NaN()
		}
		own.Rows = append(own.Rows, table.Row{
			About: table.About{Subset: title},
			Cells: []table.Cell{
				table.Text(title), table.Number(float64(a.N), 0), portion(a.Both, a.N), portion(a.Filter, a.N),
				portion(a.FilterAndFirst, a.Filter), portion(a.FilterAndOther, a.Filter), table.Number(kappa, 2),
			},
		})
		if a.Subset != "" && a.OnlyFirst+a.OnlySecond > 0 {
			notes = append(notes, fmt.Sprintf("%s: left out %d judged by %s alone and %d by %s alone.", title, a.OnlyFirst, first.Annotator, a.OnlySecond, second.Annotator))
		}
		if !ok && a.N > 0 {
			notes = append(notes, fmt.Sprintf("%s: κ is undefined, since both annotators gave one and the same answer throughout.", title))
		}
	}
	for i, a := range []*Answers{first, second} {
		skipped := 0
		for _, j := range a.said {
			if j.Answer == Skip {
				skipped++
			}
		}
		if skipped > 0 {
			notes = append(notes, fmt.Sprintf("Annotator %d, %s, skipped %d.", i+1, a.Annotator, skipped))
		}
	}
	figures, err := published.Table("ModelLog Table 5")
	if err != nil {
		return nil, err
	}
	for i := range figures {
		if figures[i].Quantity == "LLM accept" {
			figures[i].Quantity = "filter accept"
		}
	}
	slices.SortStableFunc(figures, func(a, b published.Figure) int { return titlePlace(a.Subset) - titlePlace(b.Subset) })
	theirs, err := table.GroupOf("published (ModelLog, Table 5; n = 50 each)", columns, figures)
	if err != nil {
		return nil, err
	}
	if filter != "" {
		notes = append(notes, "The filter here is "+filter+", the published one GPT-5o-mini.")
	}
	return &table.Table{
		Number: "Table 5", Caption: "what people and the filter accept", Columns: columns,
		Groups: []table.Group{own, theirs}, Notes: notes,
	}, nil
}

func titlePlace(title string) int {
	return slices.IndexFunc(Published(), func(s string) bool { return Title(s) == title })
}
