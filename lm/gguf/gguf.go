// Package gguf runs models from GGUF files inside the program: Ollama's own
// engine packages, with the whole vocabulary and many prefixes in a batch.
//
// # Precision
//
// Opened [Exact], a model's weights are dequantised to float32 once, into a file
// in the cache folder, and everything is computed in float32: log-probabilities
// agree with another float32 implementation over the same weights within some
// hundred-thousandths. (But for Linux, Gemma's activations go through the engine's
// table of 16 bits: within some thousandths.) Opened [Native], the weights are used as the file has them; the
// engine's kernels for quantised weights round the activations to 8 bits, which
// moves single probabilities by tens of per cent, and differently in batches of
// different sizes, because the kernels sum in another order. So that a reading
// does not depend on what is read with it, Native reads one prefix at a time
// unless [Options].Batch says otherwise. [Auto] is Exact where that fits into the
// free memory of what computes, else Native. [lm.Info] says which it was.
//
// Exact is the faster too, if not the smaller, where products of float32 are fast: on a
// processor with AVX2 and without AVX-512, in batches of 64, it gives 1.8 (gemma3:270m-pt)
// and 2.9 (smollm2:135m-instruct) times as many readings a second as the 4-bit kernels
// (BenchmarkRead).
//
// # Batches
//
// Prefixes are read as a tree: what several of a batch begin with goes through the
// model once, its keys and values being kept for those that go on from there
// ([Model.Batch]). On Linux and processors with AVX2 the matrix products in float32
// are this package's own.
//
// # Graphics processors
//
// A model opened with [Options].GPU has its layers and its output head on the graphics processors that the engine
// finds, by their free memory where they are several; a processor's own is left out where there is another. The
// embedding stays with the processor.
//
// On Macs with Apple's processors the engine has Metal built in. Elsewhere it loads the libraries of an Ollama
// installation of the engine's version, which is made for the device: the folder cuda_v12 or cuda_v13 for NVIDIA's (by
// the driver), rocm (a download of its own) for AMD's, vulkan for others. OLLAMA_LIBRARY_PATH names the folders, whose
// paths must contain lib/ollama, and LD_LIBRARY_PATH (on Windows PATH) names them too and the folder above, since the
// libraries need others that lie there; the system reads it when the program starts:
//
//	export OLLAMA_LIBRARY_PATH=/usr/local/lib/ollama:/usr/local/lib/ollama/cuda_v12
//	export LD_LIBRARY_PATH=$OLLAMA_LIBRARY_PATH
//
// Ollama's server sets both for its own runner, and leaves Vulkan out unless OLLAMA_VULKAN=1; here that is not needed.
// CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES (on Windows HIP_VISIBLE_DEVICES) or GGML_VK_VISIBLE_DEVICES say which of
// several devices there are for it.
//
// What is read there is kept apart from what is read on the processor, by the names of library and device in
// [lm.Info].Revision. Weights in Exact precision are float32 there too, but a graphics library may round the factors of
// a product: CUDA's to TF32 (10 bits after the point) on cards that have it, of which NVIDIA_TF32_OVERRIDE=0 turns off
// cuBLAS's part; Vulkan's to 16 bits, with GGML_VK_DISABLE_F16=1 only those within attention. What a graphics library
// itself finds wrong still ends the program.
//
// # Writing
//
// [Model.Generate] writes with the same weights and the same numbers, one token at
// a time. A conversation goes through the chat template that the file has (package
// chat); a file without one is a base model's.
//
// # Trust
//
// The engine trusts the files it is given, so a file's description of itself is
// checked first (package header), then that the shapes of its tensors fit its
// metadata where the engine would compute on without a word, and that the
// processor has the features that the engine was compiled for ([CheckCPU]). What
// the engine itself finds wrong, it ends the process for; here it ends the model,
// with an [AbortError].
//
// # Building
//
// The engine is C and C++ compiled by cgo. Without optimisation it is 16 times
// slower; set CGO_CFLAGS and CGO_CXXFLAGS to "-O3 -march=native" as the Makefile
// does. [BuiltFor] tells what it was compiled for.
package gguf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ollama/ollama/fs/ggml"
	"github.com/ollama/ollama/ml"

	"github.com/modellog/modellog/lm"
	"github.com/modellog/modellog/lm/chat"
	"github.com/modellog/modellog/lm/gguf/header"
	"github.com/modellog/modellog/lm/tokens"
)

