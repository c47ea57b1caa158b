package probct

import (
	"context"
	"errors"
	"fmt"

	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/lm"
)

// Events are the events of a published subset's row, in the order of its schema.
func Events(subset string, r Row) []event.Event {
	e := func(x, y string) event.Event { return event.Event{Prefix: r.Holes[x], Target: r.Holes[y]} }
	switch subset {
	case Transitivity:
		return []event.Event{e("x1", "y1"), e("x2", "y2"), e("x1", "y2")}
	case NegationConsistency:
		return []event.Event{e("x", "y"), e("not_x", "y")}
	case ForwardImplication, MutualExclusivity, SpatialExclusivity:
		return []event.Event{e("x", "y1"), e("x", "y2")}
	}
	return nil
}

// SplitCounts are how many rows of each subset a model's tokenizer leaves (B.3).
type SplitCounts map[string]int

// Split counts the rows of a suite's published subsets whose targets are all single tokens of a
// model. Only the model's tokenizer is used.
func Split(ctx context.Context, s *Suite, m lm.Model) (SplitCounts, error) {
	counts := make(SplitCounts)
	r := &event.Reader{Model: m}
	for _, sub := range s.Subsets {
		if Events(sub.Name, Row{}) == nil {
			continue
		}
		rows, err := LoadRows(sub.File)
		if err != nil {
			return nil, err
		}
		counts[sub.Name] = 0
		for _, row := range rows {
			resolved, err := r.Resolve(ctx, Events(sub.Name, row))
			var merged *lm.BoundaryError
			if errors.As(err, &merged) {
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("%s, row %s: %w", sub.Name, row.ID, err)
			}
			single := true
			for _, e := range resolved {
				single = single && len(e.Steps) == 1
			}
			if single {
				counts[sub.Name]++
			}
		}
	}
	return counts, nil
}
