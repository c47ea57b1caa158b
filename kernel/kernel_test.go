package kernel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
	"github.com/modellog/modellog/lm"
)

func TestCell(t *testing.T) {
	for _, transport := range []string{"tcp", "ipc"} {
		t.Run(transport, func(t *testing.T) {
			k := serve(t, Options{Connection: connection(t, transport)}, nil)
			f := dial(t, k.o.Connection)

			r := f.run("a = prob(0.25)\nb = prob(0.5)").ok()
			if want := []string{"busy", "execute_input"}; !slices.Equal(r.types, want) {
				t.Errorf("definitions: %v, want %v", r.types, want)
			}
			if r.reply["execution_count"] != 1.0 || r.of("execute_input")[0]["execution_count"] != 1.0 {
				t.Errorf("%v", r.reply)
			}
			r = f.run("wmc(a)\nwmc(a & b)\na | b").ok()
			if want := []string{"busy", "execute_input", "display_data", "display_data", "execute_result"}; !slices.Equal(r.types, want) {
				t.Fatalf("three results: %v, want %v", r.types, want)
			}
			for i, want := range []string{"0.25", "0.125"} {
				if got := plain(r.of("display_data")[i]); got != want {
					t.Errorf("result %d is %q, want %q", i, got, want)
				}
			}
			last := r.of("execute_result")[0]
			if last["execution_count"] != 2.0 {
				t.Errorf("%v", last)
			}
			// The text is the one that the REPL prints.
			s := lang.New(lang.Options{})
			var text string
			err := s.Eval(context.Background(), "", "a = prob(0.25)\nb = prob(0.5)\na | b", func(r lang.Result) error { text = r.Text(lang.Style{}); return nil })
			if err != nil || plain(last) != text || !strings.Contains(text, "0.625") {
				t.Errorf("got\n%s\nwant\n%s\n%v", plain(last), text, err)
			}
		})
	}
}

func TestFigure(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	r := f.run("a = prob(0.25)\nb = prob(0.5)\n%plot report a -> b").ok()
	data := r.of("execute_result")[0]["data"].(object)
	if svg, _ := data["image/svg+xml"].(string); !strings.Contains(svg, "<svg") || data["text/plain"] == "" || len(data) != 2 {
		t.Errorf("%v", data)
	}
}

func TestMistake(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	r := f.run("dog = prob(0.5)\nwmc(dog)\ndgo -> dog\nwmc(dog)")
	if r.reply["status"] != "error" {
		t.Fatalf("%v", r.reply)
	}
	if want := []string{"busy", "execute_input", "execute_result", "error"}; !slices.Equal(r.types, want) {
		t.Errorf("%v, want %v", r.types, want)
	}
	e := r.of("error")[0]
	for _, k := range []string{"ename", "evalue", "traceback"} {
		if !reflect.DeepEqual(e[k], r.reply[k]) {
			t.Errorf("%s: published %v, replied %v", k, e[k], r.reply[k])
		}
	}
	trace := fmt.Sprint(e["traceback"])
	if !strings.Contains(trace, `3:1: `) || !strings.Contains(trace, `did you mean "dog"?`) || !strings.Contains(trace, "dgo -> dog") || !strings.Contains(trace, "^^^") {
		t.Errorf("%s", trace)
	}
	if r := f.run("\n%%go  fmt.Println()\nx"); !strings.Contains(fmt.Sprint(r.reply["evalue"]), `"fmt.Println()" belongs to the next line`) || len(r.of("error")) != 1 {
		t.Errorf("%v", r.reply)
	}
	// The kernel goes on, and what came before the mistake is defined.
	if got := plain(f.run("wmc(dog)").ok().of("execute_result")[0]); got != "0.5" {
		t.Error(got)
	}
}

