package notebooks

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Two runs on two machines do not give the same digits. Processors add the products
// of a matrix in different orders, in float32: log-probabilities then differ in the
// fifth digit after the point, and but for Linux Gemma's, whose activations go through
// a table, in the third (by up to 0.003, entropies by as much), so that the logit of an event,
// log-odds plus entropy, differs by up to about 0.01; the loss of a constraint of
// some events by a few times that, and so does a probability near 0, or what
// is missing of one near 1, relative to itself. WMC and ρ, which are differences of
// probabilities, differ by that much absolutely, where they are near 0.
const (
	relative = 0.02  // of a number, that may differ
	absolute = 0.002 // besides, for numbers that are not small
	small    = 0.01  // numbers below are compared by their size alone,
	bySize   = 0.1   // and may differ by this relative to it
	manyOf   = 100   // whole numbers from here on are counts that may differ by
	counted  = 0.02  // this, such as a live region's tokens; those below may not
)

var (
	number  = regexp.MustCompile(`[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?`)
	spaces  = regexp.MustCompile(`[ \t]+`)
	rules   = regexp.MustCompile(`[─—_=\-]{3,}`)
	bars    = regexp.MustCompile(`[▁-▏░▒▓]+`)
	colour  = regexp.MustCompile(`#[0-9A-Fa-f]{6}\b`)
	ansi    = regexp.MustCompile("\x1b\\[[0-9;]*m")
	dataURI = regexp.MustCompile(`data:[a-z]+/[a-z+]+;base64,[A-Za-z0-9+/=]*`)
	drawn   = regexp.MustCompile(`(?s)(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<svg\b.*?</svg>`)
	// ids that GoNB gives to what it shows.
	randomID = regexp.MustCompile(`\b(gonb_[a-z_]*?)_?[0-9a-f]{6,}(?:-[0-9a-f]+)*\b`)
)

// near reports whether two numbers, as they are written, are the same up to what
// machines differ by.
func near(a, b string) bool {
	if a == b {
		return true
	}
	x, errX := parse(a)
	y, errY := parse(b)
	if errX != nil || errY != nil {
		return false
	}
	size, difference := max(math.Abs(x), math.Abs(y)), math.Abs(x-y)
	switch {
	case whole(a) && whole(b):
		return size >= manyOf && difference <= counted*size
	case size < small:
		return difference <= max(bySize*size, 1.001*max(unit(a), unit(b)))
	default:
		return difference <= max(absolute+relative*size, 1.001*max(unit(a), unit(b)))
	}
}

func parse(s string) (float64, error) {
	return strconv.ParseFloat(strings.NewReplacer(",", "", "−", "-").Replace(s), 64)
}

func whole(s string) bool { return !strings.ContainsAny(s, ".eE") }

// unit is one in the last place that is written.
func unit(s string) float64 {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	e, _ := strconv.Atoi(exponent)
	if _, decimals, ok := strings.Cut(mantissa, "."); ok {
		e -= len(decimals)
	}
	return math.Pow10(e)
}

// differences compares two texts line by line and returns the lines that differ.
func differences(shipped, now string) string {
	a, b := lines(shipped), lines(now)
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if !same(x, y) {
			x, y = shorten(x, y)
			fmt.Fprintf(&out, "    line %d\n      shipped: %s\n      now:     %s\n", i+1, x, y)
		}
	}
	return out.String()
}

// lines are the text's, without what depends on the width of columns and bars.
func lines(s string) []string {
	s = strings.TrimRight(s, "\n")
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		line = rules.ReplaceAllString(bars.ReplaceAllString(line, "█"), "───")
		out = append(out, strings.TrimSpace(spaces.ReplaceAllString(line, " ")))
	}
	return out
}

// same compares two lines: equal but for numbers that are near each other.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, y := number.FindAllString(a, -1), number.FindAllString(b, -1)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if !near(x[i], y[i]) {
			return false
		}
	}
	return number.ReplaceAllString(a, "0") == number.ReplaceAllString(b, "0")
}

// shorten keeps of two long lines what is around the first difference.
func shorten(a, b string) (string, string) {
	const before, length = 60, 200
	x, y := []rune(a), []rune(b)
	if len(x) <= length && len(y) <= length {
		return a, b
	}
	at := 0
	for at < len(x) && at < len(y) && x[at] == y[at] {
		at++
	}
	cut := func(r []rune) string {
		from := max(0, min(at-before, len(r)))
		to := min(len(r), from+length)
		s := string(r[from:to])
		if from > 0 {
			s = "…" + s
		}
		if to < len(r) {
			s += "…"
		}
		return s
	}
	return cut(x), cut(y)
}

