package store

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// member is a file of a package, kept under a name.
func member(path, name string, data []byte) Member {
	return Member{Path: path, Size: int64(len(data)), SHA256: hexSum(data), Beside: name}
}

func TestDatasetOfPython(t *testing.T) {
	x := newIndex(t)
	s, _ := testStore(t)
	p := Package{Name: "test-places", Version: "1.0", Size: 4000}
	cities, licence := bytes.Repeat([]byte("city "), 5000), []byte("Do as you like.\n")
	x.set(wheelName(p), wheel(t, p, map[string][]byte{"data/cities.json": cities, "LICENSE": licence, "data/other": []byte("x")}))
	p.Members = []Member{member("data/cities.json", "cities.json", cities), member("LICENSE", "LICENSE", licence)}
	d := Dataset{Name: "towns", Licence: "Test-1.0", Notice: "Name the test.", Package: p}
	if s.HasDataset(d) {
		t.Error("it is here already")
	}
	var l log
	for range 2 { // the second time nothing is fetched
		dir, err := s.fetchDataset(context.Background(), d, l.options())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "cities.json")); err != nil || !bytes.Equal(got, cities) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if got := files(t, dir); len(got) != 2 {
			t.Errorf("%v", got)
		}
	}
	if !s.HasDataset(d) || x.count(p) != 1 || !l.noticed("Name the test") || len(l.notices) != 1 {
		t.Errorf("fetched otherwise than once: %v", l.notices)
	}

	// A package that is not the one that is meant leaves nothing under its name.
	p.Members[1].SHA256 = hexSum([]byte("other"))
	other := Dataset{Name: "altered", Package: p}
	_, err := s.fetchDataset(context.Background(), other, GetOptions{})
	wantError(t, err, ErrBroken, "LICENSE", "SHA-256")
	if s.HasDataset(other) {
		t.Error("an altered package was taken")
	}
	for _, f := range files(t, s.DatasetDir("altered")) {
		if f == "LICENSE" || strings.HasPrefix(f, ".new") {
			t.Errorf("it left %s", f)
		}
	}
}

// registry is a registry for the real npm to download a package from.
func registry(t *testing.T, name, version string, archive []byte) *atomic.Int64 {
	t.Helper()
	if out, err := exec.Command("npm", "--version").CombinedOutput(); err != nil {
		t.Skipf("npm does not run: %v\n%s", err, out)
	}
	none := t.TempDir() // where no settings are
	var downloads atomic.Int64
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/" + name:
			json.NewEncoder(w).Encode(map[string]any{
				"name": name, "dist-tags": map[string]string{"latest": version},
				"versions": map[string]any{version: map[string]any{
					"name": name, "version": version,
					"dist":    map[string]string{"tarball": server.URL + "/archive.tgz"},
					"scripts": map[string]string{"prepare": "touch ran", "postinstall": "touch ran"},
				}},
			})
		case "/archive.tgz":
			downloads.Add(1)
			w.Write(archive)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	for k, v := range map[string]string{
		"npm_config_registry": server.URL, "npm_config_userconfig": filepath.Join(none, "user"), "npm_config_globalconfig": filepath.Join(none, "global"),
		"npm_config_fetch_retries": "0", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "npm_config_proxy": "", "npm_config_https_proxy": "",
	} {
		t.Setenv(k, v)
	}
	return &downloads
}

