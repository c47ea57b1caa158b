package probct

import (
	"context"
	"fmt"

	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

// SplitCounts are how many rows of each subset a model's tokenizer leaves (B.3).
type SplitCounts map[string]int

// Split counts the rows of a suite's subsets, those of the user's own among them, whose targets are all
// single tokens of a model: those that [Measure] measures where it does not keep others. Only the model's
// tokenizer is used.
func Split(ctx context.Context, suite *Suite, m lm.Model) (SplitCounts, error) {
	s := lang.New(lang.Options{
		Model: m.Info().Name,
		Open:  func(context.Context, string) (lm.Model, error) { return m, nil },
	})
	if err := evalLogic(ctx, s, suite); err != nil {
		return nil, err
	}
	counts := make(SplitCounts)
	for _, sub := range suite.Subsets {
		counts[sub.Name] = 0
		err := s.Resolve(ctx, sub.dataset(Options{}), func(row *lang.Row) error {
			if row.Bad == "" && !row.Multi {
				counts[sub.Name]++
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sub.Name, err)
		}
	}
	return counts, nil
}
