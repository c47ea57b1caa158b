//go:build linux

package kernel

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"github.com/modellog/modellog/kernel/gonb"
	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
)

// serveGo starts a kernel with Go cells and waits until these are ready.
func serveGo(t *testing.T, options func(*Kernel) lang.Options) *served {
	t.Helper()
	return serveWork(t, options)
}

// serveWork starts a kernel whose Go cells can import modules.
func serveWork(t *testing.T, options func(*Kernel) lang.Options, work ...string) *served {
	t.Helper()
	needGo(t)
	k := serve(t, Options{Go: GoOptions{ToolsDir: toolsDir(t), Dir: t.TempDir(), Work: work}}, options)
	for range 600 {
		if k.goCells.current() != nil {
			return k
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("GoNB does not start")
	return nil
}

func TestGoCell(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("a = prob(0.5)").ok()
	r := f.run("%%go\n%%\nfmt.Println(\"hello, world\")\nfmt.Fprintln(os.Stderr, \"oops\")").ok()
	if r.text("stdout") != "hello, world\n" || r.text("stderr") != "oops\n" || r.reply["execution_count"] != 2.0 ||
		r.of("execute_input")[0]["execution_count"] != 2.0 || len(r.of("execute_input")) != 1 {
		t.Errorf("%v %v", r.reply, r.types)
	}
	// Declarations stay; other cells are counted along.
	f.run("%%go\nfunc twice(x int) int { return 2 * x }").ok()
	for range 3 {
		f.run("wmc(a)").ok()
	}
	if r := f.run("%%go\n%%\nfmt.Println(twice(21))").ok(); r.text("stdout") != "42\n" || r.reply["execution_count"] != 7.0 {
		t.Errorf("%v %q", r.reply, r.text("stdout"))
	}
	r = f.run("%%go\n\n%%\nfmt.Println(1)\npanic(\"here\")")
	// The place is told in the trace, where a busy machine does not cut it in two, and in what is shown beside it.
	if r.reply["status"] != "error" || !strings.Contains(r.text("stderr"), "panic: here") || len(r.of("error")) != 1 || len(r.of("display_data")) != 1 ||
		!strings.Contains(fmt.Sprint(r.of("display_data")[0]["data"]), "Cell[8]: Line 5") {
		t.Errorf("%v %v %v:\n%s", r.reply, r.types, r.of("display_data"), r.text("stderr"))
	}
	// What the compiler says is in the error itself.
	r = f.run("%%go\n\n%%\nvar s string = 1 < 2\nunknown(s)")
	if e := r.of("error"); len(e) != 1 || !reflect.DeepEqual(e[0]["traceback"], r.reply["traceback"]) || e[0]["evalue"] != r.reply["evalue"] ||
		!regexp.MustCompile(`^Cell\[9\]: Line 4: cannot use 1 < 2 \(.*\) as string value`).MatchString(fmt.Sprint(r.reply["evalue"])) ||
		!strings.Contains(fmt.Sprint(r.reply["traceback"]), "Cell[9]: Line 5: undefined: unknown") {
		t.Errorf("%v %v", r.reply, e)
	}
	// A mistake that no compiler gets to see is told as the others are.
	for code, want := range map[string]string{
		"%%go\n\n%%\nfmt.Println(\"x)":     "Line 4: string literal not terminated",
		"%%go\r\n%%\r\nvar s = )\r\nx\r\n": "Line 3: expected operand",
	} {
		r := f.await(f.start(code, object{"store_history": false}))
		if e := r.of("error"); len(e) != 1 || !reflect.DeepEqual(e[0]["traceback"], r.reply["traceback"]) || e[0]["evalue"] != r.reply["evalue"] ||
			!strings.Contains(fmt.Sprint(r.reply["evalue"]), want) || !strings.HasPrefix(fmt.Sprint(r.reply["evalue"]), "Cell[") || strings.Contains(fmt.Sprint(r.reply), "main.go") {
			t.Errorf("%q: %v %v", code, r.reply, e)
		}
	}
	// Lines may end as on Windows.
	if r := f.await(f.start("%%go\r\n%%\r\nfmt.Println(\"crlf\")\r\n", object{"store_history": false})).ok(); r.text("stdout") != "crlf\n" {
		t.Errorf("%v %q", r.reply, r.text("stdout"))
	}
	// What has to come first does.
	file := filepath.Join(t.TempDir(), "x")
	f.run("%%go\n%%writefile " + file + "\nhello\n%%go").ok()
	if b, err := os.ReadFile(file); err != nil || string(b) != "hello\n%%go\n" {
		t.Errorf("%q %v", b, err)
	}
	if r := f.run("%%go\n%%bash\necho $((6*7))").ok(); r.text("stdout") != "42\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	// Silent, and not counted.
	if r := f.await(f.start("%%go\n!echo x", object{"silent": true})).ok(); len(r.published) != 0 || r.reply["execution_count"] != 11.0 {
		t.Errorf("%v %v", r.types, r.reply)
	}
	if r := f.await(f.start("%%go\n!echo x", object{"store_history": false})).ok(); r.text("stdout") != "x\n" || r.reply["execution_count"] != 11.0 {
		t.Errorf("%v %v", r.types, r.reply)
	}
	if r := f.run("%%go\n%%\nfmt.Println(twice(4))").ok(); r.text("stdout") != "8\n" || r.reply["execution_count"] != 12.0 {
		t.Errorf("%v %q", r.reply, r.text("stdout"))
	}
	// GoNB's own count, which traces show, has kept step with cells that were not counted, and with those it did not see.
	for range 3 {
		f.run("wmc(a)").ok()
	}
	if r := f.run("%%go\n%%\npanic(\"again\")"); !strings.Contains(fmt.Sprint(r.of("display_data")), "Cell[16]: Line 3") {
		t.Errorf("%v %v:\n%s", r.reply, r.of("display_data"), r.text("stderr"))
	}
}

// TestGoOrder runs many cells that print much: all of it lies between busy and
// idle.
func TestGoOrder(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	for i := range 200 {
		r := f.run(fmt.Sprintf("%%%%go\n!for i in $(seq 50); do echo %d.$i; done", i)).ok()
		if got := strings.Count(r.text("stdout"), "\n"); got != 50 || !strings.HasSuffix(r.text("stdout"), fmt.Sprintf("%d.50\n", i)) {
			t.Fatalf("cell %d: %d lines of 50", i, got)
		}
	}
}

// TestGoSameIDs has control requests under the id of a Go cell that runs, as a client and its manager may send: each
// is answered as what it is, and the cell ends as one that was interrupted.
func TestGoSameIDs(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	id := f.start("%%go\n!echo begun; sleep 1000", nil)
	for m := f.next(f.published, patient); m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
	}
	for msgType, want := range map[string]string{"kernel_info_request": "kernel_info_reply", "interrupt_request": "interrupt_reply"} {
		m := &wire.Message{Header: wire.NewHeader(f.session, msgType), Content: []byte("{}")}
		m.Header.MsgID = id
		frames, err := f.signer.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.control.SendMulti(zmq4.NewMsgFrom(frames...)); err != nil {
			t.Fatal(err)
		}
		if m := f.next(f.controls, 5*time.Second); m.ParentID() != id || m.Header.MsgType != want || content(t, m)["status"] != "ok" {
			t.Errorf("%s %s", m.Header.MsgType, m.Content)
		}
	}
	if m := f.next(f.replies, 5*time.Second); m.ParentID() != id || m.Header.MsgType != "execute_reply" || content(t, m)["ename"] != "Interrupted" {
		t.Errorf("%s %s", m.Header.MsgType, m.Content)
	}
	f.run("%%go\n!true").ok()
}

func TestGoInput(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	id := f.start("%%go\n%with_inputs\n!read x; echo got $x", object{"allow_stdin": true})
	ask := f.next(f.inputs, patient)
	if ask.Header.MsgType != "input_request" || ask.ParentID() != id {
		t.Errorf("%s %s", ask.Header.MsgType, ask.Parent)
	}
	f.send(f.stdin, "input_reply", object{"value": "a line"})
	if r := f.await(id).ok(); r.text("stdout") != "got a line\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	id = f.start("%%go\n%with_password\n!read x; echo got $x", object{"allow_stdin": true})
	if ask := f.next(f.inputs, patient); content(t, ask)["password"] != true {
		t.Errorf("what is typed would be seen: %s", ask.Content)
	}
	f.send(f.stdin, "input_reply", object{"value": "a secret"})
	if r := f.await(id).ok(); r.text("stdout") != "got a secret\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	// A front-end that gives no input is not asked, and the cell does not hang.
	begin := time.Now()
	r := f.run("%%go\n%with_inputs\n!read x; echo got $x")
	if d := time.Since(begin); d > 10*time.Second || r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "allow_stdin") {
		t.Errorf("after %v: %v", d, r.reply)
	}
	if len(f.inputs) != 0 {
		t.Error("it was asked")
	}
}

