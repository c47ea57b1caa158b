package preference

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/regular"
)

// Kind is a form of data.
type Kind string

// The kinds of data.
const (
	NovelEval Kind = "noveleval" // passages for queries: a JSON list, and relevance in noveleval-qrels.txt beside it
	Newsroom  Kind = "newsroom"  // summaries of news: a JSON list, in the form in which PairS publishes it
	SummEval  Kind = "summeval"  // summaries of news: JSON lines, aligned and paired with the articles; or the list in which UniEval and G-Eval publish it
	CaTeRS    Kind = "caters"    // events of stories: a folder of brat's .txt, with *** between stories, and .ann
	Feedback  Kind = "feedback"  // Summarize from Feedback's comparisons, JSON lines: one of its files, or several joined
	Plain     Kind = "plain"     // one's own: JSON lines, see Read
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{NovelEval, Newsroom, SummEval, CaTeRS, Feedback, Plain} }

// ReadOptions say what is read of data that have more than one thing.
type ReadOptions struct {
	Aspect string // of Newsroom and SummEval, whose scores are taken: "coherence" if empty
	Qrels  string // file of NovelEval's relevance; the data file's name with -qrels.txt for .json if empty
	// MinEvents is the number of events below which a story of CaTeRS is left out; the paper's 7 if 0.
	MinEvents int
}

// ReadCounts say what became of what was read.
type ReadCounts struct {
	Instances, Bad int // those that can be asked, and those that cannot; a bad row counts as an instance of its own
	Filtered       int // stories with too few events
	Unordered      int // relations of CaTeRS that say nothing of an order
}

const (
	maxDataBytes     = 1 << 30
	maxDataLineBytes = 8 << 20
	maxDataRows      = 1 << 20
	maxTextBytes     = 1 << 20
	maxAnnBytes      = 4 << 20
)

// Read reads a data set. What cannot be asked (a malformed row, a repeated or empty item, fewer than two
// items, text that is no UTF-8) is an instance with its reason in Bad, so that it is counted; that nothing can
// be asked, or a file that is not of the kind at all, is an error with the line.
//
// White space within a text becomes single spaces, and the paragraphs of a source stand on lines of their own.
// Newsroom's markup is taken out: </p><p>, <p> and </p> end a paragraph, and then HTML's entities become the
// characters that they stand for, once.
//
// A row of [Plain] is {"id": …, "source": …, "items": [{"id": …, "text": …, "score": …}, …], "comparisons":
// [{"first": ID, "second": ID, "p": …}, …]}, where items may be texts alone, which are then called 1, 2, …;
// source, score and comparisons may be left out, and p, the probability that the first is preferred, is 1 if
// left out.
func Read(kind Kind, path string, o ReadOptions) (*Dataset, ReadCounts, error) {
	d, c, err := readData(kind, path, o)
	if err != nil {
		return nil, c, fmt.Errorf("reading %s: %w", path, err)
	}
	return d, c, nil
}

// dataNames are what tables call the data.
var dataNames = map[Kind]string{NovelEval: "NovelEval", Newsroom: "Newsroom", SummEval: "SummEval", CaTeRS: "CaTeRS", Feedback: "Summarize from Feedback"}

func readData(kind Kind, path string, o ReadOptions) (*Dataset, ReadCounts, error) {
	if o.Aspect == "" {
		o.Aspect = "coherence"
	}
	if o.MinEvents == 0 {
		o.MinEvents = 7
	}
	d := &Dataset{File: path, Kind: string(kind), Name: dataNames[kind]}
	if d.Name == "" {
		base := filepath.Base(path)
		d.Name = strings.TrimSuffix(base, filepath.Ext(base))
	}
	if (kind == Newsroom || kind == SummEval) && o.Aspect != "coherence" {
		d.Name += " (" + o.Aspect + ")" // the paper's SummEval is of coherence
	}
	var c ReadCounts
	if kind == CaTeRS {
		var err error
		d.Instances, c, err = readStories(path, o.MinEvents)
		if err != nil {
			return nil, c, err
		}
		return d, c, count(d.Instances, &c)
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, c, err
	}
	defer f.Close()
	switch kind {
	case NovelEval:
		if o.Qrels == "" {
			o.Qrels = strings.TrimSuffix(path, filepath.Ext(path)) + "-qrels.txt"
		}
		var relevance map[string]map[string]float64
		d.Beside = []string{o.Qrels}
		if relevance, err = readQrels(o.Qrels); err == nil {
			d.Instances, err = readNovelEval(f, relevance)
		}
	case Newsroom:
		d.Instances, err = readNewsroom(f, o.Aspect)
	case SummEval:
		r := bufio.NewReader(f)
		if isList(r) {
			d.Instances, err = readNewsroom(r, o.Aspect)
		} else {
			d.Instances, err = readSummEval(r, o.Aspect)
		}
	case Feedback:
		d.Instances, err = readFeedback(f)
	case Plain:
		d.Instances, err = readPlain(f)
	default:
		err = fmt.Errorf("%q is no kind of data; the kinds are %s", kind, kindNames())
	}
	if err != nil {
		return nil, c, err
	}
	return d, c, count(d.Instances, &c)
}

