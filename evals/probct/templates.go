package probct

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// DefaultTemplates is the text of the published templates.
//
//go:embed templates.txt
var DefaultTemplates string

// Templates are the texts that make words statements.
type Templates struct {
	texts map[string]string // by "subset.hole.kind"
	Text  string            // as they were read
}

const maxTemplates = 1 << 20

// ReadTemplates reads a file of templates. What it leaves out is taken from the
// default ones.
func ReadTemplates(path string) (*Templates, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading templates: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTemplates+1))
	if err != nil {
		return nil, fmt.Errorf("reading templates: %w", err)
	}
	if len(text) > maxTemplates {
		return nil, fmt.Errorf("reading templates: %s has more than %d bytes", path, maxTemplates)
	}
	t, err := ParseTemplates(path, string(text))
	if err != nil {
		return nil, fmt.Errorf("reading templates: %w", err)
	}
	return t, nil
}

// ParseTemplates reads templates; name is what messages call them.
func ParseTemplates(name, text string) (*Templates, error) {
	t := &Templates{texts: make(map[string]string), Text: text}
	if text != DefaultTemplates {
		d, err := ParseTemplates("the default templates", DefaultTemplates)
		if err != nil {
			return nil, err
		}
		t.texts = d.texts
	}
	known := make(map[string]bool)
	for key := range t.texts {
		known[key] = true
	}
	seen := make(map[string]int)
	for i, line := range strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		bad := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", name, i+1, fmt.Sprintf(format, args...))
		}
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !ok:
			return nil, bad("a template is SUBSET.HOLE.KIND = TEXT")
		case len(known) > 0 && !known[key]:
			return nil, bad("there is no template %q", key)
		case seen[key] > 0:
			return nil, bad("%s stands in line %d already", key, seen[key])
		case value == "":
			return nil, bad("%s has no text", key)
		}
		if _, err := expand(value, func(string) (string, error) { return "", nil }); err != nil {
			return nil, bad("%v", err)
		}
		seen[key] = i + 1
		t.texts[key] = value
	}
	return t, nil
}

// placeholders are what may stand in braces.
var placeholders = []string{"x", "X", "A x", "y1", "a", "the"}

// expand puts values in the place of placeholders.
func expand(text string, value func(placeholder string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return strings.TrimSpace(b.String()), nil
		}
		name, rest, ok := strings.Cut(after, "}")
		if !ok {
			return "", errors.New("a { has no }")
		}
		known := false
		for _, p := range placeholders {
			known = known || name == p
		}
		if !known {
			return "", fmt.Errorf("{%s} is none of {%s}", name, strings.Join(placeholders, "}, {"))
		}
		v, err := value(name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
		text = rest
	}
}

// noun is a word as it stands in a statement.
type noun struct {
	text   string
	number Number
	the    bool // a place with an article in its name, such as the Netherlands
}

// write makes the text of a subset's hole: x is what it is about, targets are the words
// that may follow.
func (t *Templates) write(subset, hole string, x, y1 noun, targets ...noun) (string, error) {
	kind := x.number
	if strings.HasSuffix(hole, "2") { // of y1, not of x
		kind = y1.number
	}
	text, ok := t.texts[subset+"."+hole+"."+kind.String()]
	if !ok {
		return "", fmt.Errorf("whether %q is counted is not clear", x.text)
	}
	return expand(text, func(placeholder string) (string, error) {
		switch placeholder {
		case "x":
			return x.text, nil
		case "X":
			if x.the {
				return "The " + x.text, nil
			}
			return Capital(x.text), nil
		case "A x":
			return Capital(Article(x.text)) + " " + x.text, nil
		case "y1":
			return y1.text, nil
		case "the":
			for _, y := range targets[1:] {
				if y.the != targets[0].the {
					return "", fmt.Errorf("only one of %q and %q has \"the\"", targets[0].text, y.text)
				}
			}
			if targets[0].the {
				return "the", nil
			}
			return "", nil
		default: // "a"
			article := ""
			for i, y := range targets {
				var own string
				switch y.number {
				case Count:
					own = Article(y.text)
				case Mass:
				default:
					return "", fmt.Errorf("whether %q is counted is not clear", y.text)
				}
				if i > 0 && own != article {
					return "", fmt.Errorf("%q and %q need different articles", targets[0].text, y.text)
				}
				article = own
			}
			return article, nil
		}
	})
}