// TestGoRequestInput has a program itself ask for input, and ask a front-end that gives none.
func TestGoRequestInput(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off")
	k := serveWork(t, nil, root)
	f := dial(t, k.o.Connection)
	const code = "%%go\nimport \"github.com/janpfeifer/gonb/gonbui\"\n%%\ngonbui.RequestInput(\"who? \", false)\nvar name string\nfmt.Scanln(&name)\nfmt.Println(\"it is\", name)"
	id := f.start(code, object{"allow_stdin": true})
	ask := f.next(f.inputs, patient)
	if c := content(t, ask); ask.ParentID() != id || c["prompt"] != "who? " || c["password"] != false {
		t.Errorf("%s %s", ask.Parent, ask.Content)
	}
	f.send(f.stdin, "input_reply", object{"value": "größe🐶"})
	if r := f.await(id).ok(); r.text("stdout") != "it is größe🐶\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	begin := time.Now()
	r := f.run(code)
	if d := time.Since(begin); d > 10*time.Second || r.reply["ename"] != "InputError" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "allow_stdin") || len(f.inputs) != 0 {
		t.Errorf("after %v: %v; asked %d times", d, r.reply, len(f.inputs))
	}
	f.run("%%go\n!true").ok()
}

// TestGoComms is the life of a widget: the front-end opens a comm as %widgets asks it to, the program sends to it
// and gets its answer while the cell runs.
func TestGoComms(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off")
	k := serveWork(t, nil, root)
	f := dial(t, k.o.Connection)
	// %widgets waits for the comm that its script opens in the browser, by the kernel's id.
	id := f.start("%%go\n%widgets", nil)
	script := f.next(f.published, patient)
	for script.Header.MsgType != "update_display_data" && script.Header.MsgType != "display_data" {
		script = f.next(f.published, patient)
	}
	if !strings.Contains(string(script.Content), k.o.ID) {
		t.Errorf("the script does not know the kernel's id %s", k.o.ID)
	}
	f.send(f.shell, "comm_open", object{"comm_id": "c1", "target_name": "gonb_comm", "kernel_id": k.o.ID, "data": object{}})
	type data struct {
		Address string `json:"address"`
		Value   any    `json:"value"`
	}
	// comm returns what GoNB sends next over the comm; it asks for signs of life, too.
	comm := func() data {
		t.Helper()
		for {
			m := f.next(f.published, patient)
			var c struct {
				ID   string `json:"comm_id"`
				Data data   `json:"data"`
			}
			if m.Header.MsgType != "comm_msg" {
				continue
			}
			if err := json.Unmarshal(m.Content, &c); err != nil || c.ID != "c1" {
				t.Fatalf("%s: %v", m.Content, err)
			}
			if c.Data.Address == "#heartbeat/ping" {
				f.send(f.shell, "comm_msg", object{"comm_id": "c1", "data": data{"#heartbeat/pong", true}})
				continue
			}
			return c.Data
		}
	}
	if d := comm(); d.Address != "#comm_open_ack" || d.Value != true {
		t.Errorf("%v", d)
	}
	f.begun = id
	f.await(id).ok()
	id = f.start("%%go\nimport \"github.com/janpfeifer/gonb/gonbui/comms\"\n%%\nin := comms.Listen[string](\"/in\")\ncomms.Send(\"/out\", \"ready\")\nfmt.Println(\"got\", <-in.C)", nil)
	if d := comm(); d.Address != "/out" || d.Value != "ready" {
		t.Errorf("%v", d)
	}
	f.send(f.shell, "comm_msg", object{"comm_id": "c1", "data": data{"/in", "a click"}})
	f.begun = id
	if r := f.await(id).ok(); r.text("stdout") != "got a click\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	r := f.await(f.send(f.shell, "comm_info_request", object{})).ok()
	if c, _ := r.reply["comms"].(object)["c1"].(object); c["target_name"] != "gonb_comm" {
		t.Errorf("%v", r.reply)
	}
	r = f.await(f.send(f.shell, "comm_info_request", object{"target_name": "other"})).ok()
	if len(r.reply["comms"].(object)) != 0 {
		t.Errorf("%v", r.reply)
	}
}

