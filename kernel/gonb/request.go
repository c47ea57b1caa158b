package gonb

import (
	"encoding/json"
	"fmt"

	"github.com/modellog/modellog/kernel/wire"
)

// required are the fields without which GoNB falls, with their defaults.
var required = map[string]map[string]json.RawMessage{
	"execute_request": {
		"code": json.RawMessage(`""`), "silent": json.RawMessage("false"),
		"store_history": json.RawMessage("true"), "allow_stdin": json.RawMessage("false"),
	},
	"complete_request": {"code": json.RawMessage(`""`), "cursor_pos": json.RawMessage("0")},
	"inspect_request": {
		"code": json.RawMessage(`""`), "cursor_pos": json.RawMessage("0"), "detail_level": json.RawMessage("0"),
	},
	"input_reply": {"value": json.RawMessage(`""`)},
}

// Complete returns a front-end's message with some fields of its content set, and those
// that it lacks, or that are of a wrong type, and that GoNB insists on filled in.
func Complete(m *wire.Message, set map[string]any) (*wire.Message, error) {
	content := map[string]json.RawMessage{}
	if len(m.Content) > 0 {
		if err := json.Unmarshal(m.Content, &content); err != nil {
			return nil, fmt.Errorf("reading a %s: %w", m.Header.MsgType, err)
		}
	}
	for k, v := range required[m.Header.MsgType] {
		if len(content[k]) == 0 || kind(content[k]) != kind(v) {
			content[k] = v
		}
	}
	for k, v := range set {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		content[k] = data
	}
	data, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	out := *m
	out.Content = data
	return &out, nil
}

// kind is the type of a JSON value: its first character, all numbers and both
// truth values being one.
func kind(v json.RawMessage) byte {
	switch c := v[0]; {
	case c == '-' || '0' <= c && c <= '9':
		return '0'
	case c == 't' || c == 'f':
		return 't'
	default:
		return c
	}
}
