package preference

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/modellog/modellog/evals/answers"
	"github.com/modellog/modellog/evals/folder"
	"github.com/modellog/modellog/evals/manifest"
	"github.com/modellog/modellog/lm"
)

// LoadRun reads a run's folder back. The data, which may be nil, are the file that the run was of: their human scores are
// needed to compare rankings with. Without them instances have no texts and no scores, and the pairwise
// preferences of the annotation, which the rows have, stand for these.
func LoadRun(ctx context.Context, dir string, data *Dataset) ([]*Result, error) {
	m, err := manifest.Load(filepath.Join(dir, folder.ManifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: it is no run's folder, or the run has not ended", dir, folder.ManifestFile)
	}
	if err != nil {
		return nil, err
	}
	if m.Command != "prefer run" {
		return nil, fmt.Errorf("%s has a run of modellog %s and not of modellog prefer run", dir, m.Command)
	}
	if data != nil {
		now := manifest.New("", "")
		if err := addData(ctx, now, data); err != nil {
			return nil, err
		}
		if digests(now) != digests(m) {
			return nil, fmt.Errorf("%s is not the data that the run in %s was of", data.File, dir)
		}
	}
	var out []*Result
	for _, model := range m.Models {
		r := &Result{
			Model: lm.Info{
				Name: model.Name, Backend: model.Backend, Digest: model.Digest, Revision: model.Revision, Precision: model.Precision, Architecture: model.Architecture,
				Quantization: model.Quantization, Parameters: model.Parameters, Vocabulary: model.Vocabulary, Context: model.Context, Whole: model.Whole,
			},
			Data: m.Options["data"], Task: Task(m.Options["task"]), Method: Method(m.Options["method"]), Style: answers.Style(m.Options["prompt of "+modelKey(model.Name)]),
		}
		var prompts int
		_, _ = fmt.Sscanf(m.Options["reading of "+modelKey(model.Name)], "%d prompts of %d tokens, of which %d were read", &prompts, &r.Sent, &r.Read) // where they are known
		path := filepath.Join(dir, folder.RowsFile(model.Name, rowsEnding))
		if r.Rows, err = ReadRows(path); err != nil {
			return nil, err
		}
		instances, err := instancesOf(r.Rows, data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := r.collect(instances); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, r)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the run in %s is of no model", dir)
	}
	return out, nil
}

// instancesOf are the instances that rows are of, in their order, with the items that were compared.
func instancesOf(rows []*Row, data *Dataset) ([]*Instance, error) {
	known := map[string]*Instance{}
	if data != nil {
		for _, in := range data.Instances {
			known[in.ID] = in
		}
	}
	type place struct{ instance, item string }
	var out []*Instance
	at := map[string]*Instance{}
	items := map[place]int{}
	for _, r := range rows {
		if r.First == "" {
			continue
		}
		in := at[r.Instance]
		if in == nil {
			in = &Instance{ID: r.Instance, Line: r.Line}
			if whole := known[r.Instance]; whole != nil {
				in.Source = whole.Source
			} else if data != nil {
				return nil, fmt.Errorf("the data have no instance %s", r.Instance)
			}
			at[r.Instance] = in
			out = append(out, in)
		}
		for _, id := range []string{r.First, r.Second} {
			p := place{r.Instance, id}
			if _, ok := items[p]; ok {
				continue
			}
			item := Item{ID: id, Score: nan}
			if data != nil {
				k := slices.IndexFunc(known[r.Instance].Items, func(x Item) bool { return x.ID == id })
				if k < 0 {
					return nil, fmt.Errorf("instance %s of the data has no item %s", r.Instance, id)
				}
				item = known[r.Instance].Items[k]
			}
			if len(in.Items) == MaxItems {
				return nil, fmt.Errorf("instance %s has more than %d items", r.Instance, MaxItems)
			}
			items[p] = len(in.Items)
			in.Items = append(in.Items, item)
		}
	}
	// An annotation is the same in both orders and under both questions: one of them is enough.
	seen := map[[2]string]map[string]bool{}
	for _, r := range rows {
		p, ok := map[string]float64{"first": 1, "second": 0, "tie": 0.5}[r.Human]
		if !ok || r.First == "" {
			continue
		}
		pair := [2]string{min(r.First, r.Second), max(r.First, r.Second)}
		if seen[pair] == nil {
			seen[pair] = map[string]bool{}
		}
		if seen[pair][r.Instance] {
			continue
		}
		seen[pair][r.Instance] = true
		in := at[r.Instance]
		in.Comparisons = append(in.Comparisons, Comparison{I: items[place{r.Instance, r.First}], J: items[place{r.Instance, r.Second}], P: p, Line: r.Line})
	}
	return out, nil
}