// TestGoDisplays has a Go cell show something and change it.
func TestGoDisplays(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "off")
	k := serveWork(t, nil, root)
	f := dial(t, k.o.Connection)
	r := f.run("%%go\nimport \"github.com/janpfeifer/gonb/gonbui\"\n%%\nid := gonbui.UniqueId()\ngonbui.UpdateHtml(id, \"<b>1</b>\")\ngonbui.UpdateHtml(id, \"<b>2</b>\")\ngonbui.DisplayMarkdown(\"*m*\")\ngonbui.Sync()").ok()
	var got []string
	ids := map[any]bool{}
	for _, m := range r.published[1:] { // after execute_input
		c := content(t, m)
		d := c["data"].(object)
		if d["text/html"] != nil {
			ids[c["transient"].(object)["display_id"]] = true
		}
		got = append(got, fmt.Sprint(m.Header.MsgType, d["text/html"], d["text/markdown"]))
	}
	if want := "display_data<b>1</b><nil> update_display_data<b>2</b><nil> display_data<nil>*m*"; strings.Join(got, " ") != want || len(ids) != 1 {
		t.Errorf("%q, displays %v", got, ids)
	}
}

// TestGoFields sends requests that lack what GoNB falls without, and cells that are queued behind one that fails.
func TestGoFields(t *testing.T) {
	t.Parallel()
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	child := k.goCells.current()
	for _, q := range []object{
		{"code": "%%go\n!echo x"},
		{"code": "%%go\n!echo x", "silent": nil, "store_history": nil, "allow_stdin": nil},
		{"code": "%%go\n!echo x", "silent": false, "store_history": "yes", "more": []int{1}},
	} {
		r := f.await(f.send(f.shell, "execute_request", q))
		if q["store_history"] == "yes" {
			if r.reply["ename"] != "ProtocolError" {
				t.Errorf("%v", r.reply)
			}
		} else if r.text("stdout") != "x\n" {
			t.Errorf("%v: %v", q, r.reply)
		}
	}
	for k.goCells.current().Age() < young { // so that they reach it
		time.Sleep(100 * time.Millisecond)
	}
	for _, msgType := range []string{"complete_request", "inspect_request"} {
		for _, q := range []object{{"code": "%%go\nfmt."}, {"code": "%%go\nfmt.", "cursor_pos": nil}, {"code": "%%go\nfmt.", "cursor_pos": 3, "detail_level": "x"}, {},
			{"code": "%%go\nfmt.Println()", "cursor_pos": 12}, {"code": "%%go\nfmt.Println()", "cursor_pos": 12, "detail_level": nil}} {
			f.await(f.send(f.shell, msgType, q)).ok()
		}
	}
	first := f.start("%%go\n%%\nno_such_name()", nil)
	second := f.start("%%go\n!echo y", nil)
	if r := f.await(first); r.reply["status"] != "error" {
		t.Errorf("%v", r.reply)
	}
	if r := f.await(second); r.reply["status"] != "aborted" || len(r.published) != 0 {
		t.Errorf("what was queued: %v %v", r.reply, r.types)
	}
	if k.goCells.current() != child {
		t.Error("GoNB has fallen")
	}
}

