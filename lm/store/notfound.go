package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modellog/modellog/internal/nearest"
)

// NotFoundError reports a name that no model on this machine has.
type NotFoundError struct {
	Name      string
	Fetchable bool   // Store.Get knows the name
	Nearest   string // a name much like it that would have worked, or ""
}

const commands = "modellog models list shows those that are here or can be fetched, modellog models get NAME fetches one"

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
		msg += fmt.Sprintf("; did you mean %q? %s", e.Nearest, commands)
	default:
		msg += "; " + commands
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
	e.Nearest = near(name, names)
	return e
}

// near is the name that was most likely meant. A name that begins with the one
// asked for, as "gemma3:270m-pt" does with "gemma3", is, and so is one of the
// same family, which "gemma3:27m" has.
func near(name string, names []string) string {
	if best := nearest.Name(name, names); best != "" {
		return best
	}
	for _, n := range names {
		if name != "" && len(n) > len(name) && strings.EqualFold(n[:len(name)], name) {
			return n
		}
	}
	family, _, tagged := strings.Cut(name, ":")
	for _, n := range names {
		if f, _, _ := strings.Cut(n, ":"); tagged && family != "" && strings.EqualFold(f, family) {
			return n
		}
	}
	return ""
}
