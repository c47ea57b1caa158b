package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestCopyMember(t *testing.T) {
	p := Package{Name: "test", Version: "1.0"}
	data := bytes.Repeat([]byte("weights "), 20_000)
	m := Member{Path: "data/w", Size: int64(len(data)), SHA256: hexSum(data)}
	other := bytes.Clone(data)
	other[99] ^= 1
	whole := wheel(t, p, map[string][]byte{m.Path: data})
	damaged := bytes.Clone(whole)
	damaged[100] ^= 0xff // in the packed data
	for _, test := range []struct {
		name  string
		wheel []byte
		want  string // in the error; "" for none
	}{
		{"right", whole, ""},
		{"other content", wheel(t, p, map[string][]byte{m.Path: other}), "SHA-256"},
		{"other name", wheel(t, p, map[string][]byte{"data/v": data}), "has no file data/w"},
		{"shorter", wheel(t, p, map[string][]byte{m.Path: data[:5]}), "has 5 bytes and should have 160000"},
		{"longer", wheel(t, p, map[string][]byte{m.Path: append(bytes.Clone(data), 'x')}), "has 160001 bytes"},
		// Thirty megabytes of zeros pack into 30 kB; they are not unpacked.
		{"much longer", wheel(t, p, map[string][]byte{m.Path: make([]byte, 30_000_000)}), "has 30000000 bytes"},
		{"longer than it says", lying(t, whole, len(data), 1_000_000), "damaged"},
		{"damaged", damaged, "damaged"},
		{"cut", whole[:len(whole)/2], "cannot be read as a wheel"},
		{"empty", nil, "cannot be read as a wheel"},
		{"HTML", []byte("<html>log in to the network</html>"), "cannot be read as a wheel"},
	} {
		path := filepath.Join(t.TempDir(), "w.whl")
		if err := os.WriteFile(path, test.wheel, 0o644); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := copyMember(context.Background(), &out, path, m)
		switch {
		case test.want == "":
			if err != nil || !bytes.Equal(out.Bytes(), data) {
				t.Errorf("%s: %v", test.name, err)
			}
		case !errors.As(err, new(*contentError)) || !strings.Contains(err.Error(), test.want):
			t.Errorf("%s: error %v", test.name, err)
		}
		if out.Len() > len(data)+1 {
			t.Errorf("%s: %d bytes unpacked", test.name, out.Len())
		}
	}
}

// lying makes a wheel whose directory says a smaller size than the member
// unpacks to.
func lying(t *testing.T, like []byte, says, is int) []byte {
	t.Helper()
	w := wheel(t, Package{Name: "test", Version: "1.0"}, map[string][]byte{"data/w": make([]byte, is)})
	le := func(n int) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24)} }
	n := bytes.Count(w, le(is))
	w = bytes.ReplaceAll(w, le(is), le(says))
	if n == 0 || bytes.Equal(w, like) {
		t.Fatal("no size was found to change")
	}
	return w
}

func TestCopyMemberDiskFull(t *testing.T) {
	p := Package{Name: "test", Version: "1.0"}
	data := bytes.Repeat([]byte("weights "), 20_000)
	path := filepath.Join(t.TempDir(), "w.whl")
	if err := os.WriteFile(path, wheel(t, p, map[string][]byte{"w": data}), 0o644); err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	// The disk's fault, not the wheel's.
	err = copyMember(context.Background(), full, path, Member{Path: "w", Size: int64(len(data)), SHA256: hexSum(data)})
	if !errors.Is(err, syscall.ENOSPC) || errors.As(err, new(*contentError)) {
		t.Errorf("error %v", err)
	}
}