// TestGoNoGet looks at how go is called for cells: what they import is there, and nothing is asked of the network.
func TestGoNoGet(t *testing.T) {
	needGo(t)
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	script := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>'%s'\nexec '%s' \"$@\"\n", calls, goCommand)
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	k := serveWork(t, nil, root)
	f := dial(t, k.o.Connection)
	f.run("%%go\nimport \"github.com/janpfeifer/gonb/gonbui\"\n%%\ngonbui.Sync()").ok()
	f.run("%%go\n%%\nfmt.Println()").ok()
	made, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(made), "\n")
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "build ") }) ||
		slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "get") }) {
		t.Errorf("go was called with\n%s", made)
	}
}

// TestGoNoCompile runs shell commands: without a program there is nothing to compile.
func TestGoNoCompile(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("%%go\n!true").ok()
	if files := f.run("%%go\n\n!ls $GONB_TMP_DIR").ok().text("stdout"); strings.Contains(files, "main.go") || !strings.Contains(files, "go.mod") {
		t.Errorf("GoNB's folder has %q", files)
	}
	f.run("%%go\n%%\nfmt.Println()").ok()
	if files := f.run("%%go\n!ls $GONB_TMP_DIR").ok().text("stdout"); !strings.Contains(files, "main.go") {
		t.Errorf("after a program it has %q", files)
	}
}