// TestAbort queues cells behind one that fails.
func TestAbort(t *testing.T) {
	block, opened := make(chan struct{}), make(chan struct{})
	k := serve(t, Options{}, func(*Kernel) lang.Options {
		return lang.Options{Model: "m", Open: func(ctx context.Context, _ string) (lm.Model, error) {
			close(opened)
			select {
			case <-block:
			case <-ctx.Done():
			}
			return nil, errors.New("there is no such model")
		}}
	})
	f, other := dial(t, k.o.Connection), dial(t, k.o.Connection)
	first := f.start(`M("a", "b")`, nil)
	<-opened
	second := f.start("prob(0.5)", nil)
	info := f.send(f.shell, "kernel_info_request", object{})
	foreign := other.start("prob(0.25)", nil)
	waiting := func() int {
		k.queue.mu.Lock()
		defer k.queue.mu.Unlock()
		return len(k.queue.jobs)
	}
	for waiting() < 3 {
		time.Sleep(time.Millisecond)
	}
	close(block)
	if r := f.await(first); r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "no such model") {
		t.Errorf("the first: %v", r.reply)
	}
	if r := f.await(second); r.reply["status"] != "aborted" || len(r.published) != 0 {
		t.Errorf("the second: %v %v", r.reply, r.types)
	}
	if r := f.await(info); r.reply["status"] != "ok" {
		t.Errorf("what is no cell: %v", r.reply)
	}
	if r := other.await(foreign); r.reply["status"] != "ok" {
		t.Errorf("another front-end's: %v", r.reply)
	}
	// Whoever wants to go on does.
	first = f.start("nonsense", object{"stop_on_error": false})
	second = f.start("prob(0.5)", nil)
	if r := f.await(first); r.reply["status"] != "error" {
		t.Errorf("%v", r.reply)
	}
	f.await(second).ok()
}

func TestSilent(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	f.run("a = prob(0.5)").ok()
	r := f.await(f.start("wmc(a)", object{"silent": true, "user_expressions": object{"x": "wmc(a)", "y": "wmc(", "z": "b = a"}}))
	if len(r.published) != 0 || r.reply["status"] != "ok" || r.reply["execution_count"] != 1.0 {
		t.Errorf("%v %v", r.types, r.reply)
	}
	exprs := r.reply["user_expressions"].(object)
	if x := exprs["x"].(object); x["status"] != "ok" || plain(x) != "0.5" {
		t.Errorf("x: %v", x)
	}
	if y := exprs["y"].(object); y["status"] != "error" || y["ename"] != "Error" {
		t.Errorf("y: %v", y)
	}
	if z := exprs["z"].(object); z["status"] != "ok" || len(z["data"].(object)) != 0 {
		t.Errorf("z: %v", z)
	}
	r = f.await(f.start("nonsense", object{"silent": true}))
	if len(r.published) != 0 || r.reply["status"] != "error" {
		t.Errorf("%v %v", r.types, r.reply)
	}
	// Shown, but not counted.
	r = f.await(f.start("wmc(a)", object{"store_history": false})).ok()
	if r.reply["execution_count"] != 1.0 || plain(r.of("execute_result")[0]) != "0.5" {
		t.Errorf("%v", r.reply)
	}
	if r := f.run("wmc(a)").ok(); r.reply["execution_count"] != 2.0 {
		t.Errorf("%v", r.reply)
	}
}

// slowProgram is one whose formula takes long to compile.
func slowProgram() string {
	var b strings.Builder
	const n = 220
	for i := range n {
		fmt.Fprintf(&b, "x%d = prob(0.5)\n", i)
	}
	seed := uint32(7)
	rnd := func(n uint32) uint32 { seed = seed*1664525 + 1013904223; return seed >> 8 % n }
	b.WriteString("wmc(true")
	for range 4 * n {
		b.WriteString(" &\n (")
		for j := range 3 {
			if j > 0 {
				b.WriteString(" | ")
			}
			if rnd(2) == 0 {
				b.WriteString("!")
			}
			fmt.Fprintf(&b, "x%d", rnd(1<<16)%n)
		}
		b.WriteString(")")
	}
	b.WriteString(")")
	return b.String()
}

