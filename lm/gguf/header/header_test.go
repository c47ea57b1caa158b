package header

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// file builds a GGUF file piece by piece, as the format's description has it.
type file struct {
	bytes.Buffer
	version uint32
}

func begin(version uint32, tensors, kvs uint64) *file {
	f := &file{version: version}
	f.WriteString("GGUF")
	f.put(version)
	f.length(tensors)
	f.length(kvs)
	return f
}

func (f *file) put(v any) { binary.Write(f, binary.LittleEndian, v) }

func (f *file) length(n uint64) {
	if f.version == 1 {
		f.put(uint32(n))
	} else {
		f.put(n)
	}
}

func (f *file) str(s string) {
	if f.version == 1 {
		s += "\x00"
	}
	f.length(uint64(len(s)))
	f.WriteString(s)
}

func (f *file) stringKV(key, value string) { f.str(key); f.put(uint32(typeString)); f.str(value) }

func (f *file) tensor(name string, kind uint32, offset uint64, shape ...uint64) {
	f.str(name)
	f.put(uint32(len(shape)))
	for _, n := range shape {
		f.length(n)
	}
	f.put(kind)
	f.put(offset)
}

func (f *file) data(n int) *file {
	for f.Len()%32 != 0 {
		f.WriteByte(0)
	}
	f.Write(make([]byte, n))
	return f
}

func small(version uint32) *file {
	f := begin(version, 2, 5)
	f.stringKV("general.architecture", "llama")
	f.str("llama.block_count")
	f.put(uint32(typeUint32))
	f.put(uint32(7))
	f.str("tokenizer.ggml.tokens")
	f.put(uint32(typeArray))
	f.put(uint32(typeString))
	f.length(3)
	f.str("a")
	f.str("")
	f.str("▁b")
	f.str("tokenizer.ggml.scores")
	f.put(uint32(typeArray))
	f.put(uint32(typeFloat32))
	f.length(2)
	f.put([]float32{-1.5, float32(math.Inf(1))})
	f.str("tokenizer.ggml.add_bos_token")
	f.put(uint32(typeBool))
	f.WriteByte(1)
	f.tensor("token_embd.weight", 0, 0, 4, 3)
	f.tensor("blk.0.attn_q.weight", 2, 64, 32, 2)
	return f.data(64 + 36)
}

func read2(f *file) (*Header, error) { return Read(bytes.NewReader(f.Bytes()), int64(f.Len())) }

func TestRead(t *testing.T) {
	for version := uint32(1); version <= 3; version++ {
		h, err := read2(small(version))
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if got := h.KV.Strings("tokenizer.ggml.tokens"); !reflect.DeepEqual(got, []string{"a", "", "▁b"}) {
			t.Errorf("version %d: tokens %q", version, got)
		}
		if got := h.KV.Uint("block_count"); got != 7 {
			t.Errorf("version %d: block_count under the architecture's name is %d, want 7", version, got)
		}
		if got := h.KV.Floats("tokenizer.ggml.scores"); len(got) != 2 || got[0] != -1.5 {
			t.Errorf("version %d: scores %v", version, got)
		}
		if !h.KV.Bool("tokenizer.ggml.add_bos_token") || h.KV.Architecture() != "llama" {
			t.Errorf("version %d: %v", version, h.KV)
		}
		if len(h.Tensors) != 2 || h.Tensors[0].Bytes() != 48 || h.Tensors[1].Bytes() != 36 || h.Parameters() != 12+64 {
			t.Errorf("version %d: tensors %+v", version, h.Tensors)
		}
	}
}

// In version 1 a string of length 0 has no zero byte to take off.
func TestVersion1EmptyString(t *testing.T) {
	f := begin(1, 0, 1)
	f.length(uint64(len("k")))
	f.WriteString("k")
	f.put(uint32(typeString))
	f.length(0)
	h, err := read2(f)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := h.KV["k"].(string); !ok || v != "" {
		t.Errorf("got %#v, want the empty string", h.KV["k"])
	}
}

