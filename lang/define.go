package lang

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/modellog/modellog/internal/nearest"
	"github.com/modellog/modellog/lang/syntax"
)

// definition is what a name stands for.
type definition struct {
	name   string
	params []string // a schema's holes; nil otherwise
	body   syntax.Expr
	src    *syntax.Source
	pos    syntax.Pos

	// The body written out, once that was needed. Evaluation fills it in while Complete reads.
	written atomic.Pointer[writing]
	// Of a schema, what came of checking it, until something is redefined.
	checked atomic.Pointer[checking]
}

// checking is what a schema was written out to with holes that fit anywhere.
type checking struct {
	value value
	terms int // how many it has
	depth int // how deep its expressions are nested, all names written out
}

// writing is what a definition was written out to.
type writing struct {
	value value
	stale bool // something has been redefined since
}

// known returns what a definition stands for, if that is up to date.
func (d *definition) known() (value, bool) {
	w := d.written.Load()
	if w == nil || w.stale {
		return value{}, false
	}
	return w.value, true
}

// kind says what a definition is, for %who, completion and messages.
func (d *definition) kind() string {
	if d.params != nil {
		return "schema"
	}
	w := d.written.Load() // a stale one tells the kind well enough
	switch {
	case w == nil:
	case w.value.kind == ladderValue:
		return "ladder"
	case w.value.kind == formulaValue && w.value.t.op == termAtom && w.value.t.atom.kind != atomText:
		return "event"
	}
	return "formula"
}

// define carries out a definition, or leaves everything as it was.
func (s *Session) define(u *unit, stmt *syntax.Definition) error {
	name := stmt.Name.Text
	if f := findFunction(name); f != nil {
		return u.src.Errorf(stmt.Name, "%q is a function of the language, %s; choose another name", name, f.usage)
	}
	start, _ := stmt.Span()
	d := &definition{name: name, body: stmt.X, src: u.src, pos: start}
	for _, hole := range stmt.Params {
		if f := findFunction(hole.Text); f != nil {
			return u.src.Errorf(hole, "%q is a function of the language, %s; give the hole another name", hole.Text, f.usage)
		}
		d.params = append(d.params, hole.Text)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.names[name]
	s.names[name] = d
	if old != nil {
		s.forget()
	}
	// Write it out once, to see that it can be.
	e := newExpander(s, u.src)
	if err := e.check(d); err != nil {
		if old != nil {
			s.names[name] = old
			s.forget()
		} else {
			delete(s.names, name)
		}
		return err
	}
	if old == nil {
		s.order = append(s.order, name)
	} else {
		s.relabel()
	}
	s.label(d)
	return nil
}

// forget marks what all names were written out to as out of date.
func (s *Session) forget() {
	for _, d := range s.names {
		d.checked.Store(nil)
		if w := d.written.Load(); w != nil {
			d.written.Store(&writing{w.value, true})
		}
	}
}

// label notes that a definition's name stands for an atom, if it does.
func (s *Session) label(d *definition) {
	v, ok := d.known()
	if !ok || v.kind != formulaValue || v.t.op != termAtom {
		return
	}
	key := v.t.atom.key
	if !slices.Contains(s.labels[key], d.name) {
		s.labels[key] = append(s.labels[key], d.name)
	}
}

// relabel notes it for all names anew, after one was redefined.
func (s *Session) relabel() {
	s.labels = map[string][]string{}
	for _, name := range s.order {
		d := s.names[name]
		if d.params != nil {
			continue
		}
		if _, ok := d.known(); !ok {
			// What no longer holds together labels nothing; using it
			// will say why.
			if _, err := newExpander(s, d.src).definition(d); err != nil {
				continue
			}
		}
		s.label(d)
	}
}

// lookup finds what a name stands for, and otherwise says what is near.
func (s *Session) lookup(src *syntax.Source, n *syntax.Name, holes map[string]value) (*definition, error) {
	if d := s.names[n.Text]; d != nil {
		return d, nil
	}
	if f := findFunction(n.Text); f != nil {
		return nil, src.Errorf(n, "%q is a function; write %s", n.Text, f.usage)
	}
	switch n.Text {
	case "help":
		return nil, src.Errorf(n, `no event or formula is called "help"; try %%help`)
	case "exit", "quit":
		return nil, src.Errorf(n, "no event or formula is called %q; at a prompt, Ctrl-D or %%quit leaves", n.Text)
	}
	known := s.known(holes)
	if near := nearest.Name(n.Text, known); near != "" {
		return nil, src.Errorf(n, "no event or formula is called %q; did you mean %q?", n.Text, near)
	}
	return nil, src.Errorf(n, `no event or formula is called %q; define it first, as in %s = M("prefix", "target")`, n.Text, n.Text)
}

// known lists what a name may be: holes, the session's names, functions.
func (s *Session) known(holes map[string]value) []string {
	var known []string
	for h := range holes {
		known = append(known, h)
	}
	slices.Sort(known)
	known = append(known, s.order...)
	for _, f := range functions {
		known = append(known, f.name)
	}
	return known
}

// message returns what an error says without the place that it names.
func message(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Msg
	}
	return err.Error()
}
