package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ollama/ollama/fs/ggml"
	"github.com/ollama/ollama/ml"
	"pgregory.net/rapid"

	"github.com/modellog/modellog/internal/modeltest"
	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/store"
)

// Every layer is on one device, in order, and about as many as its memory is of the whole.
func TestSpread(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		layers := rapid.IntRange(1, 100).Draw(t, "layers")
		var devices []ml.DeviceInfo
		var all float64
		for range rapid.IntRange(1, 5).Draw(t, "devices") {
			d := ml.DeviceInfo{FreeMemory: uint64(rapid.IntRange(0, 1<<36).Draw(t, "free"))}
			d.ID = string(rune('0' + len(devices)))
			devices = append(devices, d)
			all += float64(d.FreeMemory)
		}
		next := 0
		for _, on := range spread(layers, devices) {
			for _, l := range on.Layers {
				if l != next {
					t.Fatalf("layer %d comes where %d should", l, next)
				}
				next++
			}
			share := float64(devices[on.ID[0]-'0'].FreeMemory) / all
			if got := float64(len(on.Layers)); all > 0 && (got > share*float64(layers)+1 || got < share*float64(layers)-1) {
				t.Fatalf("%v of %d layers for %.3f of the memory", got, layers, share)
			}
		}
		if next != layers {
			t.Fatalf("%d of %d layers are on a device", next, layers)
		}
	})
}

// A device is taken once, and one that is part of the processor only where there is no other.
func TestDistinctDevices(t *testing.T) {
	device := func(library, id, pci string, integrated bool) ml.DeviceInfo {
		return ml.DeviceInfo{DeviceID: ml.DeviceID{Library: library, ID: id}, PCIID: pci, Integrated: integrated}
	}
	card, slice := device("CUDA", "0", "0000:01:00.0", false), device("CUDA", "1", "0000:01:00.0", false)
	again, part := device("Vulkan", "0", "0000:01:00.0", false), device("Vulkan", "1", "0000:00:02.0", true)
	nameless, other := device("Vulkan", "2", "", false), device("CUDA", "2", "", false)
	for _, c := range []struct{ found, want []ml.DeviceInfo }{
		{nil, nil},
		{[]ml.DeviceInfo{card, slice, again, part}, []ml.DeviceInfo{card, slice}},
		{[]ml.DeviceInfo{part}, []ml.DeviceInfo{part}},
		{[]ml.DeviceInfo{part, again}, []ml.DeviceInfo{again}},
		{[]ml.DeviceInfo{nameless, other}, []ml.DeviceInfo{nameless, other}},
	} {
		if got := distinctDevices(c.found); !reflect.DeepEqual(got, c.want) {
			t.Errorf("of %v there are %v, want %v", c.found, got, c.want)
		}
	}
}

// What fits in float32 is measured by the memory where the weights will be.
func TestExactFitsGraphics(t *testing.T) {
	h := &header.Header{Tensors: []header.Tensor{{Name: "blk.0.attn_q.weight", Type: ggml.TensorTypeQ4_K, Shape: []uint64{1 << 14, 1 << 14}}}}
	const need = 4<<28 + 512<<20
	if err := exactFits(h, need); err != nil {
		t.Error(err)
	}
	if err := exactFits(h, need-1); err == nil || !strings.Contains(err.Error(), "needs 1.6 GB of graphics memory and 1.6 GB are free") {
		t.Errorf("one byte too little: %v", err)
	}
}

// To look for graphics processors leaves models alone that are loaded already, whether there are some or none.
func TestGraphicsBesideAModel(t *testing.T) {
	m := open(t, modeltest.SmolLM, Native)
	readings := modeltest.SmolLM.Readings(t)
	compare(t, m, readings[:1])
	if _, err := graphics(); err != nil && !errors.Is(err, ErrNoGPU) {
		t.Fatal(err)
	}
	compare(t, m, readings[1:2])
}

// openGPU opens a reference model on the graphics processors. Where there are none, to ask for them is an error that
// says what they need.
func openGPU(t *testing.T, r modeltest.Reference, p Precision) *Model {
	t.Helper()
	dir, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), r.Path(t), Options{GPU: true, Digest: r.SHA256, CacheDir: dir, Precision: p, Threads: testThreads})
	if errors.Is(err, ErrNoGPU) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	if m.Info().Revision == revision {
		t.Error("its readings would be taken for those of the processor")
	}
	return m
}

// Graphics processors read what the processor reads, and may round the factors of their products to 16 bits.
func TestGPU(t *testing.T) {
	for _, r := range modeltest.All {
		for _, p := range []Precision{Exact, Native} {
			t.Run(r.Name+"/"+string(p), func(t *testing.T) {
				m := openGPU(t, r, p)
				start := time.Now()
				logP, entropy, _ := compare(t, m, r.Readings(t))
				t.Logf("%s: log-probabilities differ by %.2g and entropies by %.2g nats; %v", m.Info().Revision, logP, entropy, time.Since(start))
				if logP > 0.05 || entropy > 0.05 {
					t.Error("that is too much")
				}
			})
		}
	}
}

