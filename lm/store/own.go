package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// record is what lies beside a fetched model as NAME.json.
type record struct {
	Name    string    `json:"name"`
	SHA256  string    `json:"sha256"`
	Size    int64     `json:"size"`
	Licence string    `json:"licence"`
	Notice  string    `json:"notice,omitempty"`
	Source  string    `json:"source"`
	Fetched time.Time `json:"fetched"`
}

const maxRecord = 1 << 20

// A name is a file's name, so it has no separators and does not begin with a
// dot.
var nameRule = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._:+@-]{0,199}$`)

func validName(name string) bool { return nameRule.MatchString(name) }

func (s *Store) modelPath(name, suffix string) string {
	return filepath.Join(s.ModelsDir(), name+suffix)
}

// ownModel is the model of that valid name; false if there is none.
func (s *Store) ownModel(name string) (Model, bool, error) {
	path := s.modelPath(name, ".gguf")
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Model{}, false, nil
	}
	if err != nil {
		return Model{}, false, err
	}
	if !fi.Mode().IsRegular() {
		return Model{}, false, fmt.Errorf("%s is not a file", path)
	}
	m := Model{Name: name, Origin: Own, Path: path, Size: fi.Size(), Modified: fi.ModTime()}
	m.Digest, _ = s.rememberedDigest(path)

	var r record
	switch err := readJSON(s.modelPath(name, ".json"), maxRecord, &r); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		s.warn(fmt.Errorf("model %s: its record is passed over: %w", name, err))
	case r.Size != fi.Size() || m.Digest != "" && r.SHA256 != m.Digest:
		s.warn(fmt.Errorf("model %s: %s is no longer the file that was fetched; its licence and source are not known", name, path))
	default:
		m.Licence, m.Source = r.Licence, r.Source
	}
	return m, true, nil
}

func (s *Store) ownModels() []Model {
	entries, err := os.ReadDir(s.ModelsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.warn(fmt.Errorf("listing models: %w", err))
	}
	var models []Model
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".gguf")
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		if !validName(name) {
			s.warn(fmt.Errorf("%s is passed over: a model's name has only letters, digits and ._:+@-", s.modelPath(name, ".gguf")))
			continue
		}
		m, ok, err := s.ownModel(name)
		if err != nil {
			s.warn(fmt.Errorf("model %s is passed over: %w", name, err))
		}
		if ok {
			models = append(models, m)
		}
	}
	return models
}
