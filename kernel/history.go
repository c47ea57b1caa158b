package kernel

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// history is the cells that were run, of this kernel's life, which is session 1.
type history struct{ cells []pastCell }

type pastCell struct {
	count  int
	input  string
	output string // text of the last result
}

// maxHistory is how many cells are remembered.
const maxHistory = 10_000

func (h *history) add(count int, input, output string) {
	if len(h.cells) >= maxHistory {
		h.cells = slices.Delete(h.cells, 0, maxHistory/10)
	}
	h.cells = append(h.cells, pastCell{count, input, output})
}

// historyRequest is the content of a history_request.
type historyRequest struct {
	Output  bool   `json:"output"`
	Type    string `json:"hist_access_type"` // "range", "tail" or "search"
	Session int    `json:"session"`          // 0: this one; −1: the one before
	Start   int    `json:"start"`
	Stop    *int   `json:"stop"` // exclusive
	N       int    `json:"n"`
	Pattern string `json:"pattern"` // with * and ?
	Unique  bool   `json:"unique"`
}

// answer is the content of a history_reply.
func (h *history) answer(content json.RawMessage) map[string]any {
	var r historyRequest
	if err := json.Unmarshal(content, &r); err != nil {
		f := failure{"ProtocolError", "reading a history_request: " + err.Error(), []string{}}
		return map[string]any{"status": "error", "ename": f.Name, "evalue": f.Value, "traceback": f.Traceback, "history": []any{}}
	}
	var found []pastCell
	switch r.Type {
	case "range":
		if r.Session == 0 || r.Session == 1 {
			for _, c := range h.cells {
				if c.count >= r.Start && (r.Stop == nil || c.count < *r.Stop) {
					found = append(found, c)
				}
			}
		}
	case "search":
		for _, c := range h.cells {
			if glob(r.Pattern, c.input) {
				found = append(found, c)
			}
		}
		if r.Unique {
			seen := map[string]bool{}
			var unique []pastCell
			for _, c := range slices.Backward(found) { // the latest of each
				if !seen[c.input] {
					unique = append(unique, c)
				}
				seen[c.input] = true
			}
			slices.Reverse(unique)
			found = unique
		}
		found = last(found, r.N)
	default:
		found = last(h.cells, r.N)
	}
	list := []any{}
	for _, c := range found {
		if r.Output {
			list = append(list, []any{1, c.count, []any{c.input, c.output}})
		} else {
			list = append(list, []any{1, c.count, c.input})
		}
	}
	return map[string]any{"status": "ok", "history": list}
}

// last returns the last n; all where n is not positive.
func last(cells []pastCell, n int) []pastCell {
	if n <= 0 || n >= len(cells) {
		return cells
	}
	return cells[len(cells)-n:]
}

// glob reports whether a text matches a pattern with * and ?; other characters
// stand for themselves.
func glob(pattern, text string) bool {
	if pattern == "" {
		pattern = "*"
	}
	// To path.Match, a slash separates and three more characters mean something.
	plain := strings.NewReplacer("/", "\x00")
	pattern = strings.NewReplacer("/", "\x00", "[", `\[`, `\`, `\\`).Replace(pattern)
	ok, err := path.Match(pattern, plain.Replace(text))
	return ok && err == nil
}
