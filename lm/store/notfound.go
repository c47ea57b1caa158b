package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// NotFoundError reports a name that no model on this machine has.
type NotFoundError struct {
	Name      string
	Fetchable bool   // Store.Get knows the name
	Nearest   string // a name much like it that would have worked, or ""
}

func (e *NotFoundError) Error() string {
	// The name is the user's own text and may be anything.
	shown := e.Name
	if utf8.RuneCountInString(shown) > 100 {
		shown = string([]rune(shown)[:100]) + "…"
	}
	msg := fmt.Sprintf("no model on this machine is called %q", shown)
	switch {
	case e.Fetchable:
		msg += fmt.Sprintf("; fetch it with: modellog models get %s", e.Name)
	case e.Nearest != "":
		msg += fmt.Sprintf("; did you mean %q?", e.Nearest)
	default:
		msg += "; modellog models list shows those that are"
	}
	return msg
}

func (s *Store) notFound(ctx context.Context, name string) error {
	e := &NotFoundError{Name: name}
	if _, e.Fetchable = catalogued(name); e.Fetchable {
		return e
	}
	if len(name) > 200 {
		return e
	}
	quiet := *s
	quiet.warn = func(error) {}
	models, err := quiet.Models(ctx)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(models))
	for _, m := range models {
		names = append(names, m.Name)
	}
	for _, c := range Catalogue() {
		names = append(names, c.Name)
	}
	e.Nearest = nearest(name, names)
	return e
}

// nearest is the name at the smallest edit distance, if that is at most a third
// of the name's length; the first of equals. A name that begins with the one
// asked for, as "gemma3:270m-pt" does with "gemma3", counts as near.
func nearest(name string, names []string) string {
	best, limit := "", len(name)/3+1
	low := strings.ToLower(name)
	for _, n := range names {
		d := editDistance(low, strings.ToLower(n))
		if low != "" && strings.HasPrefix(strings.ToLower(n), low) {
			d = min(d, 1)
		}
		if d < limit {
			best, limit = n, d
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d++
			}
			diagonal = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
