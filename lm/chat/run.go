package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nikolalohinski/gonja/v2/builtins"
	structures "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	jinja2 "github.com/nikolalohinski/gonja/v2/tokens"
)

// What templates may use. The rest of what Gonja has reads files, makes much out
// of little, or changes values in place, so that they may come to hold themselves.
var (
	knownStructures = []string{"for", "if", "set", "macro", "raw", "break", "continue", "with", "filter"}
	knownFilters    = []string{
		"abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items", "last", "length", "list", "lower", "map",
		"max", "min", "reject", "rejectattr", "reverse", "round", "safe", "select", "selectattr", "sort", "string", "sum", "title", "trim", "unique", "upper",
	}
	knownStrings = []string{
		"capitalize", "isalnum", "isalpha", "isdigit", "islower", "isspace", "isupper", "lower", "removeprefix", "removesuffix", "splitlines", "title", "upper",
	}
	knownDicts = []string{"keys", "values", "items", "get", "copy"}
	knownLists = []string{"copy"}
)

// run watches one rendering's limits.
type run struct {
	ctx     context.Context
	until   time.Time
	limit   int // bytes of a value and of the output
	depth   int // of macros
	output  strings.Builder
	stopped error // why the run was ended
}

// stop is what a panic ends the interpreter by, which has no other way out.
type stop struct{ err error }

func (r *run) stop(err error) {
	r.stopped = err
	panic(&stop{err})
}

func (r *run) check() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if time.Now().After(r.until) {
		return fmt.Errorf("the model's chat template takes more than %v; it may never end", maxTime)
	}
	return nil
}

func (r *run) tick() {
	if err := r.check(); err != nil {
		r.stop(err)
	}
}

func (r *run) tooLarge() {
	r.stop(fmt.Errorf("the model's chat template makes more than %d bytes, or nests values too deeply", r.limit))
}

// Write takes the interpreter's output.
func (r *run) Write(p []byte) (int, error) {
	r.tick()
	if r.output.Len()+len(p) > r.limit {
		r.tooLarge()
	}
	return r.output.Write(p)
}

// allow ends the run where a value is too large, or holds itself.
func (r *run) allow(v any) {
	left := r.limit
	if !r.measure(reflect.ValueOf(v), &left, 0) {
		r.tooLarge()
	}
}

func (r *run) measure(v reflect.Value, left *int, depth int) bool {
	if *left -= 8; *left < 0 || depth > maxDepth {
		return false
	}
	if !v.IsValid() {
		return true
	}
	if v.CanInterface() {
		switch x := v.Interface().(type) {
		case *exec.Value:
			return x == nil || r.measure(x.Val, left, depth+1)
		case *exec.Dict:
			for _, p := range x.Pairs {
				if !r.measure(reflect.ValueOf(p.Key), left, depth+1) || !r.measure(reflect.ValueOf(p.Value), left, depth+1) {
					return false
				}
			}
			return true
		}
	}
	switch v.Kind() {
	case reflect.String:
		*left -= v.Len()
	case reflect.Slice, reflect.Array:
		if v.Len() > maxItems {
			return false
		}
		for i := range v.Len() {
			if !r.measure(v.Index(i), left, depth+1) {
				return false
			}
		}
	case reflect.Map:
		for i := v.MapRange(); i.Next(); {
			if !r.measure(i.Key(), left, depth+1) || !r.measure(i.Value(), left, depth+1) {
				return false
			}
		}
	case reflect.Interface, reflect.Pointer:
		if !v.IsNil() {
			return r.measure(v.Elem(), left, depth+1)
		}
	}
	return *left >= 0
}

func (r *run) value(v *exec.Value) *exec.Value {
	if v != nil {
		r.allow(v)
	}
	return v
}

// arguments checks what a filter or method is given, and that the interpreter goes
// no further than its time.
func (r *run) arguments(in any, args *exec.VarArgs) {
	r.tick()
	r.allow(in)
	for _, a := range args.Args {
		r.value(a)
	}
	for _, a := range args.KwArgs {
		r.value(a)
	}
}

// watched is a statement that lets the run look at the clock.
type watched struct {
	exec.ControlStructure
	r     *run
	after func(*exec.Renderer)
}

func (w *watched) Execute(renderer *exec.Renderer, tag *nodes.ControlStructureBlock) error {
	w.r.tick()
	w.r.written(renderer)
	err := w.ControlStructure.Execute(renderer, tag)
	if err == nil && w.after != nil {
		w.after(renderer)
	}
	return err
}