func TestInterrupt(t *testing.T) {
	k := serve(t, Options{}, func(*Kernel) lang.Options {
		return lang.Options{Model: "m", Open: func(ctx context.Context, _ string) (lm.Model, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	})
	f := dial(t, k.o.Connection)
	f.run("a = prob(0.25)").ok()
	for i, code := range []string{`M("a", "b")`, slowProgram()} {
		id := f.start("wmc(a)\n"+code, nil)
		queued := f.start("wmc(a)", nil)
		time.Sleep(300 * time.Millisecond)
		begin := time.Now()
		interrupt := f.send(f.control, "interrupt_request", object{})
		m := f.next(f.controls, time.Second)
		if m.ParentID() != interrupt || m.Header.MsgType != "interrupt_reply" || content(t, m)["status"] != "ok" {
			t.Errorf("%s %s", m.Header.MsgType, m.Content)
		}
		r := f.await(id)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("program %d stopped after %v", i, d)
		}
		if r.reply["status"] != "error" || r.reply["ename"] != "Interrupted" || r.types[len(r.types)-1] != "error" {
			t.Errorf("program %d: %v %v", i, r.reply, r.types)
		}
		if r := f.await(queued); r.reply["status"] != "aborted" {
			t.Errorf("the queued cell: %v", r.reply)
		}
		if got := plain(f.run("wmc(a)").ok().of("execute_result")[0]); got != "0.25" {
			t.Errorf("afterwards: %s", got)
		}
	}
	// At any moment.
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		id := f.start("wmc(a)\n"+slowProgram(), nil)
		time.Sleep(time.Duration(rng.IntN(30_000)) * time.Microsecond)
		begin := time.Now()
		for len(f.replies) == 0 { // one that comes before the cell is for nothing
			f.send(f.control, "interrupt_request", object{})
			f.next(f.controls, time.Second)
			time.Sleep(5 * time.Millisecond)
		}
		if r := f.await(id); r.reply["ename"] != "Interrupted" {
			t.Errorf("%v", r.reply)
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("stopped after %v", d)
		}
		if got := plain(f.run("wmc(a)").ok().of("execute_result")[0]); got != "0.25" {
			t.Errorf("afterwards: %s", got)
		}
	}
	// With nothing to interrupt.
	f.send(f.control, "interrupt_request", object{})
	if m := f.next(f.controls, time.Second); content(t, m)["status"] != "ok" {
		t.Errorf("%s", m.Content)
	}
	f.run("wmc(a)").ok()
}

func TestProgress(t *testing.T) {
	k := serve(t, Options{}, func(k *Kernel) lang.Options {
		return lang.Options{Model: "m", Open: func(ctx context.Context, name string) (lm.Model, error) {
			steps := 30
			if name == "quick" {
				steps = 5
			}
			for i := range steps {
				k.Progress("loading <m>", i, 30)
				time.Sleep(100 * time.Millisecond)
			}
			k.Progress("loading <m>", 30, 30)
			k.Warn("the model is odd")
			return nil, errors.New("no model after all")
		}}
	})
	f := dial(t, k.o.Connection)
	r := f.run("wmc(prob(0.5))\n" + `M("a", "b")`)
	shows, updates := r.of("display_data"), r.of("update_display_data")
	if len(shows) != 2 || len(updates) < 2 {
		t.Fatalf("%v", r.types)
	}
	if plain(shows[0]) != "0.5" {
		t.Errorf("what came first is shown second: %v", shows)
	}
	bar := shows[1]
	id := bar["transient"].(object)["display_id"]
	if !strings.Contains(plain(bar), "█") || !strings.Contains(plain(bar), "of 30") ||
		!strings.Contains(fmt.Sprint(bar["data"].(object)["text/html"]), "loading &lt;m&gt;") {
		t.Errorf("%v", bar)
	}
	for _, u := range updates {
		if u["transient"].(object)["display_id"] != id {
			t.Errorf("another display: %v", u)
		}
	}
	if last := updates[len(updates)-1]; plain(last) != "" {
		t.Errorf("the bar stays: %v", last)
	}
	if got := r.text("stderr"); got != "warning: the model is odd\n" {
		t.Errorf("%q", got)
	}
	// What takes half a second needs no bar.
	r = f.run("%model quick")
	if want := []string{"busy", "execute_input", "stream", "error"}; !slices.Equal(r.types, want) {
		t.Errorf("%v, want %v", r.types, want)
	}
	// A warning without a cell waits for the next.
	k.Warn("the disk is full")
	if got := f.run("prob(0.5)").ok().text("stderr"); got != "warning: the disk is full\n" {
		t.Errorf("%q", got)
	}
}

