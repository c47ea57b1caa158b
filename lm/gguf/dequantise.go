package gguf

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ollama/ollama/fs/ggml"
	engineggml "github.com/ollama/ollama/ml/backend/ggml"
	"github.com/shirou/gopsutil/v4/mem"

	"github.com/modellog/modellog/lm/gguf/header"
)

// dequantised is part of the file name of dequantised weights; it changes when
// what dequantise writes does.
const dequantised = "f32-2"

// headless is the name of a tensor without meaning. Where a file has no tensor of the output head, the engine loads
// the token embedding a second time to be one; where it has any of that group, the architectures take the token
// embedding itself.
const headless = "output.none"

// exactFits returns nil where the weights fit into the machine's free memory
// when they are dequantised, or into that of the graphics processors where it is
// not 0, and else an error that says how much is missing.
func exactFits(h *header.Header, graphics uint64) error {
	need := h.Parameters()*4 + 512<<20 // the batch takes some memory as well
	if err := convertible(h); err != nil {
		return err
	}
	free, of := graphics, "graphics memory"
	if graphics == 0 {
		memory, err := mem.VirtualMemory()
		if err != nil {
			return fmt.Errorf("the free memory is not known (%v), so the weights are left as they are", err)
		}
		free, of = memory.Available, "memory"
	}
	if need > free {
		return fmt.Errorf("in float32 it needs %.1f GB of %s and %.1f GB are free", float64(need)/1e9, of, float64(free)/1e9)
	}
	return nil
}

