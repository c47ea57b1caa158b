package probct

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Row is one example of a subset.
type Row struct {
	ID     string            // the same for the same sources, whatever the seed
	Holes  map[string]string // the schema's holes
	Facts  []Fact            // the statements that the schema's events make
	Filter map[string]string // which judge accepted it and why
}

// Fact is a statement with its truth value and where it comes from.
type Fact struct {
	Text   string   `json:"text"`
	True   bool     `json:"true"`
	Source []string `json:"source"` // ids, such as wn:dog%1:05:00:: or geonames:2988507
}

// MarshalJSON writes the holes as fields of their own beside id, facts and filter,
// so that a line of a subset's file is a row for its schema.
func (r Row) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	field := func(name string, v any) error {
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, bytes.TrimSpace(text.Bytes()))
		return nil
	}
	b.WriteByte('{')
	if err := field("id", r.ID); err != nil {
		return nil, err
	}
	for _, h := range holeOrder {
		if v, ok := r.Holes[h]; ok {
			if err := field(h, v); err != nil {
				return nil, err
			}
		}
	}
	if err := field("facts", r.Facts); err != nil {
		return nil, err
	}
	if err := field("filter", r.Filter); err != nil {
		return nil, err
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// holeOrder is the order in which the published subsets' holes are written.
var holeOrder = []string{"x", "not_x", "y", "x1", "y1", "x2", "y2"}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Row) UnmarshalJSON(text []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	*r = Row{Holes: make(map[string]string)}
	for name, to := range map[string]any{"id": &r.ID, "facts": &r.Facts, "filter": &r.Filter} {
		if v, ok := fields[name]; ok {
			if err := json.Unmarshal(v, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, h := range holeOrder {
		if v, ok := fields[h]; ok {
			var s string
			if err := json.Unmarshal(v, &s); err != nil {
				return fmt.Errorf("%s: %w", h, err)
			}
			r.Holes[h] = s
		}
	}
	return nil
}