// Precision says in what numbers a model is computed.
type Precision string

const (
	Auto   Precision = ""       // Exact where it fits, else Native
	Exact  Precision = "exact"  // weights dequantised to float32
	Native Precision = "native" // weights as the file has them
)

// Options say how a model is opened. The zero value opens it with Auto
// precision and a thread for each processor.
type Options struct {
	Name      string    // how the model is called in lm.Info; the path where it is empty
	Digest    string    // the file's SHA-256 in hexadecimal where it is known; else it is computed
	Precision Precision // in what numbers to compute
	CacheDir  string    // where dequantised weights are kept; needed for Exact
	Threads   int       // threads of the engine; all processors where it is 0
	GPU       bool      // compute on the graphics processors that the engine finds; an error where there are none
	Batch     int       // prefixes in a batch (see Model.Batch); where it is 0, 64 in Exact precision and 1 in Native

	// Progress, where it is not nil, is told of steps that take long.
	Progress func(what string, done, total int64)

	// Warn, where it is not nil, is told when Auto chose Native, and why.
	Warn func(message string)
}

// Model is a model that this program runs. Its weights are loaded by the first
// reading, so that a model whose readings are all in a cache is open at once.
// Its methods may be called from several goroutines; readings are made one batch
// at a time.
type Model struct {
	info      lm.Info
	header    *header.Header
	tokenizer *tokens.Tokenizer
	options   Options
	weights   string // the file the engine reads
	file      os.FileInfo
	batch     int // prefixes that are read together
	chunk     int // tokens that go through the engine at once

	mu     sync.Mutex // held while the engine works; for good once it has aborted
	engine *engine    // nil before the first reading and after Close
	closed bool

	layers         ml.GPULayersList // on which graphics processors; none where the processor computes
	graphicsMemory uint64           // what is free on them, in bytes

	ends []lm.Token                     // at which the writing ends
	chat func() (*chat.Template, error) // parsed at its first use

	aborted atomic.Pointer[AbortError]
}

var _ lm.Model = (*Model)(nil)

// revision is of what turns a file and a prefix into numbers: the engine's
// version, as go.mod pins it, and our own part's.
const revision = "ollama " + engineVersion + ", 3"

const engineVersion = "v0.17.4"

// Open opens the model in the GGUF file at path. The errors of a bad file say
// what is wrong with it: [header.ErrNotGGUF], [header.ErrTruncated], an
// architecture or a tokenizer that the engine lacks.
func Open(ctx context.Context, path string, o Options) (*Model, error) {
	if err := CheckCPU(); err != nil {
		return nil, err
	}
	switch o.Precision {
	case Auto, Exact, Native:
	default:
		return nil, fmt.Errorf("precision %q is not known; %q and %q are", o.Precision, Exact, Native)
	}
	file, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("opening the model: %w", err)
	}
	h, err := header.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the model: %w", err)
	}
	tokenizer, err := tokens.New(h.KV)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	digest := strings.TrimPrefix(o.Digest, "sha256:")
	if digest == "" {
		if digest, err = fileDigest(ctx, path, o.Progress); err != nil {
			return nil, fmt.Errorf("computing the digest of %s: %w", path, err)
		}
	}
	m := &Model{
		header:    h,
		file:      file,
		tokenizer: tokenizer,
		options:   o,
		batch:     o.Batch,
		chunk:     defaultChunk,
		info: lm.Info{
			Name:         o.Name,
			Backend:      "gguf",
			Revision:     revision,
			Digest:       digest,
			Architecture: h.KV.Architecture(),
			Quantization: quantization(h),
			Path:         path,
			Parameters:   h.Parameters(),
			Vocabulary:   tokenizer.Size(),
			Context:      contextLength(h),
			AddBOS:       tokenizer.AddBOS(),
			BOS:          tokenizer.BOS(),
			EOS:          tokenizer.EOS(),
			Whole:        true,
		},
	}
	if m.info.Name == "" {
		m.info.Name = path
	}
	m.ends = m.endings()
	m.chat = sync.OnceValues(func() (*chat.Template, error) { return readChatTemplate(m) })
	if m.options.Threads <= 0 {
		m.options.Threads = runtime.NumCPU()
	}
	if err := checkShapes(h); err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	if err := supported(path); err != nil {
		return nil, fmt.Errorf("opening %s: %w", path, err)
	}
	if o.GPU {
		var devices []ml.DeviceInfo
		if devices, err = graphics(); err != nil {
			return nil, err
		}
		m.layers = spread(int(h.KV.Uint("block_count"))+1, devices)
		for _, d := range devices {
			m.info.Revision += ", " + d.Library + " " + d.Description
			m.graphicsMemory += d.FreeMemory
		}
		for _, name := range []string{"GGML_VK_DISABLE_F16", "NVIDIA_TF32_OVERRIDE"} { // they change how products are rounded
			if value, set := os.LookupEnv(name); set {
				m.info.Revision += ", " + name + "=" + value
			}
		}
	}
	if err := m.choosePrecision(ctx); err != nil {
		return nil, err
	}
	switch {
	case m.batch > 0:
	case m.info.Precision == string(Native):
		m.batch = 1
	default:
		m.batch = defaultBatch
	}
	return m, nil
}