// TestGoTwoFrontEnds has two front-ends run Go cells: both see what either does, and a program asks the one whose
// cell it is.
func TestGoTwoFrontEnds(t *testing.T) {
	k := serveGo(t, nil)
	a, b := dial(t, k.o.Connection), dial(t, k.o.Connection)
	ia := a.start("%%go\n%with_inputs\n!read x; echo a $x", object{"allow_stdin": true})
	seen := a.next(a.inputs, patient)
	ib := b.start("%%go\n%with_inputs\n!read x; echo b $x", object{"allow_stdin": true})
	if seen.ParentID() != ia || len(b.inputs) != 0 {
		t.Errorf("%s; the other was asked, too: %v", seen.Parent, len(b.inputs) != 0)
	}
	a.send(a.stdin, "input_reply", object{"value": "1"})
	if r := a.await(ia).ok(); r.text("stdout") != "a 1\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	b.next(b.inputs, patient)
	b.send(b.stdin, "input_reply", object{"value": "2"})
	if r := b.await(ib).ok(); r.text("stdout") != "b 2\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	if len(a.inputs) != 0 {
		t.Error("the first was asked what is the second's to answer")
	}
	other := ""
	for other == "" {
		if m := a.next(a.published, patient); m.ParentID() == ib && m.Header.MsgType == "stream" {
			other = fmt.Sprint(content(t, m)["text"])
		}
	}
	if other != "b 2\n" {
		t.Errorf("the first sees %q of the second's cell", other)
	}
	// One who waits for input that nobody gives does not keep the other: it can interrupt.
	ia = a.start("%%go\n%with_inputs\n!read x; echo a $x", object{"allow_stdin": true})
	a.next(a.inputs, patient)
	ib = b.start("%%go\n!echo b", nil)
	b.send(b.control, "interrupt_request", object{})
	if r := a.await(ia); r.reply["ename"] != "Interrupted" {
		t.Errorf("%v", r.reply)
	}
	if r := b.await(ib).ok(); r.text("stdout") != "b\n" {
		t.Errorf("%q", r.text("stdout"))
	}
}

func TestGoName(t *testing.T) {
	for code, want := range map[string]string{
		"fmt.Print‸ln(1)": "Println", "‸fmt.Println(1)": "fmt", "fmt.Println‸(1)": "Println", "fmt.Println(‸)": "Println", "fmt.Println(a, f(b), ‸)": "Println",
		"f(g(‸), 1)": "g", "f(\n\t‸)": "f", "  größe‸": "größe", "": "", "‸": "", " ‸ {": "", ") ‸": "", "f() ‸": "", "(‸)": "", "{,‸}": "", "🐶‸": "",
	} {
		before, after, _ := strings.Cut(code, "‸")
		runes, pos := []rune(before+after), len([]rune(before))
		at, ok := goName(runes, pos)
		got := ""
		if ok {
			end := at
			for end < len(runes) && inGoName(runes[end]) {
				end++
			}
			got = string(runes[at:end])
		}
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", code, got, want)
		}
	}
}

// TestGoEverywhere asks at every place of a cell that is not quite right, and then runs another: GoNB is caught by no
// question.
func TestGoEverywhere(t *testing.T) {
	t.Parallel()
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	child := k.goCells.current()
	for child.Age() < young {
		time.Sleep(100 * time.Millisecond)
	}
	code := []rune("%%go\n%cd .\nfunc f(é, b int) {}\n!ls\n%%\nf(\"🐶\", ))\n}{ , fmt.")
	for pos := range len(code) + 1 {
		for _, msgType := range []string{"complete_request", "inspect_request"} {
			begin := time.Now()
			f.await(f.send(f.shell, msgType, object{"code": string(code), "cursor_pos": pos})).ok()
			if d := time.Since(begin); d > answerTime {
				t.Errorf("a %s at %d was answered after %v", msgType, pos, d)
			}
		}
	}
	if r := f.run("%%go\n!echo well").ok(); r.text("stdout") != "well\n" || k.goCells.current() != child {
		t.Errorf("%q", r.text("stdout"))
	}
}

