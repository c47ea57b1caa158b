//go:build linux

package kernel

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modellog/modellog/kernel/zmtp"
)

// TestGoInterrupt interrupts programs, shell commands and compilations at random
// moments.
func TestGoInterrupt(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("a = prob(0.25)").ok()
	f.run("%%go\nfunc kept() int { return 7 }").ok()
	rng := rand.New(rand.NewPCG(1, 2))
	codes := []string{
		"%%go\n%%\ntime.Sleep(time.Hour)",
		"%%go\n!sleep 1000",
		"%%go\n!sleep 1000\n!sleep 1000",
		"%%go\n!sleep 1000; true", // the shell itself would wait for its program
		"%%go\n%%\nfor {}",
	}
	var took []time.Duration
	for i := range 15 {
		code := codes[i%len(codes)]
		id := f.start(code, nil)
		queued := f.start("wmc(a)", nil)
		time.Sleep(time.Duration(rng.IntN(600)) * time.Millisecond)
		begin := time.Now()
		if i%2 == 0 {
			f.send(f.control, "interrupt_request", object{})
			if m := f.next(f.controls, 5*time.Second); content(t, m)["status"] != "ok" {
				t.Errorf("%s", m.Content)
			}
		} else {
			syscall.Kill(os.Getpid(), syscall.SIGINT)
		}
		r := f.await(id)
		d := time.Since(begin)
		if took = append(took, d); d > 4*time.Second {
			t.Errorf("%q stopped after %v", code, d)
		}
		if r.reply["status"] != "error" {
			t.Errorf("%q: %v", code, r.reply)
		}
		if r := f.await(queued); r.reply["status"] != "aborted" {
			t.Errorf("what was queued: %v", r.reply)
		}
	}
	// A busy machine may be late at times, but as a rule it is much less than a second.
	if slices.Sort(took); took[len(took)/2] > time.Second {
		t.Errorf("stopped after %v", took)
	}
	if r := f.run("%%go\n%%\nfmt.Println(kept())").ok(); r.text("stdout") != "7\n" {
		t.Errorf("%q", r.text("stdout"))
	}
	if r := f.run("wmc(a)").ok(); plain(r.of("execute_result")[0]) != "0.25" {
		t.Errorf("%v", r.reply)
	}
}

// TestGoInterruptOnce interrupts cells that are about to end, and runs another at once: a signal for the first does not
// meet the second.
func TestGoInterruptOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // with one thread, signals are handled late
	t.Setenv("GOMAXPROCS", "1")
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	rng := rand.New(rand.NewPCG(9, 10))
	interrupted := 0
	for range 40 {
		id := f.start("%%go\n!echo begun; sleep 0.1", nil)
		for m := f.next(f.published, patient); m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
		}
		f.begun = id
		time.Sleep(85*time.Millisecond + time.Duration(rng.IntN(20_000))*time.Microsecond)
		f.send(f.control, "interrupt_request", object{})
		f.next(f.controls, patient) // or it may meet the next cell
		if r := f.await(id); r.reply["status"] != "ok" {
			interrupted++
		}
		if r := f.run("%%go\n!sleep 0.05; echo next").ok(); r.text("stdout") != "next\n" {
			t.Errorf("%q", r.text("stdout"))
		}
	}
	t.Logf("%d of 40 were interrupted", interrupted)
}

// TestGoInterruptCompile interrupts a cell that is being compiled, which takes seconds, and whose program would run for ever.
func TestGoInterruptCompile(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("%%go\nfunc kept() int { return 7 }").ok()
	child := k.goCells.current()
	for i := range 4 {
		var code strings.Builder
		code.WriteString("%%go\n%%\nx := os.Args\n")
		for j := range 3000 {
			fmt.Fprintf(&code, "if len(x) == %d { fmt.Println(\"round %d\", x, len(x)*%d) }\n", j+100, i, j)
		}
		code.WriteString("for {}")
		id := f.start(code.String(), nil)
		time.Sleep(time.Duration(50+i*300) * time.Millisecond)
		begin := time.Now()
		f.send(f.control, "interrupt_request", object{})
		if m := f.next(f.controls, 5*time.Second); content(t, m)["status"] != "ok" {
			t.Errorf("%s", m.Content)
		}
		r := f.await(id)
		if d := time.Since(begin); d > 4*time.Second || r.reply["status"] != "error" {
			t.Errorf("round %d: after %v: %v", i, d, r.reply)
		}
	}
	if r := f.run("%%go\n%%\nfmt.Println(kept())").ok(); r.text("stdout") != "7\n" || k.goCells.current() != child {
		t.Errorf("%q; the same GoNB: %v", r.text("stdout"), k.goCells.current() == child)
	}
}

