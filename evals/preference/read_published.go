package preference

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/modellog/modellog/internal/regular"
)

// readQrels reads relevance in the form of TREC: query, Q0, passage and relevance.
func readQrels(path string) (map[string]map[string]float64, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the relevance of passages: %w", err)
	}
	defer f.Close()
	return parseQrels(f, path)
}

func parseQrels(r io.Reader, path string) (map[string]map[string]float64, error) {
	out := map[string]map[string]float64{}
	err := eachLine(r, func(_ int, line []byte) error {
		f := strings.Fields(string(line))
		if len(f) != 4 {
			return fmt.Errorf("there are %d fields; a query, Q0, a passage and its relevance are needed", len(f))
		}
		v, err := strconv.ParseFloat(f[3], 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the relevance %q is no number", f[3])
		}
		if out[f[0]] == nil {
			out[f[0]] = map[string]float64{}
		}
		if _, twice := out[f[0]][f[2]]; twice {
			return fmt.Errorf("passage %s of query %s is there twice", f[2], f[0])
		}
		out[f[0]][f[2]] = v
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the relevance of passages: %s: %w", path, err)
	}
	return out, nil
}

// readNovelEval reads queries with passages, the items, whose scores are their relevance.
func readNovelEval(r io.Reader, relevance map[string]map[string]float64) ([]*Instance, error) {
	var out []*Instance
	seen := map[string]bool{}
	err := eachElement(r, func(line int, element json.RawMessage) error {
		in, err := novelEvalInstance(element, relevance)
		if err == nil && seen[in.ID] {
			err = fmt.Errorf("query %s is there twice", in.ID)
		}
		if err != nil {
			in = badRow(line, err)
			in.ID = fmt.Sprintf("element %d, line %d", len(out)+1, line) // all may be on one line
		}
		in.Line = line
		seen[in.ID] = true
		out = append(out, in)
		return nil
	})
	return out, err
}

func novelEvalInstance(element json.RawMessage, relevance map[string]map[string]float64) (*Instance, error) {
	var row struct {
		Query *string
		Hits  []struct {
			Content    *string
			QID, DocID text
		}
	}
	if err := decodeRow(element, &row); err != nil {
		return nil, err
	}
	if row.Query == nil || len(row.Hits) == 0 {
		return nil, errors.New(`it has no "query" or no "hits", as NovelEval's have`)
	}
	in := &Instance{Source: oneLine(*row.Query)}
	for i, hit := range row.Hits {
		if i == 0 {
			in.ID = string(hit.QID)
		}
		switch {
		case hit.Content == nil || hit.DocID == "" || hit.QID == "":
			return nil, fmt.Errorf(`passage %d has no "content", "qid" or "docid"`, i+1)
		case string(hit.QID) != in.ID:
			return nil, fmt.Errorf("passage %d is of query %s, and those before of %s", i+1, hit.QID, in.ID)
		}
		score, ok := relevance[in.ID][string(hit.DocID)]
		if !ok {
			score = math.NaN()
		}
		in.Items = append(in.Items, Item{ID: string(hit.DocID), Text: oneLine(*hit.Content), Score: score})
	}
	return in, nil
}

// markup ends paragraphs of Newsroom's texts.
var markup = strings.NewReplacer("</p>", "\n", "<p>", "\n", "</P>", "\n", "<P>", "\n")

// readNewsroom reads summaries, the items of each article. They are called by the system that wrote them, or where
// that is not told, as of Newsroom, by their places, from 1.
func readNewsroom(r io.Reader, aspect string) ([]*Instance, error) {
	var g groups
	n := 0
	err := eachElement(r, func(line int, element json.RawMessage) error {
		n++
		var row struct {
			Doc     text    `json:"doc_id"`
			System  text    `json:"system_id"`
			Source  *string `json:"source"`
			Summary *string `json:"system_output"`
			Scores  map[string]*float64
		}
		err := decodeRow(element, &row)
		if err == nil && (row.Doc == "" || row.Source == nil || row.Summary == nil) {
			err = errors.New(`it has no "doc_id", "source" or "system_output", as Newsroom's have, and SummEval's in a list`)
		}
		var score float64
		if err == nil {
			score, err = aspectScore(row.Scores, aspect)
		}
		var in *Instance
		if err == nil {
			in, err = g.of(string(row.Doc), paragraphs(html.UnescapeString(markup.Replace(*row.Source))), line)
		}
		if err != nil {
			bad := badRow(line, err)
			bad.ID = fmt.Sprintf("element %d, line %d", n, line) // all may be on one line
			g.all = append(g.all, bad)
			return nil
		}
		id := string(row.System)
		if id == "" {
			id = fmt.Sprint(len(in.Items) + 1)
		}
		in.Items = append(in.Items, Item{ID: id, Text: oneLine(html.UnescapeString(markup.Replace(*row.Summary))), Score: score})
		return nil
	})
	return g.all, err
}

// readSummEval reads summaries, the items of each article, with the mean of the experts' scores.
func readSummEval(r io.Reader, aspect string) ([]*Instance, error) {
	var g groups
	err := eachLine(r, func(n int, line []byte) error {
		var row struct {
			ID      text
			Model   text `json:"model_id"`
			Decoded *string
			Text    *string
			Experts []map[string]*float64 `json:"expert_annotations"`
		}
		err := decodeRow(line, &row)
		switch {
		case err != nil:
		case row.ID == "" || row.Decoded == nil:
			err = errors.New(`it has no "id" or "decoded", as SummEval's have`)
		case row.Text == nil:
			err = errors.New(`it has no "text": the file is without the articles; pair it with them by SummEval's script`)
		case len(row.Experts) == 0:
			err = errors.New(`it has no "expert_annotations"`)
		}
		sum := 0.0
		for _, e := range row.Experts {
			if err != nil {
				break
			}
			var s float64
			s, err = aspectScore(e, aspect)
			sum += s
		}
		var in *Instance
		if err == nil {
			in, err = g.of(string(row.ID), paragraphs(*row.Text), n)
		}
		if err != nil {
			g.bad(n, err)
			return nil
		}
		id := string(row.Model)
		if id == "" {
			id = fmt.Sprint(len(in.Items) + 1)
		}
		in.Items = append(in.Items, Item{ID: id, Text: oneLine(*row.Decoded), Score: sum / float64(len(row.Experts))})
		return nil
	})
	return g.all, err
}

// readFeedback reads comparisons of two summaries of a post or an article. Summaries of the same words are one
// item; items are called by their places, from 1.
func readFeedback(r io.Reader) ([]*Instance, error) {
	var g groups
	err := eachLine(r, func(n int, line []byte) error {
		var row struct {
			Info struct {
				ID                   text
				Post, Title, Article *string
			}
			Summaries []struct{ Text *string }
			Choice    *int
			Worker    text
		}
		err := decodeRow(line, &row)
		source := ""
		switch {
		case err != nil:
		case row.Info.ID == "" || row.Info.Post == nil && row.Info.Article == nil:
			err = errors.New(`its "info" has no "id", or no "post" and no "article"`)
		case len(row.Summaries) != 2 || row.Summaries[0].Text == nil || row.Summaries[1].Text == nil:
			err = errors.New(`its "summaries" are not two with a "text"`)
		case row.Choice == nil || *row.Choice != 0 && *row.Choice != 1:
			err = errors.New(`its "choice" is neither 0 nor 1`)
		case row.Info.Post != nil:
			source = *row.Info.Post
			if row.Info.Title != nil {
				source = *row.Info.Title + "\n" + source
			}
		default:
			source = *row.Info.Article
		}
		if err != nil {
			g.bad(n, err)
			return nil
		}
		var texts [2]string
		for k := range texts {
			if texts[k] = oneLine(*row.Summaries[k].Text); texts[k] == "" {
				err = errors.New("a summary is empty")
			}
		}
		if err == nil && texts[0] == texts[1] {
			err = errors.New("the two summaries are the same")
		}
		var in *Instance
		if err == nil {
			in, err = g.of(string(row.Info.ID), paragraphs(source), n)
		}
		if err != nil {
			g.bad(n, err)
			return nil
		}
		if len(in.Items) > MaxItems {
			return nil // check tells
		}
		c := Comparison{P: float64(1 - *row.Choice), Worker: string(row.Worker), Line: n}
		for k, to := range []*int{&c.I, &c.J} {
			*to = -1
			for i, item := range in.Items {
				if item.Text == texts[k] {
					*to = i
				}
			}
			if *to < 0 {
				*to = len(in.Items)
				in.Items = append(in.Items, Item{ID: fmt.Sprint(*to + 1), Text: texts[k], Score: math.NaN()})
			}
		}
		in.Comparisons = append(in.Comparisons, c)
		return nil
	})
	return g.all, err
}
