package probct

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Item is a candidate that people judge.
type Item struct {
	Subset   string
	ID       string
	Facts    []Fact
	Judge    string // of the filter
	Accepted bool   // by the filter, which annotators are not shown
}

// SampleOptions say which candidates people judge.
type SampleOptions struct {
	N       int // of each subset, or all where there are fewer
	Seed    uint64
	Subsets []string // nil for all that the suite has candidates of
}

// DefaultSample is how many candidates of each subset the paper had judged (Appendix B.4).
const DefaultSample = 50

// maxDecision bounds a line of the decisions in bytes.
const maxDecision = 1 << 20

// Sample draws candidates from a suite's DecisionsFile, accepted ones and others alike. The sample
// is the same for the same candidates, seed and N in whatever order they are; one of more
// candidates begins with those of one of fewer. It also returns the SHA-256 of the decisions.
func Sample(ctx context.Context, suite string, o SampleOptions) (items []Item, digest string, err error) {
	items, digest, err = sample(ctx, filepath.Join(suite, DecisionsFile), o)
	if errors.Is(err, os.ErrNotExist) {
		return nil, "", fmt.Errorf("%s has no %s, from which candidates are drawn; modellog probct build --out %s makes one", suite, DecisionsFile, suite)
	}
	if err != nil {
		return nil, "", fmt.Errorf("drawing candidates from %s: %w", suite, err)
	}
	return items, digest, nil
}

// decided is what a sample takes of a line of the decisions.
type decided struct {
	Subset   string `json:"subset"`
	ID       string `json:"id"`
	Facts    []Fact `json:"facts"`
	Judge    string `json:"judge"`
	Accepted bool   `json:"accepted"`
}

// drawnItem is an item with its place in the order that the seed gives.
type drawnItem struct {
	Item
	order [sha256.Size]byte
}

func sample(ctx context.Context, path string, o SampleOptions) ([]Item, string, error) {
	if o.N < 1 {
		return nil, "", fmt.Errorf("%d candidates cannot be drawn", o.N)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	sum := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(f, sum))
	lines.Buffer(make([]byte, 64<<10), maxDecision)
	bySubset := make(map[string][]drawnItem)
	for n := 1; lines.Scan(); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var d decided
		if err := json.Unmarshal(lines.Bytes(), &d); err != nil {
			return nil, "", fmt.Errorf("%s, line %d: %w", DecisionsFile, n, err)
		}
		if len(d.Facts) == 0 { // about a word
			continue
		}
		if d.ID == "" || d.Subset == "" {
			return nil, "", fmt.Errorf("%s, line %d has no id or no subset", DecisionsFile, n)
		}
		x := drawnItem{Item(d), sha256.Sum256(fmt.Appendf(nil, "%d\x00%s\x00%s", o.Seed, d.Subset, d.ID))}
		bySubset[d.Subset] = keepFirst(bySubset[d.Subset], x, o.N)
	}
	if err := lines.Err(); err != nil {
		return nil, "", fmt.Errorf("%s: %w", DecisionsFile, err)
	}
	subsets := o.Subsets
	if subsets == nil {
		subsets = slices.SortedFunc(maps.Keys(bySubset), compareSubsets)
	}
	var items []Item
	for _, s := range subsets {
		if bySubset[s] == nil {
			return nil, "", fmt.Errorf("there are no candidates of the subset %q", s)
		}
		for _, x := range bySubset[s] {
			items = append(items, x.Item)
		}
	}
	if len(items) == 0 {
		return nil, "", fmt.Errorf("%s has no candidates", DecisionsFile)
	}
	return items, hex.EncodeToString(sum.Sum(nil)), nil
}

// keepFirst adds an item to the first n in the seed's order. An item that is there is replaced: what
// was decided last counts.
func keepFirst(kept []drawnItem, x drawnItem, n int) []drawnItem {
	at, found := slices.BinarySearchFunc(kept, x, func(a, b drawnItem) int {
		return cmp.Or(bytes.Compare(a.order[:], b.order[:]), cmp.Compare(a.ID, b.ID))
	})
	switch {
	case found:
		kept[at] = x
	case at < n:
		kept = slices.Insert(kept, at, x)
	}
	return kept[:min(len(kept), n)]
}

