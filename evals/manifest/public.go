package manifest

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// public returns a copy whose texts do not tell where it was made.
func (m *Manifest) public() *Manifest {
	p := newPlace()
	out := *m
	out.Seconds = math.Round(out.Seconds*1000) / 1000
	out.Started = out.Started.UTC()
	out.Machine.Features = slices.Clone(m.Machine.Features)
	out.Models = slices.Clone(m.Models)
	out.Calibrations = slices.Clone(m.Calibrations)
	out.Data = slices.Clone(m.Data)
	out.Options = maps.Clone(m.Options)
	out.Counts = slices.Clone(m.Counts)
	for i := range out.Counts {
		out.Counts[i].Reasons = slices.Clone(out.Counts[i].Reasons)
	}
	for i, d := range out.Data {
		out.Data[i].Path = p.path(d.Path)
	}
	p.walk(reflect.ValueOf(&out).Elem())
	return &out
}

// place is where the program runs.
type place struct{ dir, home string }

func newPlace() place {
	var p place
	if dir, err := os.Getwd(); err == nil && dir != string(filepath.Separator) {
		p.dir = dir
	}
	if home, err := os.UserHomeDir(); err == nil && len(home) > 1 {
		p.home = home
	}
	return p
}

// path returns a path from the working directory, or its last part where it leads elsewhere.
func (p place) path(path string) string {
	abs := path
	if !filepath.IsAbs(abs) {
		abs = filepath.Join(p.dir, path)
	}
	if rel, err := filepath.Rel(p.dir, abs); p.dir != "" && err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(abs)
}

var (
	address = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^/\s#?\x00]+)([^\s#?\x00]*)(\?[^\s#\x00]*)?`)
	several = regexp.MustCompile(`\+(https?://)`) // between the addresses of a model that several servers have
	local   = regexp.MustCompile(`^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$`)
	rooted  = regexp.MustCompile(`(^|[\s"'=:,;(\[{<])(/[^/\s"',;:)\]}>]+(?:/[^\s"',;:)\]}>]*)+|[A-Za-z]:\\[^\s"',;)\]}>]+)`)
)

// text returns a text without addresses of other machines and without absolute paths.
func (p place) text(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd") // as JSON has it
	if filepath.IsAbs(s) && strings.Count(s, string(filepath.Separator)) > 1 && !strings.ContainsAny(s, "\n\"'") {
		return p.path(s)
	}
	s = several.ReplaceAllString(s, "+\x00$1")
	s = address.ReplaceAllStringFunc(s, func(u string) string {
		m := address.FindStringSubmatch(u)
		if m[1] == "file://" {
			return m[1] + p.path(m[2]+m[3])
		}
		if !local.MatchString(m[2]) {
			m[2] = "server"
		}
		return m[1] + m[2] + m[3]
	})
	s = strings.ReplaceAll(s, "\x00", "")
	if p.dir != "" {
		s = strings.ReplaceAll(s, p.dir+string(filepath.Separator), "")
	}
	if p.home != "" {
		s = strings.ReplaceAll(s, p.home+string(filepath.Separator), "~"+string(filepath.Separator))
	}
	return rooted.ReplaceAllStringFunc(s, func(match string) string {
		m := rooted.FindStringSubmatch(match)
		if i := strings.LastIndexAny(m[2], `/\`); i >= 0 {
			return m[1] + m[2][i+1:]
		}
		return match
	})
}

// walk cleans all texts within a value.
func (p place) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(p.text(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				p.walk(f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			p.walk(v.Index(i))
		}
	case reflect.Map:
		if v.Type().Elem().Kind() != reflect.String {
			return
		}
		for _, k := range v.MapKeys() {
			v.SetMapIndex(k, reflect.ValueOf(p.text(v.MapIndex(k).String())))
		}
	}
}
