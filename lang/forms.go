package lang

import "fmt"

// Forms returns the forms in which a notebook can show a result, by MIME type: "text/plain", what
// the terminal shows, and, of what has them, "text/html", "text/latex" and "image/svg+xml". A figure has
// no HTML, which would be its SVG once more.
func Forms(r Result) (forms map[string]string, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			forms, err = nil, fmt.Errorf("showing a %s met a fault of modellog itself (%v); please report it", r.Kind(), fault)
		}
	}()
	forms = map[string]string{"text/plain": r.Text(Style{})}
	set := func(mime, text string) {
		if text != "" {
			forms[mime] = text
		}
	}
	if x, ok := r.(interface{ SVG() ([]byte, error) }); ok {
		svg, err := x.SVG()
		if err != nil {
			return nil, fmt.Errorf("drawing a %s: %w", r.Kind(), err)
		}
		set("image/svg+xml", string(svg))
	} else if x, ok := r.(interface{ HTML() string }); ok {
		set("text/html", x.HTML())
	}
	if x, ok := r.(interface{ LaTeX() string }); ok {
		set("text/latex", x.LaTeX())
	}
	return forms, nil
}
