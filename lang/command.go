package lang

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
)

// command is a line that starts with "%".
type command struct {
	name  string
	usage string
	doc   string
	run   func(s *Session, ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error
}

// commands are in the order in which %help lists them.
func commands() []command {
	return []command{
		{"model", "%model NAME", "open a model and use it from now on; without a name, say which one is in use", (*Session).modelCommand},
		{"models", "%models", "list the models that can be opened", (*Session).modelsCommand},
		{"calibration", "%calibration METHOD [p]", "say how token probabilities become event probabilities", (*Session).calibrationCommand},
		{"load", "%load FILE", "evaluate a file", (*Session).loadCommand},
		{"run", "%run SCHEMA FILE [multi=keep] [limit=N]", "measure a schema on each row of a CSV, JSONL or Parquet file", (*Session).runCommand},
		{"plot", "%plot KIND …", "draw a figure", (*Session).plotCommand},
		{"calc", "%calc EXPRESSION, …", "compute with numbers and queries: + - * / ^ and exp ln log2 logit sigmoid sqrt", (*Session).calcCommand},
		{"table", `%table FILE.csv [SCHEMA] [subset="…"]`, "show published values and those of runs side by side", (*Session).tableCommand},
		{"save", "%save FILE", "write the last figure (.svg .png .pdf) or the definitions (.logic .txt) to a file", (*Session).saveCommand},
		{"who", "%who", "list the names that are defined", (*Session).whoCommand},
		{"reset", "%reset", "forget all names and figures; the model stays open", (*Session).resetCommand},
		{"time", "%time STATEMENT", "say how long a statement takes; %time on and %time off do so for all", (*Session).timeCommand},
		{"help", "%help [TOPIC]", "explain a connective, a function or a command", (*Session).helpCommand},
	}
}

// command carries out a command.
func (s *Session) command(ctx context.Context, u *unit, c *syntax.Command) error {
	all := commands()
	i := slices.IndexFunc(all, func(x command) bool { return x.name == c.Name.Text })
	if i < 0 {
		if c.Name.Text == "" {
			return u.src.Errorf(c.Name, "a command's name follows the %% without a space; %%help lists them")
		}
		var names []string
		for _, x := range all {
			names = append(names, x.name)
		}
		if near := nearest.Name(c.Name.Text, names); near != "" {
			return u.src.Errorf(c.Name, "there is no command %%%s; did you mean %%%s?", c.Name.Text, near)
		}
		return u.src.Errorf(c.Name, "there is no command %%%s; %%help lists them", c.Name.Text)
	}
	var words []syntax.Word
	if c.Name.Text != "time" && c.Name.Text != "calc" { // whose arguments are no words
		var err error
		if words, err = c.Words(); err != nil {
			return err
		}
	}
	return all[i].run(s, ctx, u, c, words)
}

// usage is the error for a command that was given the wrong number of words.
func usage(u *unit, c *syntax.Command) error {
	for _, x := range commands() {
		if x.name == c.Name.Text {
			return u.src.Errorf(c, "write %s", x.usage)
		}
	}
	return nil
}

func (s *Session) modelCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	switch len(words) {
	case 0:
		if s.model != nil {
			return u.emit(&Note{What: "model", Message: describeModel(s.model.Info())})
		}
		if s.opts.Model != "" {
			return u.emit(&Note{What: "model", Message: s.opts.Model + " · opened when an event needs it"})
		}
		return u.emit(&Note{What: "model", Message: "no model is chosen; %model NAME chooses one"})
	case 1:
		info, err := s.OpenModel(ctx, words[0].Text)
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			return u.src.Errorf(words[0], "%w", err)
		}
		return u.emit(&Note{What: "model", Message: describeModel(info)})
	}
	return usage(u, c)
}

func (s *Session) modelsCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) > 0 {
		return usage(u, c)
	}
	if s.opts.ModelNames == nil {
		return u.src.Errorf(c, "this session was started without a list of models")
	}
	names, err := s.opts.ModelNames(ctx)
	if err != nil {
		return err
	}
	t := &Table{Query: "models available", Head: []string{"model", "opened by", ""}, flex: 2}
	for _, n := range names {
		t.Cells = append(t.Cells, []string{n.Name, n.Backend, n.Detail})
		t.Rows = append(t.Rows, struct {
			Name    string `json:"name"`
			Backend string `json:"backend"`
			Detail  string `json:"detail"`
		}{n.Name, n.Backend, n.Detail})
	}
	if len(names) == 0 {
		t.Head, t.Note = nil, "no model is here yet; modellog models get NAME fetches one"
	}
	return u.emit(t)
}

// methods are the calibrations' names.
func methods() []string {
	var names []string
	for _, m := range []calibrate.Method{calibrate.NucleusEntropy, calibrate.Entropy, calibrate.NucleusSize, calibrate.Raw} {
		names = append(names, m.String())
	}
	return names
}