// TestGoFlood has a program write without end to a front-end that is slow: after an interrupt it soon learns of the
// end, and that it has not seen all.
func TestGoFlood(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	network, address := k.o.Connection.Address(k.o.Connection.IOPubPort)
	slow, err := zmtp.DialSub(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer slow.Close()
	if _, err := slow.Read(); err != nil { // the welcome
		t.Fatal(err)
	}
	id := f.start("%%go\n!yes", nil)
	seen := make(chan string, 100)
	go func() {
		defer close(seen)
		for {
			frames, err := slow.Read()
			if err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
			m, err := f.signer.Decode(frames)
			if err != nil || m.ParentID() != id {
				continue
			}
			var c struct {
				Name, Text string
				State      string `json:"execution_state"`
			}
			json.Unmarshal(m.Content, &c)
			switch {
			case m.Header.MsgType == "status":
				seen <- c.State
			case m.Header.MsgType == "error":
				seen <- "error"
			case c.Name == "stderr" && strings.Contains(c.Text, "is left out"):
				seen <- "left out"
			}
		}
	}()
	time.Sleep(5 * time.Second)
	f.send(f.control, "interrupt_request", object{})
	if r := f.await(id); r.reply["ename"] != "Interrupted" {
		t.Errorf("%v", r.reply)
	}
	begin := time.Now()
	var got []string
	for over := false; !over; {
		select {
		case s, open := <-seen:
			if !open {
				t.Fatalf("the slow one was sent away after %v", got)
			}
			got = append(got, s)
			over = s == "idle"
		case <-time.After(30 * time.Second):
			t.Fatalf("the slow one has seen no more than %v", got)
		}
	}
	t.Logf("%v, %v after the others", got, time.Since(begin))
	got = slices.DeleteFunc(got, func(s string) bool { return s == "busy" })
	if want := []string{"left out", "error", "idle"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestGoDeaf interrupts a program that ignores it: GoNB's patience is five seconds, and it lives on.
func TestGoDeaf(t *testing.T) {
	t.Parallel()
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("%%go\nfunc kept() int { return 7 }").ok()
	child := k.goCells.current()
	id := f.start("%%go\nimport \"os/signal\"\n%%\nsignal.Ignore(os.Interrupt)\nfmt.Println(\"deaf\")\nfor { time.Sleep(time.Hour) }", nil)
	for m := f.next(f.published, patient); m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
	}
	begin := time.Now()
	f.send(f.control, "interrupt_request", object{})
	r := f.await(id)
	if d := time.Since(begin); d > 9*time.Second || r.reply["status"] != "error" {
		t.Errorf("after %v: %v", d, r.reply)
	}
	if r := f.run("%%go\n%%\nfmt.Println(kept())").ok(); r.text("stdout") != "7\n" || k.goCells.current() != child {
		t.Errorf("%q; the same GoNB: %v", r.text("stdout"), k.goCells.current() == child)
	}
}

// TestGoKilled kills GoNB while a cell runs, and between cells.
func TestGoKilled(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("a = prob(0.25)").ok()
	id := f.start("%%go\n!sleep 1000", nil)
	time.Sleep(200 * time.Millisecond)
	syscall.Kill(k.goCells.current().PID(), syscall.SIGKILL)
	begin := time.Now()
	r := f.await(id)
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("noticed after %v", d)
	}
	if r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["traceback"]), "starts it anew") || len(r.of("error")) != 1 {
		t.Errorf("%v %v", r.reply, r.types)
	}
	if r := f.run("wmc(a)").ok(); plain(r.of("execute_result")[0]) != "0.25" {
		t.Errorf("%v", r.reply)
	}
	if r := f.run("%%go\n!echo anew").ok(); r.text("stdout") != "anew\n" || r.text("stderr") != "" || r.reply["execution_count"] != 4.0 {
		t.Errorf("%v %q", r.reply, r.text("stderr"))
	}
	// Between two cells: the next says so.
	child := k.goCells.current()
	syscall.Kill(child.PID(), syscall.SIGKILL)
	<-child.Done()
	if r := f.run("%%go\n!echo again").ok(); r.text("stdout") != "again\n" || !strings.Contains(r.text("stderr"), "declared is lost") {
		t.Errorf("%v %q", r.reply, r.text("stderr"))
	}
}

