package kernel

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/modellog/modellog/kernel/wire"
)

// goErrors gathers what the compiler says of a cell. GoNB shows it in HTML alone, and its error says no more than
// that the compilation has failed, which is little for a terminal or a notebook that is executed by a program.
type goErrors []string

// compilerLine is a line of the compiler's in GoNB's HTML: the place in the cell, that in the program, and the
// message, which is as the compiler has it.
var compilerLine = regexp.MustCompile(`(?s)class="gonb-cell-line-info">([^<]*)</span> <span class="gonb-err-location">[^<]*</span></span>(.*?)(?:<div class="gonb-err-context">|</div>)`)

// note looks at what GoNB publishes.
func (e *goErrors) note(m *wire.Message) {
	if m.Header.MsgType != "display_data" {
		return
	}
	var c struct {
		Data struct {
			HTML string `json:"text/html"`
		}
	}
	if json.Unmarshal(m.Content, &c) != nil || !strings.Contains(c.Data.HTML, "gonb-err-location") {
		return
	}
	for _, f := range compilerLine.FindAllStringSubmatch(c.Data.HTML, -1) {
		*e = append(*e, f[1]+": "+strings.TrimSpace(f[2]))
	}
}

// into puts what was said into the content of an error of GoNB's, or of its reply.
func (e goErrors) into(content map[string]any) {
	value, _ := content["evalue"].(string)
	switch {
	case len(e) == 0:
	case strings.HasPrefix(value, "failed to run"):
		content["ename"], content["evalue"], content["traceback"] = "GoError", e[0], append(slices.Clone(e), value)
	case strings.HasPrefix(value, "parsing go files in TempDir"): // and then a place in GoNB's own file
		content["ename"], content["evalue"], content["traceback"] = "GoError", e[0], slices.Clone(e)
	}
}