func (s *Session) calibrationCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) == 0 {
		return u.emit(&Note{What: "calibration", Message: s.calibration.String()})
	}
	m, err := calibrate.ParseMethod(words[0].Text)
	if err != nil {
		if near := nearest.Name(words[0].Text, methods()); near != "" {
			return u.src.Errorf(words[0], "there is no calibration %q; did you mean %q?", words[0].Text, near)
		}
		return u.src.Errorf(words[0], "there is no calibration %q; there are %s", words[0].Text, strings.Join(methods(), ", "))
	}
	cal := calibrate.Calibration{Method: m, P: calibrate.Default().P}
	switch {
	case len(words) > 2:
		return usage(u, c)
	case len(words) == 2 && !m.UsesNucleus():
		return u.src.Errorf(words[1], "%s takes no p", m)
	case len(words) == 2:
		p := strings.TrimPrefix(words[1].Text, "p=")
		if cal.P, err = strconv.ParseFloat(p, 64); err != nil {
			return u.src.Errorf(words[1], "p is the mass of the nucleus, a number above 0 and up to 1")
		}
	}
	if err := s.SetCalibration(cal); err != nil {
		return u.src.Errorf(words[len(words)-1], "%w", err)
	}
	return u.emit(&Note{What: "calibration", Message: s.calibration.String()})
}

// maxLoading is how deep files may load others.
const maxLoading = 64

func (s *Session) loadCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) != 1 {
		return usage(u, c)
	}
	path, err := s.abs(words[0].Text, u.dir)
	if err != nil {
		return u.src.Errorf(words[0], "%w", err)
	}
	if slices.Contains(u.loading, path) {
		return u.src.Errorf(words[0], "%s is being loaded already; a file cannot load itself, directly or through others", words[0].Text)
	}
	if len(u.loading) == maxLoading {
		return u.src.Errorf(words[0], "%d files are loading each other already", maxLoading)
	}
	text, err := readProgram(path)
	if err != nil {
		return u.src.Errorf(words[0], "%w", err)
	}

	// A file that fails defines nothing.
	s.mu.Lock()
	names, order, labels := maps.Clone(s.names), slices.Clone(s.order), maps.Clone(s.labels)
	s.mu.Unlock()
	inner := &unit{dir: filepath.Dir(path), loading: append(slices.Clip(u.loading), path), emit: u.emit}
	if err := s.eval(ctx, displayPath(path), text, inner); err != nil {
		s.mu.Lock()
		s.names, s.order, s.labels = names, order, labels
		s.forget()
		s.relabel()
		s.mu.Unlock()
		return err
	}
	return nil
}

// readProgram reads a file that is to be evaluated.
func readProgram(path string) (string, error) {
	f, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, syntax.MaxSource+1))
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", displayPath(path), err)
	}
	return string(b), nil
}

// openRegular opens a file, and says plainly why it cannot.
func openRegular(path string) (*os.File, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", displayPath(path))
	case err != nil:
		return nil, fmt.Errorf("%s cannot be read: %w", displayPath(path), errors.Unwrap(err))
	case st.IsDir():
		return nil, fmt.Errorf("%s is a folder, not a file", displayPath(path))
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", displayPath(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", displayPath(path), errors.Unwrap(err))
	}
	return f, nil
}

// displayPath shortens a path to one relative to the working directory where
// it lies below that.
func displayPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (s *Session) whoCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) > 0 {
		return usage(u, c)
	}
	t := &Table{Query: "who", Head: []string{"name", "kind", "stands for"}, flex: 2}
	for _, name := range s.order {
		d := s.names[name]
		if _, ok := d.known(); d.params == nil && !ok {
			_, _ = newExpander(s, d.src).definition(d) // to tell its kind; using it will tell what is wrong
		}
		t.Cells = append(t.Cells, []string{d.head(), d.kind(), syntax.Format(d.body, syntax.Unicode)})
		t.Rows = append(t.Rows, struct {
			Name    string   `json:"name"`
			Kind    string   `json:"kind"`
			Holes   []string `json:"holes,omitempty"`
			Formula string   `json:"formula"`
		}{d.name, d.kind(), d.params, syntax.Format(d.body, syntax.Unicode)})
	}
	if len(s.order) == 0 {
		t.Head, t.Note = nil, "nothing is defined yet"
	}
	return u.emit(t)
}

// head is a definition's left side.
func (d *definition) head() string {
	if d.params == nil {
		return d.name
	}
	return d.name + "(" + strings.Join(d.params, ", ") + ")"
}

func (s *Session) resetCommand(ctx context.Context, u *unit, c *syntax.Command, words []syntax.Word) error {
	if len(words) > 0 {
		return usage(u, c)
	}
	n := len(s.order)
	s.reset()
	return u.emit(&Note{What: "reset", Message: "forgot " + plural(n, "name")})
}

func (s *Session) timeCommand(ctx context.Context, u *unit, c *syntax.Command, _ []syntax.Word) error {
	switch rest := c.Rest(); rest {
	case "":
		state := "off"
		if s.timing {
			state = "on"
		}
		return u.emit(&Note{What: "timing", Message: "timing is " + state + "; %time on, %time off, or %time STATEMENT for one"})
	case "on", "off":
		s.timing = rest == "on"
		return u.emit(&Note{What: "timing", Message: "timing is " + rest})
	}
	stmt, err := c.Stmt()
	if err != nil {
		return err
	}
	return s.timed(ctx, u, stmt)
}