func kindNames() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// count checks all instances and counts them. It is an error if none can be asked.
func count(instances []*Instance, c *ReadCounts) error {
	why := ""
	for _, in := range instances {
		in.check()
		if in.Bad == "" {
			c.Instances++
			continue
		}
		c.Bad++
		if why == "" {
			why = fmt.Sprintf("; %s: %s", in.ID, in.Bad)
		}
	}
	if c.Instances == 0 {
		return fmt.Errorf("there is nothing that can be asked, of %d instances%s", len(instances), why)
	}
	return nil
}

// check sets Bad where an instance cannot be asked.
func (in *Instance) check() {
	fault := func() string {
		switch {
		case in.Bad != "":
			return in.Bad
		case len(in.Items) < 2:
			return fmt.Sprintf("it has %d items; two at least are compared", len(in.Items))
		case len(in.Items) > MaxItems:
			return fmt.Sprintf("it has %d items; the most is %d", len(in.Items), MaxItems)
		case len(in.Source) > maxTextBytes:
			return fmt.Sprintf("its source has %d bytes; the most is %d", len(in.Source), maxTextBytes)
		case !utf8.ValidString(in.Source) || !utf8.ValidString(in.ID):
			return "its text is no valid UTF-8; convert it"
		}
		seen := map[string]bool{}
		for _, item := range in.Items {
			switch {
			case item.Text == "":
				return fmt.Sprintf("item %s is empty", item.ID)
			case item.ID == "":
				return "an item has no name"
			case seen[item.ID]:
				return fmt.Sprintf("two items are called %s", item.ID)
			case len(item.Text) > maxTextBytes:
				return fmt.Sprintf("item %s has %d bytes; the most is %d", item.ID, len(item.Text), maxTextBytes)
			case !utf8.ValidString(item.Text) || !utf8.ValidString(item.ID):
				return fmt.Sprintf("item %q is no valid UTF-8; convert it", item.ID)
			case math.IsInf(item.Score, 0):
				return fmt.Sprintf("the score of item %s is infinite", item.ID)
			}
			seen[item.ID] = true
		}
		if err := checkComparisons(len(in.Items), in.Comparisons); err != nil {
			return err.Error()
		}
		return ""
	}
	if why := fault(); why != "" {
		*in = Instance{ID: strings.ToValidUTF8(in.ID, "�"), Line: in.Line, Bad: why}
	}
}

// badRow is a row that belongs to no instance.
func badRow(line int, err error) *Instance {
	return &Instance{ID: fmt.Sprintf("line %d", line), Line: line, Bad: err.Error()}
}

// eachLine calls f with the lines that are not empty, and their numbers.
func eachLine(r io.Reader, f func(n int, line []byte) error) error {
	lines := bufio.NewScanner(io.LimitReader(r, maxDataBytes+1))
	lines.Buffer(nil, maxDataLineBytes)
	n, bytesRead, rows := 0, 0, 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if bytesRead += len(line) + 1; bytesRead > maxDataBytes {
			return fmt.Errorf("line %d: the file is larger than %d bytes", n, maxDataBytes)
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if rows++; rows > maxDataRows {
			return fmt.Errorf("line %d: there are more than %d rows", n, maxDataRows)
		}
		if err := f(n, line); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("line %d is longer than %d bytes", n+1, maxDataLineBytes)
	} else if err != nil {
		return err
	}
	return nil
}

// isList reports whether a file begins as a JSON list does.
func isList(r *bufio.Reader) bool {
	begin, _ := r.Peek(1024)
	return bytes.HasPrefix(bytes.TrimSpace(bytes.TrimPrefix(begin, []byte("\xef\xbb\xbf"))), []byte("["))
}

