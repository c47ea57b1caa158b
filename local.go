package modellog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modellog/modellog/kernel/connect"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

// local is a session in this process.
type local struct {
	mu      sync.Mutex // the language's session does one thing at a time
	session *lang.Session
}

// borrowed is a model that its opener closes.
type borrowed struct{ lm.Model }

func (borrowed) Close() error { return nil }

func newLocal(model lm.Model) *local {
	own := "none"
	if model != nil {
		own = model.Info().Name
	}
	return &local{session: lang.New(lang.Options{
		Model: own,
		Open: func(_ context.Context, name string) (lm.Model, error) {
			switch {
			case model == nil:
				return nil, errors.New("this session was started without a model; give New one")
			case name != own:
				return nil, fmt.Errorf("this session has the model %s only; start another with New", own)
			}
			return borrowed{model}, nil
		},
	})}
}

func (l *local) Eval(ctx context.Context, program string, emit func(connect.Result) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return asError(l.session.Eval(ctx, "", program, func(r lang.Result) error {
		forms, err := show(r)
		if err != nil {
			return err
		}
		own, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encoding a %s: %w", r.Kind(), err)
		}
		return emit(connect.Result{JSON: own, Data: forms})
	}))
}

func (l *local) Names(context.Context) ([]Name, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, candidates := l.session.Complete("", 0)
	var names []Name
	for _, c := range candidates {
		switch c.Kind {
		case "schema":
			c.Text = c.Text[:len(c.Text)-1] // without the opening parenthesis
			fallthrough
		case "event", "formula", "ladder":
			names = append(names, Name{Name: c.Text, Kind: c.Kind, Doc: c.Doc})
		}
	}
	return names, nil
}

func (l *local) Model(context.Context) (json.RawMessage, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, ok := l.session.Model()
	if !ok {
		return nil, nil
	}
	return json.Marshal(info)
}

func (l *local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.Close()
}

// show gives the forms in which a result can be shown.
func show(r lang.Result) (map[string]string, error) {
	forms := map[string]string{"text/plain": r.Text(lang.Style{})}
	if x, ok := r.(interface{ HTML() string }); ok {
		forms["text/html"] = x.HTML()
	}
	if x, ok := r.(interface{ LaTeX() string }); ok {
		forms["text/latex"] = x.LaTeX()
	}
	if x, ok := r.(interface{ SVG() ([]byte, error) }); ok {
		svg, err := x.SVG()
		if err != nil {
			return nil, fmt.Errorf("drawing a %s: %w", r.Kind(), err)
		}
		forms["image/svg+xml"] = string(svg)
	}
	return forms, nil
}
