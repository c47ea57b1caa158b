package probct

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/modellog/modellog/lang"
)

// AnnotateOptions are what Annotate needs.
type AnnotateOptions struct {
	Items   []Item
	Answers *Answers // where they go; open
	In      *os.File
	Out     io.Writer
}

// Progress says how far an annotator has come.
type Progress struct {
	Judged, Skipped, Of int
}

// ErrInterrupted is what Annotate returns when the annotator presses Ctrl-C. No answer is lost.
var ErrInterrupted = errors.New("interrupted")

// Annotate shows items one by one and takes what a person says of them, in the items' order; what
// has been judged before is not asked again, and what was skipped comes last. The filter's
// decision is not shown.
//
// On a terminal one key is an answer. Otherwise answers are lines of the input, by their
// words or first letters: accept, reject, skip, undo, note TEXT, quit; the end of the input is as
// good as quit, and lines that are empty or begin with # are comments. A line that is none of these is an error with its number.
func Annotate(ctx context.Context, o AnnotateOptions) (Progress, error) {
	s := newSession(o.Items, o.Answers)
	var err error
	out, isFile := o.Out.(*os.File)
	if isFile && term.IsTerminal(int(o.In.Fd())) && term.IsTerminal(int(out.Fd())) && os.Getenv("TERM") != "dumb" {
		err = s.terminal(ctx, o.In, out)
	} else {
		err = s.lines(ctx, o.In, o.Out)
	}
	return s.progress(), err
}

// annotation is an annotator at work.
type annotation struct {
	items   []Item
	answers *Answers
	queue   []int // what is to be asked, by index; the first is being asked
	past    []int // what has been answered, the latest last
}

func newSession(items []Item, answers *Answers) *annotation {
	s := &annotation{items: items, answers: answers}
	at := make(map[itemKey]int)
	var skipped []int
	for i, x := range items {
		at[itemKey{x.Subset, x.ID}] = i
		switch j := answers.said[itemKey{x.Subset, x.ID}]; {
		case j == nil:
			s.queue = append(s.queue, i)
		case j.Answer == Skip:
			skipped = append(skipped, i)
		}
	}
	s.queue = append(s.queue, skipped...)
	for _, k := range answers.order {
		if i, ok := at[k]; ok && answers.said[k].Answer != Skip {
			s.past = append(s.past, i)
		}
	}
	return s
}

// progress counts the answers to the items.
func (s *annotation) progress() Progress {
	p := Progress{Of: len(s.items)}
	for _, x := range s.items {
		switch j := s.answers.said[itemKey{x.Subset, x.ID}]; {
		case j == nil:
		case j.Answer == Skip:
			p.Skipped++
		default:
			p.Judged++
		}
	}
	return p
}

func (s *annotation) current() *Item {
	if len(s.queue) == 0 {
		return nil
	}
	return &s.items[s.queue[0]]
}

// say answers the current item.
func (s *annotation) say(a Answer) error {
	if err := s.answers.Say(*s.current(), a); err != nil {
		return err
	}
	s.past = append(s.past, s.queue[0])
	s.queue = s.queue[1:]
	return nil
}

// undo takes back the last answer and asks again; it reports whether there is one.
func (s *annotation) undo() (bool, error) {
	n := len(s.past) - 1
	if n < 0 {
		return false, nil
	}
	if err := s.answers.Undo(s.items[s.past[n]]); err != nil {
		return false, err
	}
	s.queue = slices.Insert(s.queue, 0, s.past[n])
	s.past = s.past[:n]
	return true, nil
}

// constraintWords says in plain words what holds of a subset's statements.
func constraintWords(subset string) string {
	switch subset {
	case Transitivity:
		return "If the first two statements are true, the third must be true."
	case ForwardImplication:
		return "If the first statement is true, the second must be true."
	case NegationConsistency, MutualExclusivity, SpatialExclusivity:
		return "Exactly one of the two statements is true."
	}
	return "These statements are an example of the constraint " + subset + "."
}

// criteriaWords are the four criteria of Appendix B.2 as an annotator is asked.
var criteriaWords = [][2]string{
	{"grammatical", "each statement is natural English"},
	{"monosemous", "what they are about has a single, clear meaning"},
	{"salient", "it is well known and real"},
	{"factual", "each is true or false as it says"},
}

// width counts columns of a terminal.
func width(s string) int { return (&runewidth.Condition{}).StringWidth(s) }

