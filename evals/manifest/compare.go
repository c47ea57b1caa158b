package manifest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/modellog/modellog/lm"
)

// Kind says what differs between two manifests.
type Kind int

const (
	OfCommand     Kind = iota
	OfProgram          // version, commit, Go, engine
	OfMachine          // what may change the last digits
	OfModel            // which models, or how one was opened
	OfCalibration      // which calibrations
	OfData             // which files, or what is in one
	OfOption
	OfSeed
)

// Difference is something in which two manifests differ.
type Difference struct {
	Kind Kind
	Text string // in words, such as "the data file x.jsonl has changed since"
}

func (d Difference) String() string { return d.Text }

// Compare says in what a run now differs from one then. Counts, times and what is
// only in a path are not compared: a file that was moved is the same file. Which differences
// matter is for the caller to say: to go on with a run all but those of the machine,
// to compare two models not those of the models.
func Compare(then, now *Manifest) []Difference {
	then, now = then.public(), now.public()
	var out differences
	out.value(OfCommand, "the command", then.Command, now.Command)
	out.value(OfProgram, "modellog's version", then.Program.Version, now.Program.Version)
	out.value(OfProgram, "modellog's commit", then.Program.Commit, now.Program.Commit)
	if now.Program.Modified && then.Program.Modified {
		out.add(OfProgram, "modellog was built from sources that are not committed, which may have changed since")
	} else {
		out.value(OfProgram, "the state of modellog's sources", modified(then), modified(now))
	}
	out.value(OfProgram, "Go's version", then.Program.Go, now.Program.Go)
	out.value(OfProgram, "the engine", then.Program.Engine, now.Program.Engine)
	out.value(OfMachine, "the system", then.Machine.OS+"/"+then.Machine.Arch, now.Machine.OS+"/"+now.Machine.Arch)
	out.value(OfMachine, "the processor", then.Machine.CPU, now.Machine.CPU)
	out.value(OfMachine, "the processor's list of features", strings.Join(then.Machine.Features, " "), strings.Join(now.Machine.Features, " "))
	out.models(then.Models, now.Models)
	out.calibrations(then.Calibrations, now.Calibrations)
	out.data(then.Data, now.Data)
	out.mapped(OfOption, "the option", then.Options, now.Options)
	out.mapped(OfSeed, "the seed of", texts(then.Seeds), texts(now.Seeds))
	return out
}

// OtherWeights says in words how a model that is open now differs from the run's of the same name in what
// all results depend on: other weights, or another precision. It is "" where it does not, and where the
// run has no model of that name.
func (m *Manifest) OtherWeights(now lm.Info) string {
	open := &Manifest{}
	open.AddModel(now)
	b := open.public().Models[0]
	var d differences
	for _, a := range m.public().Models {
		if a.Name == b.Name {
			d.weights(a, b)
		}
	}
	if len(d) == 0 {
		return ""
	}
	return d[0].Text
}

type differences []Difference

func (d *differences) add(k Kind, format string, args ...any) {
	*d = append(*d, Difference{k, fmt.Sprintf(format, args...)})
}

// value compares two texts.
func (d *differences) value(k Kind, what, then, now string) {
	switch {
	case then == now:
	case then == "":
		d.add(k, "%s is %s, and was not known then", what, now)
	case now == "":
		d.add(k, "%s was %s, and is not known now", what, then)
	default:
		d.add(k, "%s was %s and is %s", what, then, now)
	}
}

func modified(m *Manifest) string {
	if m.Program.Modified {
		return "changed after the commit"
	}
	return "as committed"
}