// TestGoKilledIdle kills GoNB, and takes its files away, when the next cell is about to come: that runs in another.
func TestGoKilledIdle(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	for i := range 6 {
		// Two cells: then GoNB's count needs no step, which would find out.
		files := strings.TrimSpace(f.run("%%go\n!echo $GONB_TMP_DIR").ok().text("stdout"))
		f.run("%%go\nfunc lost() int { return 7 }").ok()
		child := k.goCells.current()
		why := "removed"
		if i%2 == 0 {
			why = "killed"
			syscall.Kill(child.PID(), syscall.SIGKILL)
			time.Sleep(time.Duration(i) * 200 * time.Microsecond)
		} else if err := os.RemoveAll(files); err != nil {
			t.Fatal(err)
		}
		r := f.run("%%go\n%%\nfmt.Println(\"well\")").ok()
		if said := r.text("stderr"); r.text("stdout") != "well\n" || !strings.Contains(said, why) || strings.Count(said, "declared is lost") != 1 || k.goCells.current() == child {
			t.Errorf("%s: %v %q %q", why, r.reply, r.text("stdout"), said)
		}
	}
}

// TestGoBackground interrupts a cell whose shell has ended and left a program that holds on to the cell: that goes,
// GoNB stays, and so does what an earlier cell left.
func TestGoBackground(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("%%go\nfunc kept() int { return 7 }").ok()
	earlier := strings.TrimSpace(f.run("%%go\n!sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $!'").ok().text("stdout"))
	child := k.goCells.current()
	for _, code := range []string{"%%go\n!sleep 300 & echo $!", "%%go\n!setsid sleep 300 & echo $!"} {
		id := f.start(code, nil)
		m := f.next(f.published, patient)
		for ; m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
		}
		f.begun = id
		pid := strings.TrimSpace(fmt.Sprint(content(t, m)["text"]))
		begin := time.Now()
		f.send(f.control, "interrupt_request", object{})
		r := f.await(id)
		if d := time.Since(begin); d > 4*time.Second || r.reply["ename"] != "Interrupted" {
			t.Errorf("after %v: %v", d, r.reply)
		}
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("%q: the program lives: %s", code, stat)
		}
	}
	if r := f.run("%%go\n%%\nfmt.Println(kept())").ok(); r.text("stdout") != "7\n" || k.goCells.current() != child {
		t.Errorf("%q; the same GoNB: %v", r.text("stdout"), k.goCells.current() == child)
	}
	if _, err := os.Stat("/proc/" + earlier); err != nil {
		t.Errorf("what an earlier cell left: %v", err)
	}
}