// show is the current item in lines of at most w columns.
func (s *annotation) show(w int) []string {
	x := s.current()
	if x == nil {
		p := s.progress()
		last := fmt.Sprintf("All %d are judged.", p.Of)
		if p.Skipped > 0 {
			last = fmt.Sprintf("%d of %d are judged, and %d are skipped; these are asked again next time.", p.Judged, p.Of, p.Skipped)
		}
		return fold(last, w, "")
	}
	of, left := 0, 0
	for _, y := range s.items {
		if y.Subset == x.Subset {
			of++
		}
	}
	for _, i := range s.queue {
		if s.items[i].Subset == x.Subset {
			left++
		}
	}
	lines := fold(fmt.Sprintf("%s, %d of %d (%d of %d in all)", Title(x.Subset), of-left+1, of, len(s.items)-len(s.queue)+1, len(s.items)), w, "")
	lines = append(lines, "")
	for i, f := range x.Facts {
		truth := "false"
		if f.True {
			truth = "true"
		}
		lines = append(lines, fold(fmt.Sprintf("  %d. %-5s  %s.", i+1, truth, sentence(f.Text)), w, "            ")...)
	}
	lines = append(lines, "")
	lines = append(lines, fold("  "+constraintWords(x.Subset), w, "  ")...)
	lines = append(lines, "")
	lines = append(lines, fold("  Accept it if all of this holds:", w, "  ")...)
	for _, c := range criteriaWords {
		lines = append(lines, fold(fmt.Sprintf("    %-11s  %s", c[0], c[1]), w, "                 ")...)
	}
	if note := s.answers.notes[itemKey{x.Subset, x.ID}]; note != "" {
		lines = append(lines, "")
		lines = append(lines, fold("  note: "+sentence(note), w, "        ")...)
	}
	return lines
}

// sentence makes a text one line without what a terminal obeys.
func sentence(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(strings.TrimRight(s, "."), "\ufffd"))
}

// fold breaks a text at spaces into lines of at most w columns as far as its words allow; lines
// after the first are indented.
func fold(s string, w int, indent string) []string {
	if w < width(indent)+12 {
		indent = ""
	}
	var lines []string
	rest := s
	for width(rest) > w {
		at, columns, begun := -1, 0, false
		for i, r := range rest {
			if r == ' ' && begun && (columns <= w || at < 0) {
				at = i
			}
			begun = begun || r != ' '
			if columns += width(string(r)); columns > w && at >= 0 {
				break
			}
		}
		if at < 0 || strings.TrimSpace(rest[at:]) == "" {
			break
		}
		lines = append(lines, strings.TrimRight(rest[:at], " "))
		rest = indent + strings.TrimLeft(rest[at:], " ")
	}
	return append(lines, strings.TrimRight(rest, " "))
}

// lines takes answers line by line.
func (s *annotation) lines(ctx context.Context, in io.Reader, out io.Writer) error {
	type input struct {
		text string
		ok   bool
		err  error
	}
	next := make(chan input)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		b := bufio.NewScanner(in)
		b.Buffer(nil, 2*maxNote)
		for {
			ok := b.Scan()
			select {
			case next <- input{b.Text(), ok, b.Err()}:
			case <-stop:
				return
			}
			if !ok {
				return
			}
		}
	}()
	show := true
	for n := 1; ; n++ {
		if show {
			w := lang.StyleOf(out).Width
			if w <= 0 {
				w = 100
			}
			if _, err := fmt.Fprintf(out, "%s\n\n", strings.Join(s.show(w), "\n")); err != nil {
				return err
			}
		}
		show = true
		var l input
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l = <-next:
		}
		if l.err != nil {
			return fmt.Errorf("reading line %d of the answers: %w", n, l.err)
		}
		if !l.ok {
			return nil
		}
		text := strings.TrimSpace(strings.TrimPrefix(l.text, "\ufeff"))
		word, rest, _ := strings.Cut(text, " ")
		rest = strings.TrimSpace(rest)
		word = strings.ToLower(word)
		if rest != "" && word != "n" && word != "note" {
			word = text
		}
		if text == "" || text[0] == '#' {
			show = false
			continue
		}
		switch word {
		case "q", "quit":
			return nil
		case "u", "undo":
			ok, err := s.undo()
			if err != nil {
				return err
			}
			if !ok {
				return fmt.Errorf("line %d of the answers: there is nothing to undo", n)
			}
			fmt.Fprintln(out, "undo")
			continue
		}
		answer := map[string]Answer{"a": Accept, "accept": Accept, "r": Reject, "reject": Reject, "s": Skip, "skip": Skip, "n": noted, "note": noted}[word]
		switch {
		case answer == "":
			return fmt.Errorf("line %d of the answers: %q is none of accept, reject, skip, undo, note TEXT and quit", n, text)
		case s.current() == nil:
			return fmt.Errorf("line %d of the answers: everything is judged; there is nothing to %s", n, answer)
		case answer == noted:
			if err := s.answers.Note(*s.current(), rest); err != nil {
				return fmt.Errorf("line %d of the answers: %w", n, err)
			}
			show = false
		default:
			if err := s.say(answer); err != nil {
				return err
			}
		}
		fmt.Fprintln(out, strings.TrimSpace(string(answer)+" "+sentence(rest)))
	}
}