// written ends the run where what a macro or a block writes, which is kept in
// memory of its own, becomes too much.
func (r *run) written(renderer *exec.Renderer) {
	if kept, ok := renderer.Output.(interface{ Len() int }); ok && kept.Len() > r.limit {
		r.tooLarge()
	}
}

// step enters or leaves a macro.
type step struct {
	at    *jinja2.Token
	r     *run
	by    int
	macro *nodes.Macro
}

func (s *step) Position() *jinja2.Token { return s.at }
func (s *step) String() string          { return "macro" }
func (s *step) Execute(renderer *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	s.r.tick()
	s.r.written(renderer)
	if s.by > 0 {
		for _, argument := range s.macro.Kwargs {
			if key, ok := argument.Key.(*nodes.String); ok {
				v, _ := renderer.Environment.Context.Get(key.Val)
				s.r.allow(v)
			}
		}
		for _, name := range []string{s.macro.VarArgsName, s.macro.KwArgsName} {
			v, _ := renderer.Environment.Context.Get(name)
			s.r.allow(v)
		}
	}
	if s.r.depth += s.by; s.r.depth > maxDepth {
		s.r.stop(fmt.Errorf("macros of the model's chat template call each other more than %d deep", maxDepth))
	}
	return nil
}

// structures are the statements.
func (r *run) structures() *exec.ControlStructureSet {
	all := make(map[string]parser.ControlStructureParser)
	for _, name := range knownStructures {
		parse, ok := structures.All.Get(name)
		if !ok {
			continue
		}
		all[name] = func(p, args *parser.Parser) (nodes.ControlStructure, error) {
			first := args.Current()
			s, err := parse(p, args)
			if err != nil {
				return nil, err
			}
			w := &watched{r: r}
			var ok bool
			if w.ControlStructure, ok = s.(exec.ControlStructure); !ok {
				return nil, fmt.Errorf("the statement %q does nothing", name)
			}
			switch s := s.(type) {
			case *structures.ForControlStructure:
				if s.Recursive {
					return nil, errors.New("a for is recursive, which is not supported")
				}
			case *structures.MacroControlStructure:
				block := func(by int) nodes.Node {
					return &nodes.ControlStructureBlock{Location: s.Location, Name: name, ControlStructure: &step{at: s.Location, r: r, by: by, macro: s.Macro}}
				}
				s.Wrapper.Nodes = append(append([]nodes.Node{block(1)}, s.Wrapper.Nodes...), block(-1))
			case *structures.SetControlStructure:
				// What grows from turn to turn is kept in variables.
				if first != nil {
					w.after = func(renderer *exec.Renderer) {
						v, _ := renderer.Environment.Context.Get(first.Val)
						r.allow(v)
					}
				}
			}
			return w, nil
		}
	}
	// transformers' own, which marks what a model is trained on.
	all["generation"] = func(p, args *parser.Parser) (nodes.ControlStructure, error) {
		at := args.Current()
		body, _, err := p.WrapUntil("endgeneration")
		if err != nil {
			return nil, err
		}
		return &watched{r: r, ControlStructure: &section{at: at, body: body}}, nil
	}
	return exec.NewControlStructureSet(all)
}

// section is a part of the template that is as if it were none.
type section struct {
	at   *jinja2.Token
	body *nodes.Wrapper
}

func (s *section) Position() *jinja2.Token { return s.at }
func (s *section) String() string          { return "generation" }
func (s *section) Execute(renderer *exec.Renderer, _ *nodes.ControlStructureBlock) error {
	return renderer.ExecuteIfWrapper(s.body)
}

