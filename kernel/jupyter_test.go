//go:build linux

package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lm/store"
)

// requirements are what the tests in Python need.
const requirements = `jupyter_client==8.10.0
jupyter_kernel_test==0.7.0
nbclient==0.11.0
`

// python returns the Python of a virtual environment in the cache folder, which is
// made at the first time.
func python(t *testing.T) string {
	t.Helper()
	base, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	cache, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "test-venv")
	program := filepath.Join(dir, "bin", "python")
	stamp := filepath.Join(dir, "requirements.txt")
	if got, err := os.ReadFile(stamp); err == nil && string(got) == requirements {
		return program
	}
	run := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %v: %v\n%s", name, args, err, out)
		}
	}
	run(base, "-m", "venv", "--clear", dir)
	run(program, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, strings.Fields(requirements)...)...)
	if err := os.WriteFile(stamp, []byte(requirements), 0o644); err != nil {
		t.Fatal(err)
	}
	return program
}

// marked is an environment by which all processes that come from a test are known.
func marked() (variable string) { return "MODELLOG_TEST_RUN=" + wire.NewID() }

// withVariable lists the living processes that have a variable in their environment.
func withVariable(t *testing.T, variable string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range dirs {
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil || !bytes.Contains(env, []byte(variable)) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(d, "cmdline"))
		if err == nil && len(line) > 0 {
			found = append(found, filepath.Base(d)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

// gone waits until no process with the variable is left.
func gone(t *testing.T, variable string, within time.Duration) {
	t.Helper()
	var left []string
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left = withVariable(t, variable); len(left) == 0 {
			return
		}
	}
	t.Errorf("after %v there are still:\n%s", within, strings.Join(left, "\n"))
}

// TestJupyter runs the tests in Python: jupyter_kernel_test's own suite, restarts,
// interrupts, and nbclient.
func TestJupyter(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes a minute")
	}
	py := python(t)
	dir := t.TempDir()
	spec := filepath.Join(dir, "kernels", "modellog")
	if err := os.MkdirAll(spec, 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]any{
		"argv": []string{self, runKernel, "{connection_file}"}, "display_name": "modellog", "language": "modellog", "interrupt_mode": "message",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(spec, "kernel.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	mark := marked()
	cmd := exec.Command(py, filepath.Join("testdata", "jupyter.py"), "-v")
	tmp := t.TempDir()
	cmd.Env = append(os.Environ(), mark, "TMPDIR="+tmp, "JUPYTER_PATH="+dir, "MODELLOG_TEST_TOOLS="+toolsDir(t), "PYTHONWARNINGS=ignore")
	if _, err := (&GoOptions{ToolsDir: toolsDir(t)}).binary(); err == nil {
		cmd.Env = append(cmd.Env, "MODELLOG_TEST_GO=1")
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	} else {
		t.Logf("%s", out)
	}
	gone(t, mark, 5*time.Second)
	if left := made(t, tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// process starts a kernel as a process of its own, by way of a shell command in
// which $kernel and $file stand for it.
func process(t *testing.T, shell, mark string) (*exec.Cmd, wire.Connection) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := connection(t, "ipc")
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kernel-"+wire.NewID()+".json")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", shell)
	cmd.Env = append(os.Environ(), mark, "kernel="+self, "run="+runKernel, "file="+file, "MODELLOG_TEST_TOOLS="+toolsDir(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe() // for the shell to wait at
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	if testing.Verbose() {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	for range 400 {
		if _, err := os.Stat(c.IP + "-" + strconv.Itoa(c.HeartbeatPort)); err == nil {
			return cmd, c
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the kernel does not start")
	return nil, c
}

// made lists what kernels and GoNB have made in a temporary folder.
func made(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"gonb_*", "modellog-*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, paths...)
	}
	return all
}

// TestKernelKilled kills the kernel itself under a running Go cell, whose program ignores signals: GoNB, gopls
// and the program go, too, and so do their files, also where GoNB is frozen and cannot clean up.
func TestKernelKilled(t *testing.T) {
	needGo(t)
	t.Parallel()
	for _, frozen := range []bool{false, true} {
		mark, tmp := marked(), t.TempDir()
		cmd, c := process(t, `TMPDIR="`+tmp+`" exec "$kernel" "$run" "$file"`, mark)
		f := dial(t, c)
		files := strings.TrimSpace(f.run("%%go\n!echo $GONB_TMP_DIR").ok().text("stdout"))
		if _, err := os.Stat(files); err != nil || !strings.HasPrefix(filepath.Base(files), "gonb_") {
			t.Fatalf("%q: %v", files, err)
		}
		f.start("%%go\nimport (\"os/signal\"; \"syscall\")\n%%\nsignal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)\nfmt.Println(\"deaf\")\nfor { time.Sleep(time.Hour) }", nil)
		for m := f.next(f.published, patient); m.Header.MsgType != "stream"; m = f.next(f.published, patient) {
		}
		all := withVariable(t, mark)
		if len(all) < 4 { // kernel, gonb, gopls, the program
			t.Errorf("only %d processes: %v", len(all), all)
		}
		if frozen {
			at := slices.IndexFunc(all, func(p string) bool { return strings.Contains(p, "/gonb -kernel ") })
			if at < 0 {
				t.Fatalf("there is no GoNB: %v", all)
			}
			pid, _, _ := strings.Cut(all[at], " ")
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			syscall.Kill(n, syscall.SIGSTOP)
		}
		cmd.Process.Kill()
		cmd.Wait()
		gone(t, mark, 10*time.Second)
		// The files go last, those for the program's display of things among them.
		for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			left, err := filepath.Glob(filepath.Join(tmp, "gonb_*")) // the kernel's own folder is for the next kernel to remove
			if err != nil {
				t.Fatal(err)
			}
			if len(left) == 0 {
				break
			} else if time.Now().After(deadline) {
				t.Errorf("GoNB frozen %v: %v is left", frozen, left)
				break
			}
		}
	}
}

// TestKernelKilledIdle kills a kernel in which nothing runs: the system tells GoNB to end, before the watchdog does.
func TestKernelKilledIdle(t *testing.T) {
	needGo(t)
	t.Parallel()
	mark := marked()
	cmd, c := process(t, `exec "$kernel" "$run" "$file"`, mark)
	f := dial(t, c)
	f.run("%%go\n!true").ok()
	cmd.Process.Kill()
	cmd.Wait()
	killed := time.Now()
	for gonb := true; gonb; time.Sleep(20 * time.Millisecond) {
		gonb = slices.ContainsFunc(withVariable(t, mark), func(p string) bool { return strings.Contains(p, "/gonb -kernel ") })
		if d := time.Since(killed); gonb && d > 1500*time.Millisecond {
			t.Errorf("after %v GoNB is still there", d)
			break
		}
	}
	gone(t, mark, 10*time.Second)
}

// TestParentGone ends the process that started the kernel.
func TestParentGone(t *testing.T) {
	needGo(t)
	t.Parallel()
	mark := marked()
	cmd, c := process(t, `JPY_PARENT_PID=$$ "$kernel" "$run" "$file" & read wait; exit`, mark)
	f := dial(t, c)
	f.run("%%go\n!true").ok()
	f.run("prob(0.5)").ok()
	cmd.Process.Kill() // the shell only
	cmd.Wait()
	gone(t, mark, 10*time.Second)
}

// TestUnderPID1 has process 1 of a container start the kernel.
func TestUnderPID1(t *testing.T) {
	unshare := "unshare --pid --fork --mount-proc "
	if out, err := exec.Command("sh", "-c", unshare+"true").CombinedOutput(); err != nil {
		t.Skipf("no container can be made: %v: %s", err, out)
	}
	t.Parallel()
	mark := marked()
	_, c := process(t, unshare+`sh -c 'JPY_PARENT_PID=$$ "$kernel" "$run" "$file" & wait'`, mark)
	f := dial(t, c)
	f.run("a = prob(0.5)").ok()
	time.Sleep(2 * parentPoll)
	f.run("wmc(a)").ok()
	if _, err := (&GoOptions{ToolsDir: toolsDir(t)}).binary(); err == nil {
		if r := f.run("%%go\n!echo $$").ok(); r.text("stdout") == "" {
			t.Error("a Go cell prints nothing")
		}
	}
	f.send(f.control, "shutdown_request", object{"restart": false})
	gone(t, mark, 10*time.Second)
}

// TestParentIsNotWatched has a kernel's parent go away that did not ask for the
// kernel to follow.
func TestParentIsNotWatched(t *testing.T) {
	t.Parallel()
	mark := marked()
	cmd, c := process(t, `"$kernel" "$run" "$file" & read wait; exit`, mark)
	f := dial(t, c)
	f.run("prob(0.5)").ok()
	cmd.Process.Kill()
	cmd.Wait()
	time.Sleep(2 * parentPoll)
	f.run("prob(0.5)").ok()
	f.send(f.control, "shutdown_request", object{"restart": false})
	gone(t, mark, 10*time.Second)
}

// TestSignals ends a process by the signals that Jupyter, or a user, sends.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		mark := marked()
		cmd, c := process(t, `exec "$kernel" "$run" "$file"`, mark)
		f := dial(t, c)
		f.run("prob(0.5)").ok()
		cmd.Process.Signal(os.Interrupt)   // nothing runs: nothing happens
		time.Sleep(300 * time.Millisecond) // so that it does not meet the next cell
		f.run("prob(0.5)").ok()
		cmd.Process.Signal(sig)
		err := cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) || err != nil {
			t.Errorf("%v: %v", sig, err)
		}
		gone(t, mark, 5*time.Second)
		if left, _ := filepath.Glob(c.IP + "-*"); len(left) > 0 {
			t.Errorf("%v left %v", sig, left)
		}
	}
}

// TestPortInUse starts a second kernel at a first one's place.
func TestPortInUse(t *testing.T) {
	k := serve(t, Options{}, nil)
	if _, err := New(Options{Connection: k.o.Connection}); err == nil || !strings.Contains(err.Error(), fmt.Sprint(k.o.Connection.ShellPort)) {
		t.Errorf("%v", err)
	}
}
