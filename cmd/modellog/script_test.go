package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/internal/modeltest/servers"
	"github.com/modellog/modellog/lm/store"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"modellog": main})
}

// TestScript runs the transcripts in testdata/script with the real command.
// Those that need the two small models are skipped where one is missing.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("OLLAMA_HOST", "127.0.0.1:1") // where nothing listens
			e.Setenv("MODELLOG_THREADS", "1")      // the engine's threads wait for each other in a loop
			e.Setenv("MODELLOG_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("MODELLOG_CACHE", filepath.Join(e.WorkDir, "cache"))
			suite, err := filepath.Abs("../../evals/probct/suite")
			if err != nil {
				return err
			}
			e.Setenv("SUITE", suite)
			e.Setenv("OLLAMA_MODELS", filepath.Join(e.WorkDir, "ollama"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"models":  useModels,
			"status":  status,
			"make":    makeFile,
			"void":    voidWeights,
			"without": without,
			"await":   await,
			"ask":     ask,
			"openai":  openaiServer,
			"nokey":   noKey,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "models":
				return modeltest.SmolLM.Find() != "" && modeltest.Gemma.Find() != "", nil
			case "openai":
				return os.Getenv("MODELLOG_LLAMA_CPP") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// useModels sets $SMOLLM and $GEMMA to the models' files and lets the script use
// the user's dequantised weights.
func useModels(ts *testscript.TestScript, _ bool, _ []string) {
	for variable, r := range map[string]modeltest.Reference{"SMOLLM": modeltest.SmolLM, "GEMMA": modeltest.Gemma} {
		path := r.Find()
		if path == "" {
			ts.Fatalf("the model %s is not here; get it with: modellog models get %s", r.Name, r.Name)
		}
		ts.Setenv(variable, path)
	}
	// the test's own environment, not the script's
	dir, err := store.CacheDir()
	ts.Check(err)
	weights := filepath.Join(dir, "weights")
	ts.Check(os.MkdirAll(weights, 0o777))
	ts.Check(os.MkdirAll(ts.Getenv("MODELLOG_CACHE"), 0o777))
	ts.Check(os.Symlink(weights, filepath.Join(ts.Getenv("MODELLOG_CACHE"), "weights")))
}

// without takes the folders that have some programs out of PATH: without PROGRAM ….
func without(ts *testscript.TestScript, _ bool, programs []string) {
	dirs := slices.DeleteFunc(filepath.SplitList(ts.Getenv("PATH")), func(dir string) bool {
		return slices.ContainsFunc(programs, func(p string) bool {
			_, err := exec.LookPath(filepath.Join(dir, p))
			return err == nil
		})
	})
	ts.Setenv("PATH", strings.Join(dirs, string(filepath.ListSeparator)))
}

// status runs a command and insists on its exit status: status 2 modellog …. What
// it prints can be compared as after exec.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARG …]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// await waits until a file has so many lines: await FILE N.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE N")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && bytes.Count(text, []byte("\n")) >= want {
			return
		}
	}
	ts.Fatalf("%s has not %d lines after a minute", args[0], want)
}

// ask sends a request to the server that listens, or soon does, on a Unix socket: ask SOCKET PATH [BODY]. What it
// answers can be compared as after exec; it fails where the answer is not 200.
func ask(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: ask SOCKET PATH [BODY]")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", ts.MkAbs(args[0]))
	}}}
	for until := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		var resp *http.Response
		var err error
		if len(args) == 2 {
			resp, err = client.Get("http://localhost" + args[1])
		} else {
			resp, err = client.Post("http://localhost"+args[1], "application/json", strings.NewReader(args[2]))
		}
		if err != nil && time.Now().Before(until) {
			continue
		}
		ts.Check(err)
		defer resp.Body.Close()
		_, err = io.Copy(ts.Stdout(), resp.Body)
		ts.Check(err)
		if ok := resp.StatusCode == http.StatusOK; ok == neg {
			ts.Fatalf("status %d", resp.StatusCode)
		}
		return
	}
}

