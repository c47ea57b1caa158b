package lang

import "github.com/modellog/modellog/lang/syntax"

// Name is a name that a session has defined.
type Name struct {
	Name string
	Kind string // "event", "formula", "schema" or "ladder"
	Doc  string // its definition in one line, cut where it is long
}

// Names lists the names that are defined, in the order of their first definition. It may be
// called while a program is evaluated.
func (s *Session) Names() []Name {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]Name, 0, len(s.order))
	for _, name := range s.order {
		d := s.names[name]
		names = append(names, Name{name, d.kind(), cutRight(d.head()+" = "+syntax.Format(d.body, syntax.Unicode), 100)})
	}
	return names
}