// pack makes an archive as npm has it.
func pack(t *testing.T, name, version string, contents map[string][]byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	w := tar.NewWriter(z)
	contents["package/package.json"] = fmt.Appendf(nil, `{"name":%q,"version":%q}`, name, version)
	for path, data := range contents {
		if err := w.WriteHeader(&tar.Header{Name: path, Mode: 0o644, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestDatasetOfNPM(t *testing.T) {
	nouns := bytes.Repeat([]byte("00001740 03 n\n"), 3000)
	archive := pack(t, "test-words", "2.0.0", map[string][]byte{"package/dict/data.noun": nouns})
	downloads := registry(t, "test-words", "2.0.0", archive)
	s, _ := testStore(t)
	d := Dataset{Name: "net", NPM: true, Package: Package{
		Name: "test-words", Version: "2.0.0", Size: int64(len(archive)),
		Members: []Member{member("package/dict/data.noun", "data.noun", nouns)},
	}}
	for range 2 {
		dir, err := s.fetchDataset(context.Background(), d, GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, "data.noun")); err != nil || !bytes.Equal(got, nouns) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	}
	if n := downloads.Load(); n != 1 {
		t.Errorf("downloaded %d times", n)
	}
	if left := files(t, filepath.Join(s.data, "downloads")); len(left) > 1 { // the lock
		t.Errorf("left behind: %v", left)
	}

	d.Name, d.Package.Version = "gone", "9.9.9"
	_, err := s.fetchDataset(context.Background(), d, GetOptions{})
	wantError(t, err, ErrUnavailable, "has no test-words 9.9.9", "npm said")

	t.Setenv("npm_config_registry", "http://127.0.0.1:1")
	_, err = s.fetchDataset(context.Background(), d, GetOptions{})
	wantError(t, err, ErrNetwork, "npm cannot reach its registry")

	t.Setenv("PATH", t.TempDir())
	_, err = s.fetchDataset(context.Background(), d, GetOptions{})
	wantError(t, err, ErrUnavailable, `there is no "npm" to run`, "WNSEARCHDIR")
}

// A registry that does not answer is given up soon, and until then it is said that npm is at work.
func TestNPMWaits(t *testing.T) {
	registry(t, "test-words", "2.0.0", nil)
	t.Setenv("npm_config_registry", "http://127.0.0.1:1")
	os.Unsetenv("npm_config_fetch_retries") // as often as npm tries by itself
	s, _ := testStore(t)
	var notices []string
	began := time.Now()
	_, err := s.fetchDataset(context.Background(), Dataset{Name: "net", NPM: true, Package: Package{
		Name: "test-words", Version: "2.0.0", Size: 1, Members: []Member{{Path: "package/x", Beside: "x", Size: 1}},
	}}, GetOptions{Notice: func(text string) { notices = append(notices, text) }})
	wantError(t, err, ErrNetwork, "npm cannot reach its registry")
	if took := time.Since(began); took > 45*time.Second {
		t.Errorf("it was tried for %v", took)
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "npm is still trying to fetch test-words 2.0.0") {
		t.Errorf("said was %q", notices)
	}

	// What the user has set stays.
	got := waits([]string{"NPM_CONFIG_FETCH_TIMEOUT=1", "npm_config_fetch-retry-maxtimeout=2"})
	want := []string{"NPM_CONFIG_FETCH_TIMEOUT=1", "npm_config_fetch-retry-maxtimeout=2", "npm_config_fetch_retry_mintimeout=1000"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCopyTarMember(t *testing.T) {
	data := []byte("nouns")
	path := filepath.Join(t.TempDir(), "a.tgz")
	whole := pack(t, "a", "1.0.0", map[string][]byte{"package/data": data})
	good := member("package/data", "", data)
	for _, c := range []struct {
		archive []byte
		m       Member
		want    string
	}{
		{whole, good, ""},
		{whole, Member{Path: "package/none"}, "has no file package/none"},
		{whole, Member{Path: "package/data", Size: 4}, "has 5 bytes and should have 4"},
		{whole, Member{Path: "package/data", Size: 5, SHA256: "00"}, "has the SHA-256"},
		{whole[:len(whole)/2], good, "a.tgz"},
		{[]byte("no archive"), good, "cannot be read as an archive"},
	} {
		if err := os.WriteFile(path, c.archive, 0o666); err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		err := copyTarMember(context.Background(), &got, path, c.m)
		switch {
		case c.want == "" && (err != nil || !bytes.Equal(got.Bytes(), data)):
			t.Errorf("%q, %v", got.Bytes(), err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, new(*contentError))):
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestDatasets(t *testing.T) {
	for _, d := range Datasets() {
		if d.Licence == "" || d.Source == "" || d.Description == "" || d.Package.Size == 0 {
			t.Errorf("%+v", d)
		}
		licensed := false
		for _, m := range d.Package.Members {
			if len(m.SHA256) != 64 || m.Size == 0 || m.Beside == "" || m.Beside != filepath.Base(m.Beside) {
				t.Errorf("%s: %+v", d.Name, m)
			}
			licensed = licensed || m.Beside == "LICENSE"
		}
		if !licensed {
			t.Errorf("%s comes without its licence", d.Name)
		}
	}
}