// environment is all that a template can call.
func (r *run) environment(set *exec.ControlStructureSet) *exec.Environment {
	filters := make(map[string]exec.FilterFunction)
	for _, name := range knownFilters {
		if f, ok := builtins.Filters.Get(name); ok {
			filters[name] = func(e *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
				r.arguments(in, args)
				return r.value(f(e, in, args))
			}
		}
	}
	for name, f := range map[string]func(in *exec.Value, args *exec.VarArgs) (any, error){"replace": r.replace, "join": r.join, "tojson": r.toJSON, "indent": r.indent} {
		filters[name] = func(_ *exec.Evaluator, in *exec.Value, args *exec.VarArgs) *exec.Value {
			r.arguments(in, args)
			out, err := f(in, args)
			if err != nil {
				return exec.AsValue(fmt.Errorf("%s: %w", name, err))
			}
			return r.value(exec.AsValue(out))
		}
	}
	texts := watch(r, builtins.Methods.Str, knownStrings)
	for name, f := range r.methods() {
		texts[name] = func(self string, in *exec.Value, args *exec.VarArgs) (any, error) {
			r.arguments(self, args)
			v, err := f(in, args)
			r.allow(v)
			return v, err
		}
	}
	// A method that does not exist is an error of the interpreter's.
	return &exec.Environment{
		Filters:           exec.NewFilterSet(filters),
		Tests:             builtins.Tests,
		ControlStructures: set,
		Methods: exec.Methods{
			Bool:  exec.NewMethodSet(map[string]exec.Method[bool]{}),
			Int:   exec.NewMethodSet(map[string]exec.Method[int]{}),
			Float: exec.NewMethodSet(map[string]exec.Method[float64]{}),
			Str:   exec.NewMethodSet(texts),
			Dict:  exec.NewMethodSet(watch(r, builtins.Methods.Dict, knownDicts)),
			List:  exec.NewMethodSet(watch(r, builtins.Methods.List, knownLists)),
		},
		Context: exec.NewContext(map[string]any{
			"raise_exception": func(args *exec.VarArgs) *exec.Value {
				reason := "no reason given"
				if len(args.Args) > 0 {
					reason = plain(errors.New(args.Args[0].String())).Error()
				}
				r.stop(&RefusalError{Reason: reason})
				return nil
			},
			"strftime_now": func(args *exec.VarArgs) *exec.Value {
				r.tick()
				if len(args.Args) != 1 {
					return exec.AsValue(errors.New("strftime_now takes a format"))
				}
				return exec.AsValue(date(args.Args[0].String()))
			},
			"namespace": func(args *exec.VarArgs) map[string]any {
				r.tick()
				space := make(map[string]any, len(args.KwArgs))
				for key, v := range args.KwArgs {
					space[key] = r.value(v)
				}
				return space
			},
			"dict": func(args *exec.VarArgs) map[string]any {
				r.tick()
				d := make(map[string]any, len(args.KwArgs))
				for key, v := range args.KwArgs {
					d[key] = r.value(v)
				}
				return d
			},
			"range": r.numbers,
		}),
	}
}

// watch takes methods over with their arguments and results checked.
func watch[I any](r *run, from *exec.MethodSet[I], names []string) map[string]exec.Method[I] {
	out := make(map[string]exec.Method[I])
	for _, name := range names {
		if f, ok := from.Get(name); ok {
			out[name] = func(self I, in *exec.Value, args *exec.VarArgs) (any, error) {
				r.arguments(self, args)
				v, err := f(self, in, args)
				r.allow(v)
				return v, err
			}
		}
	}
	return out
}

// numbers is range. (Gonja's own leaves goroutines behind.)
func (r *run) numbers(args *exec.VarArgs) *exec.Value {
	r.tick()
	var n []int
	for _, a := range args.Args {
		if !a.IsInteger() {
			return exec.AsValue(errors.New("range takes whole numbers"))
		}
		n = append(n, a.Integer())
	}
	start, end, by := 0, 0, 1
	switch len(n) {
	case 1:
		end = n[0]
	case 2:
		start, end = n[0], n[1]
	case 3:
		start, end, by = n[0], n[1], n[2]
	}
	if by == 0 || len(n) == 0 || len(n) > 3 {
		return exec.AsValue(errors.New("range takes up to three whole numbers, of which the last is not 0"))
	}
	list := []int{}
	for i := start; by > 0 && i < end || by < 0 && i > end; i += by {
		if list = append(list, i); len(list) > maxItems {
			r.tooLarge()
		}
	}
	return exec.AsValue(list)
}

func (r *run) replace(in *exec.Value, args *exec.VarArgs) (any, error) {
	if len(args.Args) < 2 || len(args.Args) > 3 || len(args.KwArgs) > 0 {
		return nil, errors.New("replace takes what is replaced and what by")
	}
	text, old, by, most := in.String(), args.Args[0].String(), args.Args[1].String(), -1
	if len(args.Args) == 3 {
		most = args.Args[2].Integer()
	}
	if n := strings.Count(text, old); n > 0 && len(by) > 0 && n > r.limit/len(by) {
		r.tooLarge()
	}
	return strings.Replace(text, old, by, most), nil
}