// The data begin at the next multiple of an alignment that may be any power of two,
// and that the file has as 32 bits.
func TestAlignment(t *testing.T) {
	for _, alignment := range []uint32{1, 8, 32, 64, 4096, 1 << 31, 1<<32 - 1} {
		f := begin(3, 2, 1)
		f.str("general.alignment")
		f.put(uint32(typeUint32))
		f.put(alignment)
		f.tensor("a", 0, 0, 4)
		f.tensor("b", 0, uint64(max(alignment, 16)), 4)
		begins := f.Len()
		for alignment <= 4096 && begins%int(alignment) != 0 {
			begins++
		}
		f.Write(make([]byte, begins-f.Len()+max(16, int(min(alignment, 4096)))+16))
		h, err := read2(f)
		switch {
		case alignment > 4096:
			if err == nil || !strings.Contains(err.Error(), "power of two") {
				t.Errorf("alignment %d: %v", alignment, err)
			}
		case err != nil:
			t.Errorf("alignment %d: %v", alignment, err)
		case h.Data != int64(begins):
			t.Errorf("alignment %d: the data begin at %d, want %d", alignment, h.Data, begins)
		}
	}
}

// A file that breaks off at any byte is refused, never read as whole.
func TestEveryTruncation(t *testing.T) {
	whole := small(3).Bytes()
	for n := range len(whole) {
		_, err := Read(bytes.NewReader(whole[:n]), int64(n))
		if err == nil {
			t.Fatalf("the first %d of %d bytes were read as a whole file", n, len(whole))
		}
		if n >= 4 && !errors.Is(err, ErrTruncated) {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if n < 4 && !errors.Is(err, ErrNotGGUF) {
			t.Fatalf("%d bytes: %v", n, err)
		}
	}
}

func TestErrors(t *testing.T) {
	kv := func(kind uint32, rest any) *file {
		f := begin(3, 0, 1)
		f.str("k")
		f.put(kind)
		f.put(rest)
		return f
	}
	tensor := func(kind uint32, offset uint64, shape ...uint64) *file {
		f := begin(3, 1, 0)
		f.tensor("t", kind, offset, shape...)
		return f.data(4096)
	}
	twice := begin(3, 0, 2)
	twice.stringKV("k", "1")
	twice.stringKV("k", "2")
	align := begin(3, 0, 1)
	align.str("general.alignment")
	align.put(uint32(typeUint32))
	align.put(uint32(0))
	for _, test := range []struct {
		name, want string
		f          *file
	}{
		{"zip", "begin with the letters GGUF", &file{Buffer: *bytes.NewBufferString("PK\x03\x04....")}},
		{"version", "version 9 is not known", begin(9, 0, 0)},
		{"big-endian", "big-endian", begin(3<<24, 0, 0)},
		{"tensors", "number of tensors is 18446744073709551615", begin(3, math.MaxUint64, 0)},
		{"kvs", "number of metadata entries", begin(3, 0, 1<<60)},
		{"type", "type is 77", kv(77, uint64(0))},
		{"string", "length of the string", kv(typeString, uint64(1<<40))},
		{"array", "number of elements", kv(typeArray, struct {
			T uint32
			N uint64
		}{typeInt32, 1 << 50})},
		{"nested array", "type 9", kv(typeArray, struct {
			T uint32
			N uint64
		}{typeArray, 0})},
		{"key twice", "stands twice", twice},
		{"alignment", "power of two", align},
		{"no dimensions", "0 dimensions", tensor(0, 0)},
		{"five dimensions", "5 dimensions", tensor(0, 0, 1, 1, 1, 1, 1)},
		{"zero dimension", "size 0", tensor(0, 0, 4, 0)},
		{"overflowing dimensions", "more elements than the file", tensor(0, 0, 1<<33, 1<<33, 1<<33)},
		{"element type", "type 99", tensor(99, 0, 4)},
		{"partial block", "multiple of its type's blocks of 32", tensor(2, 0, 33)},
		{"unaligned", "multiple of the alignment", tensor(0, 7, 4)},
		{"past the end", "cut short", tensor(0, 4096, 4)},
	} {
		_, err := read2(test.f)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want an error with %q", test.name, err, test.want)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir); !errors.Is(err, ErrNotGGUF) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "missing.gguf")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	path := filepath.Join(dir, "m.gguf")
	if err := os.WriteFile(path, small(3).Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	for version := uint32(1); version <= 3; version++ {
		f.Add(small(version).Bytes())
	}
	f.Add(begin(3, math.MaxUint64, math.MaxUint64).Bytes())
	f.Add([]byte("GGUF"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, tensor := range h.Tensors {
			if uint64(h.Data)+tensor.Offset+tensor.Bytes() > uint64(len(b)) {
				t.Fatalf("tensor %q reaches past the end", tensor.Name)
			}
		}
	})
}