func TestFault(t *testing.T) {
	k := serve(t, Options{}, func(*Kernel) lang.Options {
		return lang.Options{Model: "m", Open: func(context.Context, string) (lm.Model, error) { panic("a fault") }}
	})
	f := dial(t, k.o.Connection)
	if r := f.run(`M("a", "b")`); r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "a fault") {
		t.Errorf("%v", r.reply)
	}
	f.run("prob(0.5)").ok()
}

func TestKernelInfo(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	r := f.await(f.send(f.shell, "kernel_info_request", object{})).ok()
	lang := r.reply["language_info"].(object)
	if lang["name"] != "modellog" || lang["mimetype"] != "text/x-modellog" || lang["file_extension"] != ".logic" || r.reply["protocol_version"] != "5.4" {
		t.Errorf("%v", r.reply)
	}
	f.send(f.control, "kernel_info_request", object{})
	if m := f.next(f.controls, time.Second); m.Header.MsgType != "kernel_info_reply" {
		t.Errorf("%s", m.Header.MsgType)
	}
}

func TestComplete(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	f.run("dog = prob(0.5)\ndonkey = prob(0.5)\nimplication(a, b) = a -> b").ok()
	for _, c := range []struct {
		code       string
		pos        any
		want       []string
		start, end float64
	}{
		{"do", 2, []string{"dog", "donkey"}, 0, 2},
		{"wmc(do & dog)", 6, []string{"dog", "donkey"}, 4, 6},
		{"imp", 3, []string{"implication(", "implies"}, 0, 3},
		{`x = "🐶"; do`, 11, []string{"dog", "donkey"}, 9, 11},
		{`x = "🐶"; do`, 12, []string{"dog", "donkey"}, 9, 11}, // counted in UTF-16
		{"do", -3, nil, 0, 0},
		{"do", 1e6, []string{"dog", "donkey"}, 0, 2},
		{"do", nil, []string{"dog", "donkey"}, 0, 2},
		{"%mod", 4, []string{"%model", "%models"}, 0, 4},
		{"%%", 2, []string{"%%go"}, 0, 2},
		{`"do`, 3, []string{}, 3, 3},
	} {
		q := object{"code": c.code}
		if c.pos != nil {
			q["cursor_pos"] = c.pos
		}
		r := f.await(f.send(f.shell, "complete_request", q)).ok()
		var got []string
		for _, m := range r.reply["matches"].([]any) {
			got = append(got, m.(string))
		}
		if c.want != nil && (len(got) != len(c.want) || !slices.Equal(got, c.want)) || r.reply["cursor_start"] != c.start || r.reply["cursor_end"] != c.end {
			t.Errorf("%q at %v: %v from %v to %v, want %v from %v to %v", c.code, c.pos, got, r.reply["cursor_start"], r.reply["cursor_end"], c.want, c.start, c.end)
		}
	}
}