// eachElement calls f with the elements of a JSON list, and the lines on which they begin.
func eachElement(r io.Reader, f func(line int, element json.RawMessage) error) error {
	data, err := io.ReadAll(io.LimitReader(r, maxDataBytes+1))
	if err != nil {
		return err
	}
	if len(data) > maxDataBytes {
		return fmt.Errorf("the file is larger than %d bytes", maxDataBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	d := json.NewDecoder(bytes.NewReader(data))
	line, counted := 1, int64(0)
	at := func() int { // the line of the next thing
		end := d.InputOffset()
		for end < int64(len(data)) && bytes.IndexByte([]byte(" \t\r\n,"), data[end]) >= 0 {
			end++
		}
		line += bytes.Count(data[counted:end], []byte("\n"))
		counted = end
		return line
	}
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("line %d: the file is no JSON list", at())
	}
	for n := 0; d.More(); n++ {
		begins := at()
		var element json.RawMessage
		if err := d.Decode(&element); err != nil {
			return fmt.Errorf("line %d: element %d of the list is no JSON: %w", begins, n+1, err)
		}
		if n == maxDataRows {
			return fmt.Errorf("line %d: there are more than %d rows", begins, maxDataRows)
		}
		if err := f(begins, element); err != nil {
			return fmt.Errorf("line %d: %w", begins, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("line %d: the list has no end: %w", at(), err)
	}
	if len(bytes.TrimSpace(data[d.InputOffset():])) > 0 {
		return fmt.Errorf("line %d: something stands behind the end of the list; a file is one list", at())
	}
	return nil
}

// decodeRow reads a JSON object.
func decodeRow(row []byte, to any) error {
	if !utf8.Valid(row) {
		return errors.New("its text is no valid UTF-8; convert it")
	}
	err := json.Unmarshal(row, to)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return fmt.Errorf("%q is a JSON %s, which it cannot be", strings.ToLower(wrong.Field), wrong.Value)
	}
	return fmt.Errorf("the row is no JSON object: %w", err)
}

// text is a JSON text, or a number that stands for one, as identifiers do.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return errors.New("an identifier is neither a text nor a number")
	}
	*t = text(n)
	return nil
}

// oneLine makes white space within a text single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// paragraphs makes each line that is not empty one of a source.
func paragraphs(s string) string {
	var out []string
	for line := range strings.Lines(s) {
		if line = oneLine(line); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

// groups gathers rows into instances, in the order in which these are met.
type groups struct {
	all []*Instance
	at  map[string]*Instance
}

// of returns the instance of a name. That its source differs is a fault of the row.
func (g *groups) of(id, source string, line int) (*Instance, error) {
	if in := g.at[id]; in != nil {
		if in.Source != source {
			return nil, fmt.Errorf("instance %s has another source on line %d", id, in.Line)
		}
		return in, nil
	}
	in := &Instance{ID: id, Source: source, Line: line}
	if g.at == nil {
		g.at = map[string]*Instance{}
	}
	g.at[id] = in
	g.all = append(g.all, in)
	return in, nil
}

// bad tells of a row that was not read.
func (g *groups) bad(line int, err error) { g.all = append(g.all, badRow(line, err)) }

func readPlain(r io.Reader) ([]*Instance, error) {
	var out []*Instance
	seen := map[string]int{}
	err := eachLine(r, func(n int, line []byte) error {
		in, err := plainInstance(line)
		if err == nil {
			in.Line = n
			if in.ID == "" {
				in.ID = fmt.Sprintf("line %d", n)
			}
			if first, twice := seen[in.ID]; twice {
				err = fmt.Errorf("the instance on line %d is called %s too", first, in.ID)
			}
			seen[in.ID] = n
		}
		if err != nil {
			in = badRow(n, err)
		}
		out = append(out, in)
		return nil
	})
	return out, err
}

// plainItem is an item, or its text.
type plainItem struct {
	ID    text
	Text  *string
	Score *float64
}

func (p *plainItem) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		p.Text = &s
		return nil
	}
	type fields plainItem
	return json.Unmarshal(b, (*fields)(p))
}

func plainInstance(line []byte) (*Instance, error) {
	var row struct {
		ID          text
		Source      string
		Items       []plainItem
		Comparisons []struct {
			First, Second text
			P             *float64
		}
	}
	if err := decodeRow(line, &row); err != nil {
		return nil, err
	}
	in := &Instance{ID: string(row.ID), Source: paragraphs(row.Source)}
	at := map[string]int{}
	for i, item := range row.Items {
		if item.Text == nil {
			return nil, fmt.Errorf(`item %d has no "text"`, i+1)
		}
		x := Item{ID: string(item.ID), Text: oneLine(*item.Text), Score: math.NaN()}
		if x.ID == "" {
			x.ID = fmt.Sprint(i + 1)
		}
		if item.Score != nil {
			x.Score = *item.Score
		}
		at[x.ID] = i
		in.Items = append(in.Items, x)
	}
	for k, c := range row.Comparisons {
		i, ok := at[string(c.First)]
		j, also := at[string(c.Second)]
		if !ok || !also {
			return nil, fmt.Errorf("comparison %d is of %q and %q, which are not both items", k+1, c.First, c.Second)
		}
		p := 1.0
		if c.P != nil {
			p = *c.P
		}
		in.Comparisons = append(in.Comparisons, Comparison{I: i, J: j, P: p})
	}
	return in, nil
}

// aspectScore is the score of an aspect, or an error with those that there are.
func aspectScore(scores map[string]*float64, aspect string) (float64, error) {
	if s, ok := scores[aspect]; ok {
		if s == nil {
			return 0, fmt.Errorf("the score of %q is null, and no number", aspect)
		}
		return *s, nil
	}
	var names []string
	for name := range scores {
		names = append(names, name)
	}
	slices.Sort(names)
	return 0, fmt.Errorf("there is no score of %q; there are %s", aspect, strings.Join(names, ", "))
}