func (r *run) join(in *exec.Value, args *exec.VarArgs) (any, error) {
	between := ""
	if len(args.Args) > 0 {
		between = args.Args[0].String()
	} else if v, ok := args.KwArgs["d"]; ok {
		between = v.String()
	}
	if len(args.Args) > 1 || args.KwArgs["attribute"] != nil {
		return nil, errors.New("join takes what stands in between")
	}
	if !in.IsIterable() {
		return nil, errors.New("what is joined is no list")
	}
	var b strings.Builder
	in.Iterate(func(i, _ int, item, _ *exec.Value) bool {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(item.String())
		if b.Len() > r.limit {
			r.tooLarge()
		}
		return true
	}, func() {})
	return b.String(), nil
}

// indent puts spaces in front of all lines but the first, and of those with
// nothing in them.
func (r *run) indent(in *exec.Value, args *exec.VarArgs) (any, error) {
	width := 4
	switch {
	case len(args.Args) == 1 && args.Args[0].IsInteger() && len(args.KwArgs) == 0:
		width = args.Args[0].Integer()
	case len(args.Args) > 0 || len(args.KwArgs) > 0:
		return nil, errors.New("indent takes a number of spaces")
	}
	if width < 0 || width > maxDepth {
		return nil, fmt.Errorf("indent takes a number of spaces up to %d", maxDepth)
	}
	lines := strings.Split(in.String(), "\n")
	for i, line := range lines {
		if i > 0 && line != "" {
			lines[i] = strings.Repeat(" ", width) + line
		}
	}
	return strings.Join(lines, "\n"), nil
}

// toJSON is transformers' tojson: other scripts as they are, and no HTML in mind.
func (r *run) toJSON(in *exec.Value, args *exec.VarArgs) (any, error) {
	indent := ""
	for key, v := range args.KwArgs {
		switch {
		case key == "indent" && v.IsInteger() && v.Integer() >= 0 && v.Integer() <= 8:
			indent = strings.Repeat(" ", v.Integer())
		case key == "ensure_ascii" && !v.IsTrue():
		default:
			return nil, fmt.Errorf("the argument %q is not supported", key)
		}
	}
	if len(args.Args) > 0 {
		return nil, errors.New("arguments must be named")
	}
	var b strings.Builder
	if err := writeJSON(&b, in.ToGoSimpleType(false), indent, "\n"); err != nil {
		return nil, err
	}
	return b.String(), nil
}

// writeJSON writes as Python does: with a space after commas and colons. The keys
// of a dictionary are in alphabetical order, since their own is not kept.
func writeJSON(b *strings.Builder, v any, indent, line string) error {
	list := func(open, shut string, n int, item func(i int) error) error {
		b.WriteString(open)
		for i := range n {
			if i > 0 {
				b.WriteString(",")
				if indent == "" {
					b.WriteString(" ")
				}
			}
			if indent != "" {
				b.WriteString(line + indent)
			}
			if err := item(i); err != nil {
				return err
			}
		}
		if indent != "" && n > 0 {
			b.WriteString(line)
		}
		b.WriteString(shut)
		return nil
	}
	switch v := v.(type) {
	case error:
		return v
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		return list("{", "}", len(keys), func(i int) error {
			if err := writeJSON(b, keys[i], "", ""); err != nil {
				return err
			}
			b.WriteString(": ")
			return writeJSON(b, v[keys[i]], indent, line+indent)
		})
	case []any:
		return list("[", "]", len(v), func(i int) error { return writeJSON(b, v[i], indent, line+indent) })
	}
	var one strings.Builder
	e := json.NewEncoder(&one)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(b, strings.TrimSuffix(one.String(), "\n"))
	return err
}

// date writes the one day that there is in the format of strftime.
func date(format string) string {
	day := time.Date(2024, time.July, 26, 0, 0, 0, 0, time.UTC)
	layouts := map[byte]string{
		'd': "02", 'b': "Jan", 'B': "January", 'Y': "2006", 'm': "01", 'y': "06", 'A': "Monday", 'a': "Mon", 'H': "15", 'M': "04", 'S': "05", 'I': "03", 'p': "PM", 'j': "002",
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		if layout, ok := layouts[format[i]]; ok {
			b.WriteString(day.Format(layout))
		} else {
			b.WriteByte(format[i])
		}
	}
	return b.String()
}