// unchanged returns an error where the file is not the one that was opened: its
// digest and its tokenizer would be another's.
func (m *Model) unchanged() error {
	now, err := os.Stat(m.info.Path)
	if err != nil {
		return err
	}
	if !os.SameFile(now, m.file) || now.Size() != m.file.Size() || !now.ModTime().Equal(m.file.ModTime()) {
		return fmt.Errorf("%s has changed since it was opened; open it again", m.info.Path)
	}
	return nil
}

// choosePrecision sets the file that the engine reads and the precision.
func (m *Model) choosePrecision(ctx context.Context) error {
	o := m.options
	m.weights, m.info.Precision = m.info.Path, string(Native)
	if o.Precision == Native {
		return nil
	}
	if allFloat32(m.header) {
		m.info.Precision = string(Exact) // nothing to dequantise
		return nil
	}
	reason := exactFits(m.header, m.graphicsMemory)
	if reason == nil || o.Precision == Exact {
		var dequantised string
		dequantised, reason = m.dequantise(ctx, false)
		if reason == nil {
			m.weights, m.info.Precision = dequantised, string(Exact)
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if o.Precision == Exact {
		return fmt.Errorf("%s cannot be opened in exact precision: %w", m.info.Path, reason)
	}
	if o.Warn != nil {
		o.Warn(fmt.Sprintf("%s is computed in native precision, where single probabilities may be off by tens of per cent: %v", m.info.Name, reason))
	}
	return nil
}

func allFloat32(h *header.Header) bool {
	for _, t := range h.Tensors {
		if t.Type != ggml.TensorTypeF32 {
			return false
		}
	}
	return true
}

// quantization names the type of the file's weights: what the metadata say, or
// else the type that most of the elements have.
func quantization(h *header.Header) string {
	if v := h.KV.Value("general.file_type"); v != nil {
		if name := ggml.FileType(h.KV.Uint("general.file_type")).String(); name != "unknown" && name != "" {
			return name
		}
	}
	elements := make(map[string]uint64)
	var most string
	for _, t := range h.Tensors {
		name := t.Type.String()
		if elements[name] += t.Elements(); elements[name] > elements[most] {
			most = name
		}
	}
	return most
}

func fileDigest(ctx context.Context, path string, progress func(string, int64, int64)) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	buf := make([]byte, 1<<20)
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		hash.Write(buf[:n])
		if done += int64(n); progress != nil {
			progress("checking the weights", done, info.Size())
		}
		if errors.Is(err, io.EOF) {
			return hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// Info says what the model is.
func (m *Model) Info() lm.Info { return m.info }

// Tokenize returns the text's own tokens.
func (m *Model) Tokenize(ctx context.Context, text string) ([]lm.Token, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return m.tokenizer.Encode(text)
}

// Piece returns the bytes that a token stands for.
func (m *Model) Piece(t lm.Token) []byte { return m.tokenizer.Piece(t) }

// Close frees the weights, after the batch that is being read.
func (m *Model) Close() error {
	if m.aborted.Load() != nil {
		return nil // its memory is the parked thread's
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.engine != nil {
		m.engine.close()
		m.engine = nil
	}
	return nil
}