// dequantise returns the path of a copy of the file whose weights are float32,
// writing it into the cache folder where it is not there yet, or again.
func (m *Model) dequantise(ctx context.Context, again bool) (string, error) {
	h, o, digest := m.header, m.options, m.info.Digest
	if o.CacheDir == "" {
		return "", errors.New("there is no cache folder to keep dequantised weights in")
	}
	if err := convertible(h); err != nil {
		return "", err
	}
	if err := m.unchanged(); err != nil {
		return "", err
	}
	if h.Version < 2 {
		return "", fmt.Errorf("the file is GGUF version %d, which is not dequantised; convert it to version 3", h.Version)
	}
	dir := filepath.Join(o.CacheDir, "weights")
	// A graphics processor needs an output head of its own: the embedding stays with the processor.
	version, shared := dequantised, tied(h) && !o.GPU
	if o.GPU {
		version += "-gpu"
	}
	target := filepath.Join(dir, digest+"-"+version+".gguf")
	if _, err := os.Stat(sumFile(target)); err == nil && !again {
		if _, err := os.Stat(target); err == nil {
			return target, nil
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("making the folder for dequantised weights: %w", err)
	}
	sweep(dir)
	source, err := os.Open(m.info.Path)
	if err != nil {
		return "", err
	}
	defer source.Close()
	partial, err := os.CreateTemp(dir, digest+"-*.partial")
	if err != nil {
		return "", fmt.Errorf("writing dequantised weights: %w", err)
	}
	defer func() {
		partial.Close()
		os.Remove(partial.Name()) // fails once it has been renamed
	}()
	sum, err := writeFloat32(ctx, partial, source, h, shared, o.Progress)
	if err == nil {
		err = partial.Sync()
	}
	if err == nil {
		err = partial.Close()
	}
	if err == nil {
		err = os.WriteFile(sumFile(target), fmt.Appendf(nil, "%08x\n", sum), 0o666)
	}
	if err == nil {
		err = os.Rename(partial.Name(), target)
	}
	if err != nil {
		return "", fmt.Errorf("writing dequantised weights to %s: %w", dir, err)
	}
	replaced(dir, digest)
	return target, nil
}

// replaced removes what earlier versions wrote of the same weights, which nothing reads any more.
func replaced(dir, digest string) {
	old, err := filepath.Glob(filepath.Join(dir, digest+"-f32-*"))
	if err != nil {
		return
	}
	for _, path := range old {
		if !strings.Contains(filepath.Base(path), "-"+dequantised) {
			os.Remove(path)
		}
	}
}

// sweep removes what killed processes left of weights they were writing. A file
// that is being written has been written to a moment ago.
func sweep(dir string) {
	partial, err := filepath.Glob(filepath.Join(dir, "*.partial"))
	if err != nil {
		return
	}
	for _, path := range partial {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 10*time.Minute {
			os.Remove(path)
		}
	}
}

// checkWeights makes sure, before they are loaded, that dequantised weights are
// as they were written: a copy that was damaged is written anew.
func (m *Model) checkWeights(ctx context.Context) error {
	if m.weights == m.info.Path {
		return nil
	}
	err := checkSum(ctx, m.weights, m.options.Progress)
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := m.dequantise(ctx, true); err != nil {
		return fmt.Errorf("%s cannot be opened in exact precision: %w", m.info.Path, err)
	}
	return nil
}

func sumFile(path string) string { return strings.TrimSuffix(path, ".gguf") + ".crc32c" }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checkSum returns nil where the file at path is there and as it was written.
func checkSum(ctx context.Context, path string, progress func(string, int64, int64)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	want, err := os.ReadFile(sumFile(path))
	if err != nil {
		return err
	}
	sum := crc32.New(castagnoli)
	buf := make([]byte, 1<<20)
	for done := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		if done += int64(n); progress != nil {
			progress("checking the dequantised weights", done, info.Size())
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if got := fmt.Sprintf("%08x\n", sum.Sum32()); got != string(want) {
		return errors.New("the dequantised weights have been damaged")
	}
	return nil
}

// tied reports whether a file's token embedding is its output head as well.
func tied(h *header.Header) bool {
	return !slices.ContainsFunc(h.Tensors, func(t header.Tensor) bool { return strings.HasPrefix(t.Name, "output.") })
}

// writeFloat32 writes a copy of a GGUF file in which every quantised tensor is
// float32 and everything else is as it was, but for headless where the output head is shared. It
// returns the copy's checksum.
func writeFloat32(ctx context.Context, w io.Writer, source io.ReaderAt, h *header.Header, shared bool, progress func(string, int64, int64)) (uint32, error) {
	sum := crc32.New(castagnoli)
	out := &counter{w: bufio.NewWriterSize(w, 1<<20), sum: sum}
	count, begin, end := h.MetadataSection()

	tensors := uint64(len(h.Tensors))
	if shared {
		tensors++
	}
	out.Write([]byte("GGUF"))
	out.number(uint32(3))
	out.number(tensors)
	out.number(count)
	if _, err := io.Copy(out, io.NewSectionReader(source, begin, end-begin)); err != nil {
		return 0, err
	}
	var offset, total uint64
	describe := func(name string, shape []uint64, kind ggml.TensorType, size uint64) {
		out.number(uint64(len(name)))
		out.Write([]byte(name))
		out.number(uint32(len(shape)))
		for _, n := range shape {
			out.number(n)
		}
		out.number(uint32(kind))
		out.number(offset)
		offset += (size + uint64(h.Alignment) - 1) / uint64(h.Alignment) * uint64(h.Alignment)
	}
	for _, t := range h.Tensors {
		kind, size := t.Type, t.Bytes()
		if dequantises(t) {
			kind, size = ggml.TensorTypeF32, 4*t.Elements()
		}
		describe(t.Name, t.Shape, kind, size)
		total += t.Elements()
	}
	if shared {
		describe(headless, []uint64{1}, ggml.TensorTypeF32, 4)
	}
	var done uint64
	for _, t := range h.Tensors {
		out.align(h.Alignment)
		data := io.NewSectionReader(source, h.Data+int64(t.Offset), int64(t.Bytes()))
		if !dequantises(t) {
			if _, err := io.Copy(out, data); err != nil {
				return 0, err
			}
			done += t.Elements()
			continue
		}
		block, bytes := t.Type.BlockSize(), t.Type.TypeSize()
		buf := make([]byte, min(t.Bytes(), 8192*bytes))
		for left := t.Bytes(); left > 0; {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			part := buf[:min(left, uint64(len(buf)))]
			if _, err := io.ReadFull(data, part); err != nil {
				return 0, err
			}
			n := uint64(len(part)) / bytes * block
			floats := engineggml.ConvertToF32(part, uint32(t.Type), n)
			out.Write(unsafe.Slice((*byte)(unsafe.Pointer(&floats[0])), 4*n))
			if out.err != nil {
				return 0, out.err
			}
			left -= uint64(len(part))
			if done += n; progress != nil {
				progress("dequantising the weights to float32", int64(done), int64(total))
			}
		}
	}
	if shared {
		out.align(h.Alignment)
		out.number(float32(0))
	}
	if out.err == nil {
		out.err = out.w.Flush()
	}
	return sum.Sum32(), out.err
}

// dequantises reports whether a tensor is written as float32. Types that hold no
// weights (integers) stay.
func dequantises(t header.Tensor) bool {
	switch t.Type {
	case ggml.TensorTypeF32, ggml.TensorTypeF64, ggml.TensorTypeI8, ggml.TensorTypeI16, ggml.TensorTypeI32, ggml.TensorTypeI64:
		return false
	}
	return true
}

// convertible returns an error that names a tensor which the engine cannot
// dequantise.
func convertible(h *header.Header) error {
	for _, t := range h.Tensors {
		if !dequantises(t) {
			continue
		}
		switch t.Type {
		case ggml.TensorTypeF16, ggml.TensorTypeBF16,
			ggml.TensorTypeQ4_0, ggml.TensorTypeQ4_1, ggml.TensorTypeQ5_0, ggml.TensorTypeQ5_1, ggml.TensorTypeQ8_0,
			ggml.TensorTypeQ2_K, ggml.TensorTypeQ3_K, ggml.TensorTypeQ4_K, ggml.TensorTypeQ5_K, ggml.TensorTypeQ6_K,
			ggml.TensorTypeMXFP4:
		default:
			return fmt.Errorf("the engine does not dequantise weights of type %v (type %d, tensor %s)", t.Type, uint32(t.Type), t.Name)
		}
	}
	return nil
}

// counter counts and sums what is written, and keeps the first error.
type counter struct {
	w   *bufio.Writer
	sum hash.Hash32
	n   int64
	err error
}

func (c *counter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	c.err = err
	return n, err
}

func (c *counter) number(v any) { c.err = errors.Join(c.err, binary.Write(c, binary.LittleEndian, v)) }

func (c *counter) align(alignment int64) {
	if over := c.n % alignment; over != 0 {
		c.Write(make([]byte, alignment-over))
	}
}