func TestInspect(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	f.run("dog = prob(0.5)").ok()
	for _, c := range []struct {
		code string
		pos  int
		want string // in the text; "" for nothing found
	}{
		{"wmc(dog)", 1, "wmc("},
		{"wmc(dog)", 3, "wmc("},
		{"wmc(dog)", 5, "event"},
		{"wmc( )", 4, "wmc("},
		{"dog -> dog", 5, "implies"},
		{"%calibration raw", 4, "%calibration"},
		{`"🐶" -> dog`, 10, "event"},
		{"nothing", 3, ""},
		{"", 7, ""},
	} {
		r := f.await(f.send(f.shell, "inspect_request", object{"code": c.code, "cursor_pos": c.pos, "detail_level": 0})).ok()
		text := ""
		if r.reply["found"] == true {
			text = plain(r.reply)
		}
		if c.want == "" != (text == "") || !strings.Contains(text, c.want) {
			t.Errorf("%q at %d: %q, want %q", c.code, c.pos, text, c.want)
		}
	}
}

func TestIsComplete(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	for code, want := range map[string]string{
		"":                                  "complete",
		"a = prob(0.5)":                     "complete",
		"a ->":                              "incomplete",
		"wmc(a":                             "incomplete",
		"a b":                               "invalid",
		"wmc(a))":                           "invalid",
		"%%go":                              "incomplete",
		"%%go\nfunc f() {":                  "incomplete",
		"%%go\nfunc f() {\n\n":              "incomplete",
		"%%go\nfunc f() {}":                 "incomplete",
		"%%go\nfunc f() {}\n":               "complete",
		"%%go\nvar s = `a\n":                "incomplete",
		"%%go\n%%\nfmt.Println(\"{\")\n":    "complete",
		"%%go\n!echo it's { \n":             "complete",
		"%%go\n/* \n":                       "incomplete",
		"\n  %%go  \nimport \"fmt\" // (\n": "complete",
	} {
		r := f.await(f.send(f.shell, "is_complete_request", object{"code": code}))
		if r.reply["status"] != want {
			t.Errorf("%q: %v, want %s", code, r.reply["status"], want)
		}
	}
}

func TestHistory(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	for _, code := range []string{"a = prob(0.5)", "wmc(a)", "wmc(a)", "wmc(a & a)", `M("x[", "y/z")`} {
		f.run(code)
	}
	f.await(f.start("wmc(!a)", object{"store_history": false})).ok()
	for _, c := range []struct {
		q    object
		want string
	}{
		{object{"hist_access_type": "tail", "n": 2}, `[[1 4 wmc(a & a)] [1 5 M("x[", "y/z")]]`},
		{object{"hist_access_type": "range", "session": 0, "start": 2, "stop": 4}, "[[1 2 wmc(a)] [1 3 wmc(a)]]"},
		{object{"hist_access_type": "range", "session": 7, "start": 0}, "[]"},
		{object{"hist_access_type": "range", "session": 0, "start": 2, "stop": 3, "output": true}, "[[1 2 [wmc(a) 0.5]]]"},
		{object{"hist_access_type": "search", "pattern": "wmc(*"}, "[[1 2 wmc(a)] [1 3 wmc(a)] [1 4 wmc(a & a)]]"},
		{object{"hist_access_type": "search", "pattern": "wmc(*", "unique": true}, "[[1 3 wmc(a)] [1 4 wmc(a & a)]]"},
		{object{"hist_access_type": "search", "pattern": "wmc(*", "n": 1}, "[[1 4 wmc(a & a)]]"},
		{object{"hist_access_type": "search", "pattern": "*[*/?\")"}, `[[1 5 M("x[", "y/z")]]`},
	} {
		r := f.await(f.send(f.shell, "history_request", c.q)).ok()
		if got := fmt.Sprint(r.reply["history"]); got != c.want {
			t.Errorf("%v: %s, want %s", c.q, got, c.want)
		}
	}
	if r := f.await(f.send(f.shell, "history_request", object{"n": "many"})); r.reply["status"] != "error" {
		t.Errorf("%v", r.reply)
	}
}