// Answer is what an annotator says of an item.
type Answer string

const (
	Accept Answer = "accept"
	Reject Answer = "reject"
	Skip   Answer = "skip" // asked again when the annotator comes back

	withdrawn Answer = "undo" // the item's last answer does not count
	noted     Answer = "note"
)

// answerRecord is a line of a file of answers. The first one says what was drawn.
type answerRecord struct {
	Annotator string   `json:"annotator,omitempty"`
	Decisions string   `json:"decisions_sha256,omitempty"`
	Seed      *uint64  `json:"seed,omitempty"`
	N         int      `json:"n,omitempty"`
	Subsets   []string `json:"subsets,omitempty"`

	Subset string `json:"subset,omitempty"`
	ID     string `json:"id,omitempty"`
	Answer Answer `json:"answer,omitempty"`
	Note   string `json:"note,omitempty"`
	Judge  string `json:"judge,omitempty"`  // of the filter
	Filter *bool  `json:"filter,omitempty"` // what it decided
	At     string `json:"at,omitempty"`     // UTC
}

// itemKey tells items apart.
type itemKey struct{ subset, id string }

// Judged is an item's answer, with the filter's decision.
type Judged struct {
	Subset, ID string
	Answer     Answer
	Note       string
	Judge      string
	Accepted   bool // by the filter
}

// Answers are what one annotator has said so far.
type Answers struct {
	Annotator string
	Decisions string // the SHA-256 of the decisions that were drawn from
	Seed      uint64
	N         int

	file  *os.File // nil where it is only read
	now   func() time.Time
	said  map[itemKey]*Judged
	order []itemKey // of the answers that count, oldest first
	notes map[itemKey]string
}

// ReadAnswers reads a file that Annotate wrote. A last line that was cut off is left out.
func ReadAnswers(path string) (*Answers, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading answers: %w", err)
	}
	defer f.Close()
	a := newAnswers()
	if _, err := a.read(f); err != nil {
		return nil, fmt.Errorf("reading answers from %s: %w", path, err)
	}
	if a.Decisions == "" {
		return nil, fmt.Errorf("reading answers from %s: there are none; modellog probct annotate writes them", path)
	}
	return a, nil
}

func newAnswers() *Answers {
	return &Answers{now: time.Now, said: make(map[itemKey]*Judged), notes: make(map[itemKey]string)}
}

// read takes in a file's lines and returns how many bytes of it are whole lines.
func (a *Answers) read(r io.Reader) (whole int64, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	for n := 1; ; n++ {
		line, err := b.ReadSlice('\n')
		if err == io.EOF {
			return whole, nil // what is left was cut off while it was written
		}
		if err == bufio.ErrBufferFull {
			return whole, fmt.Errorf("line %d is too long for an answer", n)
		}
		if err != nil {
			return whole, err
		}
		whole += int64(len(line))
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var r answerRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return whole, fmt.Errorf("line %d is not an answer: %w", n, err)
		}
		if err := a.take(r); err != nil {
			return whole, fmt.Errorf("line %d: %w", n, err)
		}
	}
}

// take takes in a line.
func (a *Answers) take(r answerRecord) error {
	k := itemKey{r.Subset, r.ID}
	switch {
	case r.Decisions != "":
		if a.Decisions != "" && a.Decisions != r.Decisions {
			return errors.New("it is of another suite than the lines before")
		}
		a.Annotator, a.Decisions, a.N = r.Annotator, r.Decisions, r.N
		if r.Seed != nil {
			a.Seed = *r.Seed
		}
		return nil
	case a.Decisions == "":
		return errors.New("the first line does not say what the answers are about")
	case r.ID == "" || r.Subset == "":
		return errors.New("it names no item")
	}
	switch r.Answer {
	case noted:
		a.notes[k] = r.Note
		if j := a.said[k]; j != nil {
			j.Note = r.Note
		}
	case withdrawn:
		delete(a.said, k)
		a.order = slices.DeleteFunc(a.order, func(o itemKey) bool { return o == k })
	case Accept, Reject, Skip:
		if r.Filter == nil {
			return errors.New("it does not say what the filter decided")
		}
		a.order = append(slices.DeleteFunc(a.order, func(o itemKey) bool { return o == k }), k)
		a.said[k] = &Judged{r.Subset, r.ID, r.Answer, a.notes[k], r.Judge, *r.Filter}
	default:
		return fmt.Errorf("%q is no answer", r.Answer)
	}
	return nil
}