// TestGoKilledAtRandom kills GoNB at random moments of cells that print, wait and are compiled, some of which are
// interrupted at the same time. No cell hangs, no session is lost, and in the end no file and no process is left.
func TestGoKilledAtRandom(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	mark := marked()
	t.Setenv("MODELLOG_TEST_RUN", strings.TrimPrefix(mark, "MODELLOG_TEST_RUN="))
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("a = prob(0.25)").ok()
	rng := rand.New(rand.NewPCG(7, 8))
	codes := []string{"%%go\n!while :; do echo x; done", "%%go\n!setsid sleep 1000 & sleep 1000", "%%go\n%%\nfor {}", "%%go\n!true"}
	for i := range 16 {
		id := f.start(codes[i%len(codes)], nil)
		time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
		if i%3 == 2 {
			f.send(f.control, "interrupt_request", object{})
			f.next(f.controls, patient)
		}
		begin := time.Now()
		if child := k.goCells.current(); child != nil { // it may be being started
			syscall.Kill(child.PID(), syscall.SIGKILL)
		} else {
			f.send(f.control, "interrupt_request", object{})
			f.next(f.controls, patient)
		}
		r := f.await(id)
		if d := time.Since(begin); d > 5*time.Second {
			t.Errorf("%q ended after %v", codes[i%len(codes)], d)
		}
		if r.reply["status"] != "error" && i%len(codes) != 3 {
			t.Errorf("%q: %v", codes[i%len(codes)], r.reply)
		}
		if r := f.run("wmc(a)").ok(); plain(r.of("execute_result")[0]) != "0.25" {
			t.Errorf("%v", r.reply)
		}
		if r := f.run("%%go\n!echo well").ok(); r.text("stdout") != "well\n" {
			t.Errorf("after %q: %q", codes[i%len(codes)], r.text("stdout"))
		}
	}
	child := k.goCells.current()
	k.stop(errShutdown)
	err := <-k.done
	k.done <- err
	if err != nil {
		t.Error(err)
	}
	<-child.Done()
	gone(t, mark, 5*time.Second)
	if left := made(t, dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestGoPipes has GoNB end under a program, in three ways: what it made for the program to show things goes, and what
// others made stays.
func TestGoPipes(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	other := filepath.Join(dir, "gonb_pipe_other")
	if err := syscall.Mkfifo(other, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, end := range []func(pid int){
		func(pid int) { syscall.Kill(pid, syscall.SIGKILL) },
		func(pid int) { syscall.Kill(-pid, syscall.SIGKILL) },
		func(int) { k.goCells.current().Stop() },
	} {
		id := f.start("%%go\nimport (\"os/signal\"; \"syscall\")\n%%\nsignal.Ignore(syscall.SIGTERM, syscall.SIGPIPE)\nfmt.Println(\"begun\")\nfor { time.Sleep(time.Hour) }", nil)
		for m := f.next(f.published, patient); m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
		}
		f.begun = id
		time.Sleep(300 * time.Millisecond)
		pipes, err := filepath.Glob(filepath.Join(dir, "gonb_pipe_*"))
		if err != nil || len(pipes) != 3 {
			t.Errorf("%d: while it runs there are %v %v", i, pipes, err)
		}
		child := k.goCells.current()
		end(child.PID())
		if r := f.await(id); r.reply["status"] != "error" {
			t.Errorf("%d: %v", i, r.reply)
		}
		<-child.Done()
		if left, err := filepath.Glob(filepath.Join(dir, "gonb_*")); err != nil || len(left) != 1 || left[0] != other {
			t.Errorf("%d: afterwards there are %v %v", i, left, err)
		}
	}
}

// TestGoAdopted has a cell leave a program behind: it is the kernel's to wait for.
func TestGoAdopted(t *testing.T) {
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	pid := strings.TrimSpace(f.run("%%go\n!sh -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $!'").ok().text("stdout"))
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	if got := strings.Fields(after)[1]; got != fmt.Sprint(os.Getpid()) {
		t.Errorf("its parent is %s and not %d", got, os.Getpid())
	}
}

func TestGoFrozen(t *testing.T) {
	t.Parallel()
	// The time-out is long; an interrupt frees a cell whose GoNB is frozen before it.
	k := serveGo(t, nil)
	f := dial(t, k.o.Connection)
	f.run("%%go\n!true").ok()
	syscall.Kill(k.goCells.current().PID(), syscall.SIGSTOP)
	id := f.start("%%go\n!echo", nil)
	time.Sleep(100 * time.Millisecond)
	f.send(f.control, "interrupt_request", object{})
	begin := time.Now()
	r := f.await(id)
	if d := time.Since(begin); r.reply["status"] != "error" || d > 15*time.Second {
		t.Errorf("after %v: %v", d, r.reply)
	}
	f.run("%%go\n!echo").ok()
	// Without an interrupt the time-out ends it.
	f.run("a = prob(0.25)").ok()
	id = f.start("%%go\n!echo begun; sleep 1000", nil)
	for m := f.next(f.published, patient); m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
	}
	f.begun = id
	syscall.Kill(k.goCells.current().PID(), syscall.SIGSTOP)
	if r := f.await(id); r.reply["status"] != "error" || !strings.Contains(fmt.Sprint(r.reply["evalue"]), "no sign of life") {
		t.Errorf("%v", r.reply)
	}
	if r := f.run("wmc(a)").ok(); plain(r.of("execute_result")[0]) != "0.25" {
		t.Errorf("%v", r.reply)
	}
	f.run("%%go\n!echo").ok()
}