// What is particular about this package's use of the engine gives on graphics processors what it gives on the
// processor: prefixes that share cells of the cache, shared beginnings that go through without outputs, a cache that
// is made anew with more room, two models beside each other, and sequences that grow. Two layers are enough for that.
func TestGPUTree(t *testing.T) {
	for _, r := range modeltest.All {
		t.Run(r.Name, func(t *testing.T) {
			path := shorten(t, r, 2)
			processor, err := Open(t.Context(), path, Options{Digest: "x", Precision: Exact, Threads: testThreads})
			if err != nil {
				t.Fatal(err)
			}
			defer processor.Close()
			m, err := Open(t.Context(), path, Options{GPU: true, Digest: "x", Precision: Exact, Threads: testThreads})
			if errors.Is(err, ErrNoGPU) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			prefixes := slices.Delete(questions(t, m, 24), 3, 4) // which has nothing in common with the others
			m.chunk = 8
			const room = 8
			if m.engine, err = load(t.Context(), m.weights, testThreads, m.layers, m.info.Precision, room, m.chunk, m.batch, nil); err != nil {
				t.Fatal(err)
			}
			placed(t, m)
			if _, stem := tree(prefixes); stem <= m.chunk {
				t.Fatalf("the stem of %d tokens goes through at once", stem)
			}
			agree(t, "prefixes that begin alike", readAll(t, m, prefixes), readAll(t, processor, prefixes))
			if m.engine.capacity <= room {
				t.Errorf("the cache still has room for %d tokens", m.engine.capacity)
			}

			var texts [][]lm.Token
			var drawn [][]float32
			text := slices.Clone(prefixes[0])
			if _, err := m.Sample(t.Context(), text, lm.Request{MaxTokens: 4}, func(token lm.Token, d lm.Distribution) error {
				texts, drawn = append(texts, slices.Clone(text)), append(drawn, slices.Clone(d.Logits))
				text = append(text, token)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			agree(t, "a sequence that grows", drawn, readAll(t, processor, texts))
		})
	}
}

// placed checks that each layer's weights, and the output head's, are where they should be.
func placed(t *testing.T, m *Model) {
	t.Helper()
	memory := m.engine.model.Backend().BackendMemory()
	for layer, bytes := range memory.CPU.Weights {
		if bytes > 0 {
			t.Errorf("the processor has %d bytes of layer %d", bytes, layer)
		}
	}
	for _, on := range memory.GPUs {
		for layer, bytes := range on.Weights {
			asked := slices.ContainsFunc(m.layers, func(l ml.GPULayers) bool { return l.DeviceID == on.DeviceID && slices.Contains(l.Layers, layer) })
			if asked != (bytes > 0) {
				t.Errorf("%s has %d bytes of layer %d", on.Name, bytes, layer)
			}
		}
	}
	if len(memory.GPUs) == 0 || memory.InputWeights == 0 {
		t.Errorf("the engine has %d graphics processors and %d bytes of the embedding on the processor", len(memory.GPUs), memory.InputWeights)
	}
}

// shorten writes a reference model with its first layers only, in float32.
func shorten(t *testing.T, r modeltest.Reference, layers int) string {
	t.Helper()
	h, err := header.Open(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.Open(r.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	h.Tensors = slices.DeleteFunc(h.Tensors, func(tensor header.Tensor) bool {
		var layer int
		n, _ := fmt.Sscanf(tensor.Name, "blk.%d.", &layer)
		return n == 1 && layer >= layers
	})
	f, err := os.Create(filepath.Join(t.TempDir(), "short.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := writeFloat32(t.Context(), f, source, h, false, nil); err != nil {
		t.Fatal(err)
	}
	metadata := make([]byte, 1<<16)
	if _, err := f.ReadAt(metadata, 0); err != nil {
		t.Fatal(err)
	}
	key := []byte(h.KV.Architecture() + ".block_count")
	at := bytes.Index(metadata, append(key, 4, 0, 0, 0)) // a 32-bit number follows
	if at < 0 {
		t.Fatal("the file does not say how many layers it has")
	}
	if _, err := f.WriteAt(binary.LittleEndian.AppendUint32(nil, uint32(layers)), int64(at+len(key)+4)); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// agree compares the log-probabilities of tokens that are not very rare.
func agree(t *testing.T, what string, got, want [][]float32) {
	t.Helper()
	if len(got) == 0 || len(got) != len(want) {
		t.Fatalf("%s: %d distributions, want %d", what, len(got), len(want))
	}
	worst := 0.0
	for i := range got {
		a, b := modeltest.LogSoftmax(got[i]), modeltest.LogSoftmax(want[i])
		for k := range a {
			if b[k] > -12 {
				worst = max(worst, math.Abs(a[k]-b[k]))
			}
		}
	}
	if t.Logf("%s: log-probabilities differ by %.2g", what, worst); worst > 0.05 || math.IsNaN(worst) {
		t.Error("that is too much")
	}
}