// Judged returns the answers that count, oldest first.
func (a *Answers) Judged() []Judged {
	var out []Judged
	for _, k := range a.order {
		out = append(out, *a.said[k])
	}
	return out
}

// OpenAnswers opens an annotator's file to go on with it, or begins it. Answers are
// appended to it one by one and are safe on disk when Say returns, so that whatever ends the
// program loses none. Nobody else can open the file meanwhile.
//
// It is an error if the file has answers of somebody else, of another suite, or of a
// sample with another seed. A sample that has become larger goes on.
func OpenAnswers(path, annotator, decisions string, o SampleOptions) (*Answers, error) {
	a, err := openAnswers(path, annotator, decisions, o)
	if err != nil {
		return nil, fmt.Errorf("opening the answers in %s: %w", path, err)
	}
	return a, nil
}

func openAnswers(path, annotator, decisions string, o SampleOptions) (_ *Answers, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == unix.EWOULDBLOCK {
		return nil, errors.New("they are being written by another modellog; end that one first")
	} else if err != nil {
		return nil, fmt.Errorf("locking it: %w", err)
	}
	a := newAnswers()
	whole, err := a.read(f)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Decisions == "":
	case a.Annotator != annotator:
		return nil, fmt.Errorf("they are those of %s, not of %s", a.Annotator, annotator)
	case a.Decisions != decisions:
		return nil, fmt.Errorf("they are about another suite, or this one before it was built anew (%s has SHA-256 %.12s…, then %.12s…); choose another file with --out", DecisionsFile, decisions, a.Decisions)
	case a.Seed != o.Seed:
		return nil, fmt.Errorf("they are about the sample of seed %d, not %d; go on with --seed %d, or choose another file with --out", a.Seed, o.Seed, a.Seed)
	}
	if err := f.Truncate(whole); err != nil { // what was cut off
		return nil, err
	}
	a.file = f
	if a.Decisions == "" || a.N != o.N {
		if err := a.write(answerRecord{Annotator: annotator, Decisions: decisions, Seed: &o.Seed, N: o.N, Subsets: o.Subsets}); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// write appends a line and takes it in.
func (a *Answers) write(r answerRecord) error {
	r.At = a.now().UTC().Format(time.RFC3339)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	if _, err := a.file.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing an answer: %w", err)
	}
	if err := a.file.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) { // no file that can be synced
		return fmt.Errorf("writing an answer: %w", err)
	}
	return a.take(r)
}

// Say notes what the annotator says of an item.
func (a *Answers) Say(x Item, answer Answer) error {
	if answer != Accept && answer != Reject && answer != Skip {
		return fmt.Errorf("%q is no answer", answer)
	}
	return a.write(answerRecord{Subset: x.Subset, ID: x.ID, Answer: answer, Judge: x.Judge, Filter: &x.Accepted})
}

// maxNote bounds a note in bytes.
const maxNote = 8 << 10

// Note keeps what the annotator writes about an item, in the place of what was written before.
func (a *Answers) Note(x Item, text string) error {
	if len(text) > maxNote {
		return fmt.Errorf("a note has at most %d bytes", maxNote)
	}
	return a.write(answerRecord{Subset: x.Subset, ID: x.ID, Answer: noted, Note: text})
}

// Undo withdraws the answer to an item.
func (a *Answers) Undo(x Item) error {
	return a.write(answerRecord{Subset: x.Subset, ID: x.ID, Answer: withdrawn})
}

// Close closes the file.
func (a *Answers) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}
