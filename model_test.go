//go:build cgo

package modellog_test

import (
	"math"
	"testing"

	"github.com/modellog/modellog"
	"github.com/modellog/modellog/calibrate"
	"github.com/modellog/modellog/event"
	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm/gguf"
	"github.com/modellog/modellog/local"
)

// A session with a real model: what it says of an event is what the event's reader
// says, and the model outlives the session.
func TestModel(t *testing.T) {
	ctx := t.Context()
	r := modeltest.SmolLM
	m, err := gguf.Open(ctx, r.Path(t), gguf.Options{Name: r.Name, Digest: r.SHA256, Precision: gguf.Native, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()

	s := local.New(m)
	if _, ok, err := s.Model(ctx); ok || err != nil {
		t.Errorf("a model that nothing needed yet: %v, %v", ok, err)
	}
	err = s.DefineSchema(ctx, "implication", []string{"x", "a", "b"}, func(h []string) modellog.Formula {
		return modellog.Implies(modellog.M(h[0], h[1]), modellog.M(h[0], h[2]))
	})
	if err != nil {
		t.Fatal(err)
	}
	schema, err := s.Evaluate(ctx, modellog.Text(`implication("A sparrow is a kind of", "fish", "bird")`))
	if err != nil {
		t.Fatal(err)
	}
	fish, bird := modellog.M("A sparrow is a kind of", "fish"), modellog.M("A sparrow is a kind of", "bird")
	direct, err := s.Evaluate(ctx, modellog.Implies(fish, bird))
	if err != nil {
		t.Fatal(err)
	}
	if schema.WMC != direct.WMC {
		t.Errorf("the schema's WMC is %v, and the formula's %v", schema.WMC, direct.WMC)
	}
	info, ok, err := s.Model(ctx)
	if err != nil || !ok || info.Name != r.Name || info.Vocabulary != m.Info().Vocabulary {
		t.Errorf("the model is %+v, %v, %v", info, ok, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	reader := event.Reader{Model: m}
	resolved, err := reader.Resolve(ctx, []event.Event{{Prefix: "A sparrow is a kind of", Target: "fish"}, {Prefix: "A sparrow is a kind of", Target: "bird"}})
	if err != nil {
		t.Fatal(err)
	}
	readings, err := reader.Read(ctx, []event.Step{resolved[0].Steps[0], resolved[1].Steps[0]}, calibrate.Default())
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range direct.Events {
		// In another batch the same numbers are added in another order.
		token, want := e.Tokens[0], readings[i]
		if e.Given || token.Token != resolved[i].Steps[0].Target || math.Abs(token.LogP.Lo-want.LogP.Lo) > 1e-4 || math.Abs(token.EventP.Lo-want.EventP.Lo) > 1e-4 ||
			math.Abs(token.C.Lo-want.C.Lo) > 1e-3 {
			t.Errorf("%s: %+v, not %+v", e.Target, e, want)
		}
	}
	p, q := readings[0].EventP.Lo, readings[1].EventP.Lo
	if want := 1 - p*(1-q); math.Abs(direct.WMC.Lo-want) > 1e-4 {
		t.Errorf("WMC is %v, and by hand %v", direct.WMC, want)
	}
}
