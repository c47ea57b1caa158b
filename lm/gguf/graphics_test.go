package gguf

import (
	"errors"
	"testing"

	"github.com/ollama/ollama/ml"
	"pgregory.net/rapid"

	"github.com/modellog/modellog/internal/modeltest"
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

// Where there are no graphics processors, to ask for them is an error that says what they need; where
// there are, they read what the processor reads.
func TestGPU(t *testing.T) {
	r := modeltest.SmolLM
	dir, err := store.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	m, err := Open(t.Context(), r.Path(t), Options{GPU: true, Digest: r.SHA256, CacheDir: dir, Precision: Exact, Threads: testThreads})
	if errors.Is(err, ErrNoGPU) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if m.Info().Revision == revision {
		t.Error("its readings would be taken for those of the processor")
	}
	// A graphics processor may round the factors of its products to 16 bits.
	if logP, entropy, _ := compare(t, m, r.Readings(t)); logP > 0.05 || entropy > 0.05 {
		t.Errorf("log-probabilities differ by %.2g and entropies by %.2g nats", logP, entropy)
	} else {
		t.Logf("%s: log-probabilities differ by %.2g and entropies by %.2g nats", m.Info().Revision, logP, entropy)
	}
}