// TestGoBusy asks for completion while GoNB does something else: the answer is empty, and at once.
func TestGoBusy(t *testing.T) {
	t.Parallel()
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	child := k.goCells.current()
	for child.Age() < young {
		time.Sleep(100 * time.Millisecond)
	}
	request, err := gonb.Complete(&wire.Message{Header: wire.NewHeader("s", "execute_request"), Content: []byte(`{"code": "!sleep 3", "silent": true}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { _, err := child.Do(context.Background(), request, nil, nil); over <- err }()
	for !child.Waiting() {
		time.Sleep(time.Millisecond)
	}
	for _, msgType := range []string{"complete_request", "inspect_request"} {
		begin := time.Now()
		f.await(f.send(f.shell, msgType, object{"code": "%%go\n%%\nfmt.Printl", "cursor_pos": 19})).ok()
		if d := time.Since(begin); d > time.Second {
			t.Errorf("a %s was answered after %v", msgType, d)
		}
	}
	if len(over) != 0 {
		t.Error("GoNB was not busy")
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

func TestGoComplete(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for gopls")
	}
	t.Parallel()
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	ask := func(msgType, code string) (*ran, []string) {
		before, _, _ := strings.Cut(code, "‸")
		r := f.await(f.send(f.shell, msgType, object{"code": strings.Replace(code, "‸", "", 1), "cursor_pos": len([]rune(before)), "detail_level": 0})).ok()
		var got []string
		matches, _ := r.reply["matches"].([]any)
		for _, m := range matches {
			got = append(got, m.(string))
		}
		return r, got
	}
	// A young GoNB would answer after seconds only, and hold up everything.
	begin := time.Now()
	if _, got := ask("complete_request", "%%go\n%%\nfmt.Printl‸"); len(got) != 0 && time.Since(begin) < time.Second {
		t.Errorf("%v", got)
	}
	if d := time.Since(begin); d > time.Second {
		t.Errorf("answered after %v", d)
	}
	for k.goCells.current().Age() < young+2*time.Second {
		time.Sleep(100 * time.Millisecond)
	}
	code := "%%go\n%%\nfmt.Printl‸"
	var r *ran
	var got []string
	for range 10 { // gopls itself wakes up, too
		if r, got = ask("complete_request", code); len(got) > 0 {
			break
		}
		time.Sleep(time.Second)
	}
	check := func(code string) {
		t.Helper()
		before, _, _ := strings.Cut(code, "‸")
		end := len([]rune(before))
		if !slices.Contains(got, "Println") || r.reply["cursor_start"] != float64(end-len("Printl")) || r.reply["cursor_end"] != float64(end) {
			t.Errorf("%v", r.reply)
		}
	}
	check(code)
	// After what is not ASCII, on the same line and before it.
	code = "%%go\nconst größe = \"🐶\"\n%%\n_ = \"🐶é\"; fmt.Printl‸"
	r, got = ask("complete_request", code)
	check(code)
	// And with lines that end as on Windows.
	code = "%%go\r\nconst größe = \"🐶\"\r\n%%\r\n_ = \"🐶é\"; fmt.Printl‸\r\n"
	r, got = ask("complete_request", code)
	check(code)
	if r, _ := ask("inspect_request", "%%go\r\n\r\n%%\r\nfmt.Print‸ln(1)"); r.reply["found"] != true || !strings.Contains(fmt.Sprint(r.reply["data"]), "Println") {
		t.Errorf("%v", r.reply)
	}
	code = strings.TrimSuffix(strings.ReplaceAll(code, "\r\n", "\n"), "\n")
	// A front-end that counts in UTF-16 is past the end.
	pos := len([]rune(code)) + 1
	r = f.await(f.send(f.shell, "complete_request", object{"code": strings.Replace(code, "‸", "", 1), "cursor_pos": pos})).ok()
	if r.reply["cursor_end"] != float64(pos-2) {
		t.Errorf("%v", r.reply)
	}
	if r, _ := ask("inspect_request", "%%go\n%%\nfmt.Print‸ln(1)"); r.reply["found"] != true || !strings.Contains(fmt.Sprint(r.reply["data"]), "Println") {
		t.Errorf("%v", r.reply)
	}
	if r, _ := ask("inspect_request", "%%go\n%%\nno_such_na‸me(1)"); r.reply["found"] != false {
		t.Errorf("what nobody knows has %v", r.reply)
	}
	// Without gopls nothing is known, which is no documentation of anything.
	gopls, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	killed := false
	for _, file := range gopls {
		line, err := os.ReadFile(file)
		var pid, parent int
		if err != nil || !strings.Contains(string(line), "gopls\x00") {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(stat), ") ")
		fmt.Sscanf(string(stat), "%d", &pid)
		fmt.Sscanf(after[2:], "%d", &parent)
		if parent == k.goCells.current().PID() {
			killed = syscall.Kill(pid, syscall.SIGKILL) == nil
		}
	}
	if !killed {
		t.Fatal("there is no gopls")
	}
	time.Sleep(200 * time.Millisecond)
	if r, _ := ask("inspect_request", "%%go\n%%\nfmt.Print‸ln(1)"); r.reply["found"] != false || len(r.reply["data"].(object)) != 0 {
		t.Errorf("%v", r.reply)
	}
}

// TestTwoKernels runs two at once, with one's GoNB killed under a cell of the other's.
func TestTwoKernels(t *testing.T) {
	a, b := serveGo(t, nil), serveGo(t, nil)
	fa, fb := dial(t, a.o.Connection), dial(t, b.o.Connection)
	fa.run("x = prob(0.25)").ok()
	fb.run("x = prob(0.75)").ok()
	id := fa.start("%%go\n!sleep 1; echo a", nil)
	syscall.Kill(b.goCells.current().PID(), syscall.SIGKILL)
	fb.send(fb.control, "interrupt_request", object{})
	fb.next(fb.controls, patient) // or it may meet the next cell
	if r := fb.run("wmc(x)").ok(); plain(r.of("execute_result")[0]) != "0.75" {
		t.Errorf("%v", r.reply)
	}
	fb.run("%%go\n!echo b").ok()
	if r := fa.await(id).ok(); r.text("stdout") != "a\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	if r := fa.run("wmc(x)").ok(); plain(r.of("execute_result")[0]) != "0.25" {
		t.Errorf("%v", r.reply)
	}
}

// TestGoSession has a program in a Go cell use the kernel's session, by the
// protocol alone.
func TestGoSession(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("dog = prob(0.25)").ok()
	r := f.run(`%%go
import ("bufio"; "net"; "os"; "fmt")
%%
c, err := net.Dial("unix", os.Getenv("MODELLOG_KERNEL_SOCKET"))
if err != nil { panic(err) }
fmt.Fprintln(c, ` + "`" + `{"id":1,"op":"define","program":"cat = !dog"}` + "`" + `)
fmt.Fprintln(c, ` + "`" + `{"id":2,"op":"eval","program":"wmc(cat)"}` + "`" + `)
s := bufio.NewScanner(c)
for range 3 {
	s.Scan()
	fmt.Println(s.Text())
}`).ok()
	if out := r.text("stdout"); !strings.Contains(out, `"value":0.75`) || strings.Count(out, `"end":true`) != 2 {
		t.Errorf("%s", out)
	}
	if r := f.run("wmc(cat)").ok(); plain(r.of("execute_result")[0]) != "0.75" {
		t.Errorf("%v", r.reply)
	}
	// Interrupting the Go cell interrupts what it has the session do.
	program, err := json.Marshal(slowProgram())
	if err != nil {
		t.Fatal(err)
	}
	id := f.start("%%go\nimport (\"io\"; \"net\"; \"os\"; \"os/signal\"; \"fmt\")\n%%\nsignal.Ignore(os.Interrupt)\nc, _ := net.Dial(\"unix\", os.Getenv(\"MODELLOG_KERNEL_SOCKET\"))\nfmt.Fprintf(c, `{\"id\":1,\"op\":\"eval\",\"program\":%s}\n`, `"+string(program)+"`)\nb := make([]byte, 1000)\nn, _ := io.ReadAtLeast(c, b, 1)\nfmt.Println(string(b[:n]))", nil)
	time.Sleep(3 * time.Second)
	begin := time.Now()
	f.send(f.control, "interrupt_request", object{})
	r = f.await(id)
	if d := time.Since(begin); d > 3*time.Second || !strings.Contains(r.text("stdout"), "interrupted") {
		t.Errorf("after %v: %v %q %q", d, r.reply, r.text("stdout"), r.text("stderr"))
	}
}