// TestShutdown shuts down while a cell runs.
func TestShutdown(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, restart := range []bool{false, true} {
		k := serve(t, Options{}, func(*Kernel) lang.Options {
			return lang.Options{Model: "m", Open: func(ctx context.Context, _ string) (lm.Model, error) { <-ctx.Done(); return nil, ctx.Err() }}
		})
		f := dial(t, k.o.Connection)
		f.start(`M("a", "b")`, nil)
		time.Sleep(50 * time.Millisecond)
		f.send(f.control, "shutdown_request", object{"restart": restart})
		m := f.next(f.controls, 5*time.Second)
		if c := content(t, m); m.Header.MsgType != "shutdown_reply" || c["status"] != "ok" || c["restart"] != restart {
			t.Errorf("%s %v", m.Header.MsgType, c)
		}
		select {
		case err := <-k.done:
			k.done <- err
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("the kernel goes on")
		}
	}
	for range 100 {
		if runtime.NumGoroutine() < before+20 { // the clients' sockets end with the test
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
}

// TestNonsense sends what is no request, and requests that are none.
func TestNonsense(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	forger := *f
	forger.signer = wire.NewSigner("another key")
	for _, s := range []zmq4.Socket{f.shell, f.control, f.stdin} {
		for _, frames := range [][][]byte{{nil}, {[]byte("x")}, {[]byte("<IDS|MSG>")}, {[]byte("<IDS|MSG>"), nil, nil, nil, nil, nil}} {
			if err := s.SendMulti(zmq4.NewMsgFrom(frames...)); err != nil {
				t.Fatal(err)
			}
		}
		forger.send(s, "shutdown_request", object{})
		for _, msgType := range []string{"input_reply", "no_such_request", "comm_msg", "comm_close", "debug_request"} {
			f.send(s, msgType, object{"data": 7, "comm_id": []int{}})
		}
	}
	for _, msgType := range []string{"complete_request", "inspect_request", "is_complete_request", "comm_info_request"} {
		f.await(f.send(f.shell, msgType, object{"code": 7, "cursor_pos": "x", "target_name": 1}))
	}
	for _, c := range []object{{}, {"code": 7}, {"code": nil}} {
		if r := f.await(f.send(f.shell, "execute_request", c)); r.reply["status"] != "error" || r.reply["ename"] != "ProtocolError" {
			t.Errorf("%v: %v", c, r.reply)
		}
	}
	// A comm that nobody offers is closed at once.
	f.send(f.shell, "comm_open", object{"comm_id": "c", "target_name": "nobody", "data": object{}})
	for {
		if m := f.next(f.published, 5*time.Second); m.Header.MsgType == "comm_close" {
			break
		}
	}
	f.run("prob(0.5)").ok()
}

// TestSameIDs has requests on shell and control with one id, as a client and its manager may send.
func TestSameIDs(t *testing.T) {
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	id := f.start("wmc(prob(0.5))", nil)
	m := &wire.Message{Header: wire.NewHeader(f.session, "kernel_info_request"), Content: []byte("{}")}
	m.Header.MsgID = id
	frames, err := f.signer.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.control.SendMulti(zmq4.NewMsgFrom(frames...)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		ch   chan *wire.Message
		want string
	}{{f.replies, "execute_reply"}, {f.controls, "kernel_info_reply"}} {
		if m := f.next(c.ch, 5*time.Second); m.ParentID() != id || m.Header.MsgType != c.want || content(t, m)["status"] != "ok" {
			t.Errorf("%s %s", m.Header.MsgType, m.Content)
		}
	}
}

// TestRawGarbage writes what is no ZeroMQ to the ports while a front-end works.
func TestRawGarbage(t *testing.T) {
	k := serve(t, Options{}, nil)
	c := k.o.Connection
	f := dial(t, c)
	f.run("a = prob(0.25)").ok()
	rng := rand.New(rand.NewPCG(5, 6))
	greeting := append([]byte{0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L'}, make([]byte, 48)...)
	for i := range 60 {
		_, address := c.Address([]int{c.ShellPort, c.ControlPort, c.StdinPort, c.IOPubPort, c.HeartbeatPort}[i%5])
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		data := make([]byte, 1+rng.IntN(300))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		if i%2 == 0 {
			data = append(greeting, data...)
		}
		nc.SetDeadline(time.Now().Add(time.Second))
		if _, err := nc.Write(data); err == nil && i%3 == 0 {
			nc.Close()
		}
		if got := plain(f.run("wmc(a)").ok().of("execute_result")[0]); got != "0.25" {
			t.Fatal(got)
		}
	}
}

// TestTwoFrontEnds runs cells from two front-ends at a time.
func TestTwoFrontEnds(t *testing.T) {
	k := serve(t, Options{}, nil)
	a, b := dial(t, k.o.Connection), dial(t, k.o.Connection)
	a.run("shared = prob(0.125)").ok()
	for i := range 50 {
		ia := a.start(fmt.Sprintf("wmc(prob(0.%d1))", i), nil)
		ib := b.start("wmc(shared)", nil)
		if got, want := plain(a.await(ia).ok().of("execute_result")[0]), fmt.Sprintf("0.%d1", i); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if got := plain(b.await(ib).ok().of("execute_result")[0]); got != "0.125" {
			t.Fatal(got)
		}
	}
}

func TestNoGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	k := serve(t, Options{}, nil)
	f := dial(t, k.o.Connection)
	r := f.run("%%go\nfmt.Println()")
	if r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "no go in PATH") || len(r.of("error")) != 1 {
		t.Errorf("%v %v", r.reply, r.types)
	}
	f.run("wmc(prob(0.5))").ok()
	for _, msgType := range []string{"complete_request", "inspect_request"} {
		f.await(f.send(f.shell, msgType, object{"code": "%%go\nfmt.", "cursor_pos": 9})).ok()
	}
	// With Go alone it is GoNB that is missing.
	if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), "go"), []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r = f.run("%%go\nfmt.Println()")
	if r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "run: modellog kernel install") || len(r.of("error")) != 1 {
		t.Errorf("%v %v", r.reply, r.types)
	}
	f.run("wmc(prob(0.5))").ok()
}