func (d *differences) models(then, now []Model) {
	find := func(ms []Model, name string) *Model {
		if i := slices.IndexFunc(ms, func(m Model) bool { return m.Name == name }); i >= 0 {
			return &ms[i]
		}
		return nil
	}
	for _, a := range then {
		b := find(now, a.Name)
		if b == nil {
			d.add(OfModel, "the model %s was asked then and is not now", a.Name)
			continue
		}
		d.weights(a, *b)
		of := " of " + a.Name
		d.value(OfModel, "the backend"+of, a.Backend, b.Backend)
		d.value(OfModel, "the revision"+of, a.Revision, b.Revision)
		d.value(OfModel, "the quantisation"+of, a.Quantization, b.Quantization)
		d.value(OfModel, "the vocabulary"+of, fmt.Sprint(a.Vocabulary), fmt.Sprint(b.Vocabulary))
		d.value(OfModel, "the context"+of, fmt.Sprint(a.Context), fmt.Sprint(b.Context))
		if a.Whole != b.Whole {
			d.add(OfModel, "%s is read whole by only one of the two; the other has intervals", a.Name)
		}
	}
	for _, b := range now {
		if find(then, b.Name) == nil {
			d.add(OfModel, "the model %s is asked now and was not then", b.Name)
		}
	}
}

// weights compares two models of one name in what all results depend on.
func (d *differences) weights(a, b Model) {
	if a.Digest != b.Digest {
		d.add(OfModel, "the weights of %s have changed since (digest %s then, %s now)", a.Name, short(a.Digest), short(b.Digest))
	}
	d.value(OfModel, "the precision of "+a.Name, a.Precision, b.Precision)
}

// short is as much of a digest as tells it from another one.
func short(digest string) string {
	if digest == "" {
		return "unknown"
	}
	return digest[:min(len(digest), 12)]
}

func (d *differences) calibrations(then, now []Calibration) {
	names := func(cs []Calibration) string {
		var out []string
		for _, c := range cs {
			name := c.Method
			if c.P != 0 {
				name += fmt.Sprintf(" p = %g", c.P)
			}
			out = append(out, name)
		}
		slices.Sort(out)
		return strings.Join(slices.Compact(out), ", ")
	}
	switch a, b := names(then), names(now); {
	case a == b:
	case a == "":
		d.add(OfCalibration, "the calibrations are %s, and there were none then", b)
	case b == "":
		d.add(OfCalibration, "the calibrations were %s, and there are none now", a)
	default:
		d.add(OfCalibration, "the calibrations were %s and are %s", a, b)
	}
}

func (d *differences) data(then, now []Data) {
	known := make([]bool, len(now))
	match := func(is func(Data) bool) int {
		for i, b := range now {
			if !known[i] && is(b) {
				known[i] = true
				return i
			}
		}
		return -1
	}
	var rest []Data
	for _, a := range then {
		if match(func(b Data) bool { return a.SHA256 == b.SHA256 }) < 0 {
			rest = append(rest, a)
		}
	}
	for _, a := range rest {
		i := match(func(b Data) bool { return a.Path == b.Path })
		if i < 0 {
			i = match(func(b Data) bool { return path.Base(a.Path) == path.Base(b.Path) })
		}
		switch {
		case i < 0:
			d.add(OfData, "the data file %s was read then and is not now", a.Path)
		case a.Rows == 0 || now[i].Rows == 0: // not counted: before a run its rows are not
			d.add(OfData, "the data file %s has changed since (digest %s then, %s now)", a.Path, short(a.SHA256), short(now[i].SHA256))
		case a.Rows != now[i].Rows:
			d.add(OfData, "the data file %s has changed since (%d rows then, %d now)", a.Path, a.Rows, now[i].Rows)
		default:
			d.add(OfData, "the data file %s has changed since (%d rows as then, digest %s then, %s now)", a.Path, a.Rows, short(a.SHA256), short(now[i].SHA256))
		}
	}
	for i, b := range now {
		if !known[i] {
			d.add(OfData, "the data file %s is read now and was not then", b.Path)
		}
	}
}

func (d *differences) mapped(k Kind, what string, then, now map[string]string) {
	names := slices.Sorted(maps.Keys(then))
	for name := range maps.Keys(now) {
		if _, ok := then[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		a, before := then[name]
		b, after := now[name]
		switch {
		case !before:
			d.add(k, "%s %s is %q, and was not set then", what, name, b)
		case !after:
			d.add(k, "%s %s was %q, and is not set now", what, name, a)
		case a != b:
			d.add(k, "%s %s was %q and is %q", what, name, a, b)
		}
	}
}

func texts(seeds map[string]uint64) map[string]string {
	out := make(map[string]string)
	for k, v := range seeds {
		out[k] = fmt.Sprint(v)
	}
	return out
}