// markup breaks HTML into lines, so that differences are told one by one. Embedded
// pictures and random ids are left out.
func markup(html string) string {
	html = dataURI.ReplaceAllString(html, "data:")
	html = randomID.ReplaceAllString(html, "$1")
	return strings.NewReplacer("<", "\n<", ">", ">\n", "&#10;", "\n").Replace(html)
}

// page compares two pieces of HTML, and the drawings in them, which Go cells show so.
func page(shipped, now string) string {
	found := differences(markup(drawn.ReplaceAllString(shipped, "<svg>")), markup(drawn.ReplaceAllString(now, "<svg>")))
	x, y := drawn.FindAllString(shipped, -1), drawn.FindAllString(now, -1)
	for i := range min(len(x), len(y)) {
		found += figures(x[i], y[i])
	}
	return found
}

// figures compares two drawings. Glyphs are paths, so that their number differs
// with a digit.
func figures(shipped, now string) string {
	a, errA := readSVG(shipped)
	b, errB := readSVG(now)
	switch {
	case errA != nil:
		return fmt.Sprintf("    shipped: %v\n", errA)
	case errB != nil:
		return fmt.Sprintf("    now: %v\n", errB)
	}
	var out strings.Builder
	tell := func(what string, x, y any) {
		fmt.Fprintf(&out, "    %s\n      shipped: %v\n      now:     %v\n", what, x, y)
	}
	for i := range a.ViewBox {
		if math.Abs(a.ViewBox[i]-b.ViewBox[i]) > 2 {
			tell("size", a.ViewBox, b.ViewBox)
			break
		}
	}
	if !maps.Equal(a.Colours, b.Colours) {
		tell("colours", slices.Sorted(maps.Keys(a.Colours)), slices.Sorted(maps.Keys(b.Colours)))
	}
	if x, y := strings.Join(a.Labels, "\n"), strings.Join(b.Labels, "\n"); x != y {
		out.WriteString(differences(x, y))
	}
	for _, name := range slices.Sorted(maps.Keys(union(a.Elements, b.Elements))) {
		x, y := a.Elements[name], b.Elements[name]
		allowed := 0
		if name == "path" || name == "g" {
			allowed = 4 + max(x, y)/50
		}
		if x-y > allowed || y-x > allowed {
			tell("<"+name+"> elements", x, y)
		}
	}
	return out.String()
}

func union(a, b map[string]int) map[string]int {
	u := maps.Clone(a)
	maps.Copy(u, b)
	return u
}

// compare lists what differs between a shipped notebook's outputs and those of now.
func compare(shipped, now notebook) (faults []string) {
	if len(shipped.Cells) != len(now.Cells) {
		return []string{fmt.Sprintf("%d cells are shipped, and %d now", len(shipped.Cells), len(now.Cells))}
	}
	for i, c := range shipped.Cells {
		at := fmt.Sprintf("cell %d (%s)", i+1, c.ID)
		add := func(format string, a ...any) {
			faults = append(faults, at+": "+fmt.Sprintf(format, a...))
		}
		d := now.Cells[i]
		if c.Source != d.Source {
			add("its source changed")
			continue
		}
		if len(c.Outputs) != len(d.Outputs) {
			add("%d outputs are shipped, and %d now\n      shipped: %s\n      now:     %s", len(c.Outputs), len(d.Outputs), kinds(c.Outputs), kinds(d.Outputs))
			continue
		}
		for j, x := range c.Outputs {
			y := d.Outputs[j]
			which := fmt.Sprintf("output %d", j+1)
			if kind(x) != kind(y) {
				add("%s is shipped as %s, and %s now", which, kind(x), kind(y))
				continue
			}
			if found := differences(x.shown(), y.shown()); found != "" {
				add("%s, %s:\n%s", which, kind(x), found)
			}
			for _, mime := range slices.Sorted(maps.Keys(x.Data)) {
				a, b := string(x.Data[mime]), string(y.Data[mime])
				var found string
				switch {
				case mime == "image/svg+xml":
					found = figures(a, b)
				case mime == "text/html":
					found = page(a, b)
				case strings.HasPrefix(mime, "image/"):
					if a == "" || b == "" {
						found = "    an empty picture\n"
					}
				default:
					found = differences(a, b)
				}
				if found != "" {
					add("%s, %s:\n%s", which, mime, found)
				}
			}
		}
	}
	return faults
}