func TestForGoNB(t *testing.T) {
	for code, want := range map[string]string{
		"%%go":                               "    ",
		"%%go\nx":                            "    \nx",
		"%%go  \nx":                          "      \nx",
		"\n%%go\n%%\nx":                      "\n    \n%%\nx",
		"%%go\n%%bash\nls":                   "%%bash\nls",
		"%%go\n%%writefile a.txt\nx\n%%go":   "%%writefile a.txt\nx\n%%go",
		"%%go\n//gonb:%%script python\nx":    "//gonb:%%script python\nx",
		"%%go\n\n%%bash":                     "    \n\n%%bash",
		"%%go\r\n%%sh\r\nls":                 "%%sh\nls",
		"%%go\r\n%%\r\nx\r\n":                "    \n%%\nx\n",
		"%%go\nfmt.Println(\"%%go\")":        "    \nfmt.Println(\"%%go\")",
		"  %%go\n\tvar größe = \"%%go 🐶\"\n": "      \n\tvar größe = \"%%go 🐶\"\n",
	} {
		if !isGo(code) {
			t.Errorf("%q is taken for no Go cell", code)
		}
		if got := forGoNB(code); got != want {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
	for _, code := range []string{"", "%%", "%%gopher", "%%go x", "x\n%%go", "# c\n%%go", "%go"} {
		if isGo(code) {
			t.Errorf("%q is taken for a Go cell", code)
		}
	}
}
