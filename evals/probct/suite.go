package probct

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/modellog/modellog/lang/syntax"
)

// The names of a suite's own files.
const (
	LogicFile     = "suite.logic"     // the schemas
	DecisionsFile = "decisions.jsonl" // every candidate with its filter decisions
	CardFile      = "card.md"         // the data card
	ManifestFile  = "manifest.json"   // sources, digests, seed, counts, versions
)

// Logic is the text of the published suite's LogicFile.
//
//go:embed suite.logic
var Logic string

// factsSuffix is what the schema of a subset's true statements adds to its name.
const factsSuffix = "_facts"

// The five subsets of the published suite, as their schemas are called.
const (
	Transitivity        = "transitivity"
	ForwardImplication  = "forward_implication"
	NegationConsistency = "negation_consistency"
	MutualExclusivity   = "mutual_exclusivity"
	SpatialExclusivity  = "spatial_exclusivity"
)

// Published returns the published subsets' names in the order of the paper's tables.
func Published() []string {
	return []string{Transitivity, ForwardImplication, NegationConsistency, MutualExclusivity, SpatialExclusivity}
}

// Title returns what the paper's tables call a subset, and the name itself for
// a subset that the paper does not have.
func Title(name string) string {
	switch name {
	case Transitivity:
		return "Transitivity"
	case ForwardImplication:
		return "Forward Implication"
	case NegationConsistency:
		return "Negation Consistency"
	case MutualExclusivity:
		return "Mutual Exclusivity"
	case SpatialExclusivity:
		return "Spatial Exclusivity"
	}
	return name
}

// Suite is a folder of subsets.
type Suite struct {
	Dir     string
	Logic   string // the path of the suite's LogicFile
	Subsets []Subset
}

// Subset is a schema and the rows that fill its holes.
type Subset struct {
	Name       string   // the schema's name
	Title      string   // what tables call it
	Constraint string   // the schema's head, such as "forward_implication(x, y1, y2)"
	Holes      []string // the schema's holes in their order
	Facts      string   // the schema of the conjunction of a row's true statements; "" for none. Its holes are among Holes
	File       string   // the path of the rows
}

// maxLogic bounds a suite's LogicFile in bytes.
const maxLogic = 1 << 20

// Load reads which subsets the suite in a folder has. The published ones come
// first, in the paper's order, and others in that of the LogicFile. Each schema
// must have a file of rows; the rows are not read.
func Load(dir string) (*Suite, error) {
	s, err := load(dir)
	if err != nil {
		return nil, fmt.Errorf("loading the suite in %s: %w", dir, err)
	}
	return s, nil
}

func load(dir string) (*Suite, error) {
	s := &Suite{Dir: dir, Logic: filepath.Join(dir, LogicFile)}
	fi, err := os.Stat(s.Logic)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s; modellog probct build --out %s makes a suite, and modellog's source has one in evals/probct/suite", LogicFile, dir)
	}
	if err != nil {
		return nil, err
	}
	if fi.Size() > maxLogic {
		return nil, fmt.Errorf("%s has %d bytes, and at most %d are read", LogicFile, fi.Size(), maxLogic)
	}
	text, err := os.ReadFile(s.Logic)
	if err != nil {
		return nil, err
	}
	statements, err := syntax.Parse(s.Logic, string(text))
	if err != nil {
		return nil, err
	}
	schemas := make(map[string][]string)
	var names []string
	for _, st := range statements {
		d, ok := st.(*syntax.Definition)
		if !ok || len(d.Params) == 0 {
			continue
		}
		name := d.Name.Text
		if _, twice := schemas[name]; twice {
			return nil, fmt.Errorf("%s defines %s twice", LogicFile, name)
		}
		var holes []string
		for _, p := range d.Params {
			holes = append(holes, p.Text)
		}
		schemas[name] = holes
		names = append(names, name)
	}
	for _, name := range names {
		if base, ok := strings.CutSuffix(name, factsSuffix); ok && schemas[base] != nil {
			for _, h := range schemas[name] {
				if !slices.Contains(schemas[base], h) {
					return nil, fmt.Errorf("%s has the hole %s, which %s has not", name, h, base)
				}
			}
			continue
		}
		sub := Subset{
			Name: name, Title: Title(name), Holes: schemas[name],
			Constraint: name + "(" + strings.Join(schemas[name], ", ") + ")",
		}
		if schemas[name+factsSuffix] != nil {
			sub.Facts = name + factsSuffix
		}
		if sub.File, err = rowsOf(dir, name); err != nil {
			return nil, err
		}
		s.Subsets = append(s.Subsets, sub)
	}
	if len(s.Subsets) == 0 {
		return nil, fmt.Errorf("%s defines no schema", LogicFile)
	}
	place := func(name string) int {
		if i := slices.Index(Published(), name); i >= 0 {
			return i
		}
		return len(Published())
	}
	slices.SortStableFunc(s.Subsets, func(a, b Subset) int { return place(a.Name) - place(b.Name) })
	return s, nil
}

// rowsOf finds the file of a subset's rows.
func rowsOf(dir, name string) (string, error) {
	var found []string
	endings := []string{".jsonl", ".csv", ".tsv", ".parquet"}
	for _, ending := range endings {
		path := filepath.Join(dir, name+ending)
		_, err := os.Stat(path)
		switch {
		case err == nil:
			found = append(found, path)
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", fmt.Errorf("%s defines %s, and there is no file %s.jsonl (or %s) with its rows", LogicFile, name, name, strings.Join(endings[1:], ", "))
	}
	return "", fmt.Errorf("the rows of %s are in two files, %s and %s; keep one", name, filepath.Base(found[0]), filepath.Base(found[1]))
}