// openaiServer starts a real server of OpenAI's protocol with the weights of $SMOLLM, and sets a variable to its
// address: openai llama-server|llama-cpp-python VARIABLE.
func openaiServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: openai llama-server|llama-cpp-python VARIABLE")
	}
	alias := "small"
	if args[0] == servers.LlamaCppPython {
		alias = ""
	}
	s, err := servers.StartLlama(args[0], ts.Getenv("SMOLLM"), alias)
	ts.Check(err)
	ts.Defer(s.Kill)
	ts.Setenv(args[1], s.URL())
}

// noKey looks for the key that $MODELLOG_OPENAI_KEY has in the files below a folder.
func noKey(ts *testscript.TestScript, neg bool, args []string) {
	key := ts.Getenv("MODELLOG_OPENAI_KEY")
	if neg || len(args) != 1 || key == "" {
		ts.Fatalf("usage: nokey DIR")
	}
	looked := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		looked++
		b, err := os.ReadFile(path)
		if err == nil && bytes.Contains(b, []byte(key)) {
			ts.Fatalf("the key is in %s", path)
		}
		return err
	}))
	if looked == 0 {
		ts.Fatalf("there is no file in %s", args[0])
	}
}

// voidWeights puts empty files in the place of the dequantised weights, with which
// no reading can be made.
func voidWeights(ts *testscript.TestScript, _ bool, _ []string) {
	link := filepath.Join(ts.Getenv("MODELLOG_CACHE"), "weights")
	files, err := os.ReadDir(link)
	ts.Check(err)
	ts.Check(os.Remove(link))
	ts.Check(os.Mkdir(link, 0o777))
	for _, f := range files {
		ts.Check(os.WriteFile(filepath.Join(link, f.Name()), nil, 0o666))
	}
}

// makeFile writes a file that is too large or too odd for a script: make FILE KIND [N].
func makeFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: make FILE KIND [N]")
	}
	n := 0
	if len(args) > 2 {
		var err error
		n, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	var b bytes.Buffer
	switch args[1] {
	case "parentheses": // n of them around a formula
		b.WriteString(strings.Repeat("(", n) + "true" + strings.Repeat(")", n))
	case "negations":
		b.WriteString(strings.Repeat("!", n) + "true")
	case "line": // a comment of n bytes and then a formula
		b.WriteString("# " + strings.Repeat("x", n) + "\nwmc(prob(0.25))\n")
	case "shapeless": // examples with what would turn or move a terminal's text, and a quote that is not closed
		b.WriteString("premises,phi,not_phi,label\nx,It is \u202e red.,,true\nx,Red as a brick,,true\nx,It is \x1b[31mred.,,true\nx,\"It is red.,,true\nx,The guests will pay.,,true\n")
	case "name": // an unknown name of n bytes
		b.WriteString(strings.Repeat("x", n) + "\n")
	case "chain": // a formula of n variables
		for i := range n {
			fmt.Fprintf(&b, "e%d = prob(0.5)\n", i)
		}
		b.WriteString("wmc0(e0")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, " & (e%d -> e%d)", i-1, i)
		}
		b.WriteString(")\n")
	case "nul":
		b.WriteString("wmc(prob(0.5))\na = pr\x00ob(0.5)\n")
	case "utf8":
		b.WriteString("wmc(prob(0.5))\na = \"\xff\xfe\"\n")
	case "crlf":
		b.WriteString("\xef\xbb\xbfa = prob(0.25)\r\nwmc(a)\r\n")
	case "cut": // the first n bytes of $SMOLLM
		whole, err := os.ReadFile(ts.Getenv("SMOLLM"))
		ts.Check(err)
		b.Write(whole[:n])
	default:
		ts.Fatalf("unknown kind %q", args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}