// kind says what sort of output it is. Whether a result is an execute_result or display_data is no
// sort: in a cell whose last statement has no result it depends on how long that took.
func kind(o output) string {
	switch o.Type {
	case "stream":
		return o.Name
	case "error":
		return "the error " + o.EName
	}
	return "a result of " + strings.Join(slices.Sorted(maps.Keys(o.Data)), ", ")
}

func kinds(outputs []output) string {
	var all []string
	for _, o := range outputs {
		all = append(all, kind(o))
	}
	return strings.Join(all, "; ")
}

// TestNear has the comparison of numbers find what it must, and no more.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"0.154", "0.154", true},
		{"0.154", "0.157", true},
		{"0.154", "0.162", false},
		{"-2.38", "-2.40", true},
		{"-2.38", "2.38", false},
		{"-2.38", "-2.50", false},
		{"+0.859", "+0.861", true},
		{"1.00", "0.998", true},
		{"1.00", "0.95", false},
		{"-0.001", "0.0004", false}, // a sign of so small a number means something
		{"0.000154", "0.000158", true},
		{"0.000154", "0.00154", false},
		{"3.48e-06", "3.60e-06", true},
		{"3.48e-06", "3.48e-05", false},
		{"−0.652", "-0.653", true},
		{"461", "462", true},
		{"461", "480", false},
		{"3", "4", false},
		{"22,868", "22,900", true},
		{"22,868", "32,868", false},
		{"53.9", "54.0", true},
	} {
		if got := near(c.a, c.b); got != c.want {
			t.Errorf("near(%s, %s) = %v", c.a, c.b, got)
		}
		if got := near(c.b, c.a); got != c.want {
			t.Errorf("near(%s, %s) = %v", c.b, c.a, got)
		}
	}
}

// TestCompare changes an executed notebook in ways of which each must be noticed,
// or must not.
func TestCompare(t *testing.T) {
	const path = "testdata/small.ipynb"
	if found := compare(read(t, path), read(t, path)); len(found) > 0 {
		t.Errorf("it differs from itself: %s", found)
	}
	if found := faults(read(t, path)); len(found) > 0 {
		t.Errorf("it could not be shipped: %s", found)
	}
	replace := func(mime, old, new string) func(n *notebook) {
		return func(n *notebook) {
			done := 0
			for i := range n.Cells {
				for _, o := range n.Cells[i].Outputs {
					if d, ok := o.Data[mime]; ok && strings.Contains(string(d), old) {
						o.Data[mime] = text(strings.ReplaceAll(string(d), old, new))
						done++
					}
				}
			}
			if done == 0 {
				t.Errorf("there is no %q in any %s", old, mime)
			}
		}
	}
	for name, c := range map[string]struct {
		change func(n *notebook)
		want   string // part of what is told; "" where nothing may be
	}{
		"last digit":    {replace("text/plain", "WMC 0.154", "WMC 0.155"), ""},
		"width":         {replace("text/plain", "dog → mammal ", "dog → mammal      "), ""},
		"another value": {replace("text/plain", "WMC 0.154", "WMC 0.254"), "WMC 0.254"},
		"verdict":       {replace("text/plain", "inconsistent", "consistent"), "text/plain"},
		"a row less":    {replace("text/plain", "\n  mammal", "  mammal"), "line 4"},
		"in the table":  {replace("text/html", ">0.154<", ">0.254<"), "0.254"},
		"in the markup": {replace("text/html", "</th>", "</td>"), "</td>"},
		"formula":       {replace("text/latex", `\to`, `\vee`), "text/latex"},
		"no figure":     {replace("image/svg+xml", "</svg>", ""), "not XML"},
		"colour":        {replace("image/svg+xml", "#2B6CB0", "#000000"), "#2B6CB0"},
		"shapes":        {replace("image/svg+xml", "</svg>", `<circle r="1"/></svg>`), "<circle> elements"},
		"an output less": {func(n *notebook) {
			for i := range n.Cells {
				n.Cells[i].Outputs = nil
			}
		}, "outputs are shipped"},
		"an error": {func(n *notebook) {
			for i := range n.Cells {
				for j := range n.Cells[i].Outputs {
					n.Cells[i].Outputs[j].Type = "error"
				}
			}
		}, "error"},
		"a stream": {func(n *notebook) {
			for i := range n.Cells {
				for j := range n.Cells[i].Outputs {
					n.Cells[i].Outputs[j].Text += "more"
				}
			}
		}, "more"},
		"its source": {func(n *notebook) { n.Cells[1].Source += " " }, "source"},
		"its cells":  {func(n *notebook) { n.Cells = n.Cells[1:] }, "cells"},
	} {
		n := read(t, path)
		c.change(&n)
		found := strings.Join(compare(read(t, path), n), "\n")
		if c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s: got %q", name, found)
		}
	}
}

// TestPage has drawings in HTML compared as drawings, and what is around them as text.
func TestPage(t *testing.T) {
	const html = `<div><?xml version="1.0"?>
<!-- Generated by SVGo and Plotinum VG -->
<svg viewBox="0 0 9 9"><path style="fill:#FFFFFF" d="M1.5,2"/><path style="fill:#2B6CB0" d="M3,4"/></svg></div><p>K = 3</p>`
	for _, c := range []struct {
		old, new string
		want     string // part of what is told; "" where nothing may be
	}{
		{"M1.5,2", "M1.5,3", ""}, // glyphs are paths, too
		{"#2B6CB0", "#D98E04", "#D98E04"},
		{"</svg>", "<rect/></svg>", "<rect>"},
		{"K = 3", "K = 4", "K = 4"},
		{"</svg>", "", "now:"},
		{"</svg>", "</svg><svg></svg>", "<svg>"},
	} {
		if found := page(html, strings.Replace(html, c.old, c.new, 1)); c.want == "" && found != "" || !strings.Contains(found, c.want) {
			t.Errorf("%s instead of %s: %q", c.new, c.old, found)
		}
	}
}

// TestFaults has a notebook spoilt in each way that must not be shipped.
func TestFaults(t *testing.T) {
	three := 3
	for name, spoil := range map[string]func(n *notebook){
		"kernel":   func(n *notebook) { n.Metadata.Kernelspec.Name = "python3" },
		"version":  func(n *notebook) { n.Metadata.Language.Version = "v1" },
		"format":   func(n *notebook) { n.Minor = 4 },
		"title":    func(n *notebook) { n.Cells[0].Source = "Title" },
		"ids":      func(n *notebook) { n.Cells[1].ID = n.Cells[2].ID },
		"empty":    func(n *notebook) { n.Cells[1].Source = " \n" },
		"count":    func(n *notebook) { n.Cells[1].ExecutionCount = &three },
		"no count": func(n *notebook) { n.Cells[1].ExecutionCount = nil },
		"times":    func(n *notebook) { n.Cells[1].Metadata["execution"] = []byte("{}") },
		"error":    func(n *notebook) { n.Cells[2].Outputs[0].Type = "error" },
		"no error": func(n *notebook) { n.Cells[2].Metadata["tags"] = []byte(`["raises-exception"]`) },
		"warning":  func(n *notebook) { n.Cells[2].Outputs[0] = output{Type: "stream", Name: "stderr", Text: "!"} },
		"nothing":  func(n *notebook) { n.Cells[2].Outputs[0].Data = bundle{"text/latex": "x"} },
		"figure":   func(n *notebook) { n.Cells[2].Outputs[0].Data["image/svg+xml"] = "<svg/>" },
		"outputs": func(n *notebook) {
			for i := range n.Cells {
				n.Cells[i].Outputs = nil
			}
		},
	} {
		n := read(t, "testdata/small.ipynb")
		spoil(&n)
		if len(faults(n)) == 0 {
			t.Errorf("%s: nothing is wrong with it", name)
		}
	}
	for name, svg := range map[string]string{
		"cut":           `<svg viewBox="0 0 1 1"><path style="fill:#FFFFFF"/><path/>`,
		"no viewBox":    `<svg><path style="fill:#FFFFFF"/><path/></svg>`,
		"no background": `<svg viewBox="0 0 1 1"><path style="fill:none"/><path/></svg>`,
		"nothing":       `<svg viewBox="0 0 1 1"><path style="fill:#FFFFFF"/></svg>`,
		"HTML":          `<img/>`,
	} {
		if _, err := readSVG(svg); err == nil {
			t.Errorf("%s: nothing is wrong with it", name)
		}
	}
}
