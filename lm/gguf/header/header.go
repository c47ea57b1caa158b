// Package header reads the metadata of GGUF files: the key-value pairs that
// describe a model and its tokenizer, and where each tensor lies.
//
// A file is checked before anything is done with it. Every count and length is
// held against what is left of the file before memory is set aside for it, the
// tensors must lie within the file, and their shapes must fit their types; what
// is wrong is said with the place in the file. A [Header] that [Read] returned
// can be handed to the engine, which trusts its input.
//
// Versions 1 (32-bit lengths), 2 and 3 are read, in little-endian order.
package header

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/ollama/ollama/fs/ggml"
)

// ErrNotGGUF is returned, wrapped, for a file that does not begin as a GGUF
// file does.
var ErrNotGGUF = errors.New("not a GGUF file")

// ErrTruncated is returned, wrapped, for a file that ends before its own
// description of itself says it should.
var ErrTruncated = errors.New("the file is cut short")

const (
	maxMetadata = 1 << 30 // bytes before the tensors' data
	maxKey      = 1 << 16 // bytes of a key or a tensor's name
	maxDims     = 4       // of a tensor, as in ggml
)

// Header is what a GGUF file says of itself.
type Header struct {
	Version   uint32   // 1, 2 or 3
	KV        KV       // the key-value pairs
	Tensors   []Tensor // in the file's order
	Data      int64    // where the tensors' data begin, in bytes
	Alignment int64    // of the tensors' data, in bytes; a power of two
	Size      int64    // the file's size in bytes

	kvCount        uint64
	kvBegin, kvEnd int64
}

// Tensor says where a tensor lies and what it is made of.
type Tensor struct {
	Name   string
	Type   ggml.TensorType
	Shape  []uint64 // elements in each dimension, the fastest running first
	Offset uint64   // from the beginning of the data, in bytes
}

// Elements is the number of the tensor's elements.
func (t Tensor) Elements() uint64 {
	n := uint64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// Bytes is the size of the tensor's data in the file.
func (t Tensor) Bytes() uint64 {
	return t.Elements() / t.Type.BlockSize() * t.Type.TypeSize()
}

// Open reads the header of the file at path.
func Open(path string) (*Header, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file, so %w", path, ErrNotGGUF)
	}
	h, err := Read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// Read reads the header of a GGUF file of the given size in bytes.
func Read(r io.ReaderAt, size int64) (*Header, error) {
	d := &decoder{r: r, size: size, limit: min(size, maxMetadata)}
	var magic [4]byte
	if err := d.bytes(magic[:]); err != nil || string(magic[:]) != "GGUF" {
		return nil, fmt.Errorf("%w: it does not begin with the letters GGUF", ErrNotGGUF)
	}
	version, err := d.uint32()
	if err != nil {
		return nil, err
	}
	switch {
	case version >= 1 && version <= 3:
	case version>>16 != 0 && version&0xffff == 0:
		return nil, errors.New("the file is a big-endian GGUF file, which the engine does not read")
	default:
		return nil, fmt.Errorf("GGUF version %d is not known; versions 1 to 3 are", version)
	}
	d.v1 = version == 1
	h := &Header{Version: version, KV: KV{}, Size: size}
	tensors, err := d.length("number of tensors")
	if err != nil {
		return nil, err
	}
	if h.kvCount, err = d.length("number of metadata entries"); err != nil {
		return nil, err
	}
	h.kvBegin = d.at
	for i := range h.kvCount {
		key, err := d.string("metadata key", maxKey)
		if err != nil {
			return nil, fmt.Errorf("metadata entry %d: %w", i, err)
		}
		value, err := d.value()
		if err != nil {
			return nil, fmt.Errorf("metadata entry %q: %w", key, err)
		}
		if _, twice := h.KV[key]; twice {
			return nil, fmt.Errorf("metadata entry %q stands twice in the file", key)
		}
		h.KV[key] = value
	}
	h.kvEnd = d.at
	names := make(map[string]bool)
	for i := range tensors {
		t, err := d.tensor()
		if err != nil {
			return nil, fmt.Errorf("tensor %d: %w", i, err)
		}
		if names[t.Name] {
			return nil, fmt.Errorf("tensor %q stands twice in the file", t.Name)
		}
		names[t.Name] = true
		h.Tensors = append(h.Tensors, t)
	}
	h.Alignment = int64(h.KV.Uint("general.alignment", 32))
	if h.Alignment < 1 || h.Alignment > 1<<20 || h.Alignment&(h.Alignment-1) != 0 {
		return nil, fmt.Errorf("general.alignment is %d; a power of two is expected", h.Alignment)
	}
	h.Data = pad(d.at, h.Alignment)
	for _, t := range h.Tensors {
		if t.Offset%uint64(h.Alignment) != 0 {
			return nil, fmt.Errorf("tensor %q begins at byte %d of the data, which is not a multiple of the alignment %d", t.Name, t.Offset, h.Alignment)
		}
		if room := size - h.Data; room < 0 || t.Offset > uint64(room) || t.Bytes() > uint64(room)-t.Offset {
			return nil, fmt.Errorf("%w: tensor %q should end at byte %d and the file has %d bytes", ErrTruncated, t.Name, uint64(h.Data)+t.Offset+t.Bytes(), size)
		}
	}
	return h, nil
}

// Parameters is the number of elements of all tensors.
func (h *Header) Parameters() uint64 {
	var n uint64
	for _, t := range h.Tensors {
		n += t.Elements()
	}
	return n
}

// MetadataSection returns the key-value pairs as they stand in the file: their
// number, and the bytes [begin, end) that hold them.
func (h *Header) MetadataSection() (count uint64, begin, end int64) {
	return h.kvCount, h.kvBegin, h.kvEnd
}

func pad(n, alignment int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// decoder reads forward through the metadata, in a buffer of its own.
type decoder struct {
	r     io.ReaderAt
	size  int64 // of the file
	limit int64 // where reading must stop
	at    int64 // where the next byte is read
	v1    bool

	buf      []byte
	bufStart int64
}

func (d *decoder) left() uint64 { return uint64(d.limit - d.at) }

func (d *decoder) need(n uint64) error {
	if n <= d.left() {
		return nil
	}
	if d.limit < d.size {
		return fmt.Errorf("the metadata take more than %d bytes", maxMetadata)
	}
	return fmt.Errorf("%w: %d more bytes are needed at byte %d of %d", ErrTruncated, n, d.at, d.size)
}

func (d *decoder) bytes(p []byte) error {
	if err := d.need(uint64(len(p))); err != nil {
		return err
	}
	if len(p) > 1<<15 {
		if _, err := d.r.ReadAt(p, d.at); err != nil {
			return fmt.Errorf("reading byte %d: %w", d.at, err)
		}
		d.at += int64(len(p))
		return nil
	}
	if d.at < d.bufStart || d.at+int64(len(p)) > d.bufStart+int64(len(d.buf)) {
		d.buf = d.buf[:0]
		n := min(int64(1<<16), d.size-d.at)
		if int64(cap(d.buf)) < n {
			d.buf = make([]byte, n)
		}
		d.buf, d.bufStart = d.buf[:n], d.at
		if _, err := d.r.ReadAt(d.buf, d.at); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading byte %d: %w", d.at, err)
		}
	}
	copy(p, d.buf[d.at-d.bufStart:])
	d.at += int64(len(p))
	return nil
}

func (d *decoder) uint32() (uint32, error) {
	var b [4]byte
	err := d.bytes(b[:])
	return binary.LittleEndian.Uint32(b[:]), err
}

func (d *decoder) uint64() (uint64, error) {
	var b [8]byte
	err := d.bytes(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

// length reads a count or a length: 32 bits in version 1, 64 bits later.
// Whatever is counted takes at least a byte, so more than is left is wrong.
func (d *decoder) length(what string) (uint64, error) {
	var n uint64
	var err error
	if d.v1 {
		var n32 uint32
		n32, err = d.uint32()
		n = uint64(n32)
	} else {
		n, err = d.uint64()
	}
	if err != nil {
		return 0, err
	}
	if n > d.left() {
		return 0, fmt.Errorf("%w or damaged: %s is %d at byte %d and %d bytes are left", ErrTruncated, what, n, d.at, d.left())
	}
	return n, nil
}

// string reads a string. In version 1 its length counts a zero byte at the
// end, which some writers left out for the empty string.
func (d *decoder) string(what string, most uint64) (string, error) {
	n, err := d.length("length of the " + what)
	if err != nil {
		return "", err
	}
	if n > most {
		return "", fmt.Errorf("the %s at byte %d has %d bytes; at most %d are accepted", what, d.at, n, most)
	}
	p := make([]byte, n)
	if err := d.bytes(p); err != nil {
		return "", err
	}
	if d.v1 && n > 0 && p[n-1] == 0 {
		p = p[:n-1]
	}
	return string(p), nil
}

// The types of metadata values, as the format numbers them.
const (
	typeUint8 = iota
	typeInt8
	typeUint16
	typeInt16
	typeUint32
	typeInt32
	typeFloat32
	typeBool
	typeString
	typeArray
	typeUint64
	typeInt64
	typeFloat64
)

func (d *decoder) value() (any, error) {
	t, err := d.uint32()
	if err != nil {
		return nil, err
	}
	if t != typeArray {
		return d.scalar(t)
	}
	if t, err = d.uint32(); err != nil {
		return nil, err
	}
	n, err := d.length("number of elements")
	if err != nil {
		return nil, err
	}
	return d.array(t, n)
}

func width(t uint32) int {
	switch t {
	case typeUint8, typeInt8, typeBool:
		return 1
	case typeUint16, typeInt16:
		return 2
	case typeUint32, typeInt32, typeFloat32:
		return 4
	case typeUint64, typeInt64, typeFloat64:
		return 8
	}
	return 0
}

func (d *decoder) scalar(t uint32) (any, error) {
	if t == typeString {
		return d.string("string", math.MaxInt64)
	}
	w := width(t)
	if w == 0 {
		return nil, fmt.Errorf("the value's type is %d, which GGUF does not define", t)
	}
	var b [8]byte
	if err := d.bytes(b[:w]); err != nil {
		return nil, err
	}
	return number(t, b[:]), nil
}

func number(t uint32, b []byte) any {
	switch t {
	case typeUint8:
		return b[0]
	case typeInt8:
		return int8(b[0])
	case typeBool:
		return b[0] != 0
	case typeUint16:
		return binary.LittleEndian.Uint16(b)
	case typeInt16:
		return int16(binary.LittleEndian.Uint16(b))
	case typeUint32:
		return binary.LittleEndian.Uint32(b)
	case typeInt32:
		return int32(binary.LittleEndian.Uint32(b))
	case typeFloat32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case typeUint64:
		return binary.LittleEndian.Uint64(b)
	case typeInt64:
		return int64(binary.LittleEndian.Uint64(b))
	default:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
}

func (d *decoder) array(t uint32, n uint64) (any, error) {
	if t == typeString {
		// each string takes at least its length field
		if field := uint64(8); n > d.left()/field && !d.v1 || n > d.left()/4 {
			return nil, fmt.Errorf("%w: an array of %d strings does not fit the %d bytes left", ErrTruncated, n, d.left())
		}
		s := make([]string, 0, n)
		for i := range n {
			v, err := d.string("string", math.MaxInt64)
			if err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
			s = append(s, v)
		}
		return s, nil
	}
	w := width(t)
	if w == 0 {
		return nil, fmt.Errorf("the array's elements have type %d, which is not read", t)
	}
	if n > d.left()/uint64(w) {
		return nil, fmt.Errorf("%w: an array of %d elements does not fit the %d bytes left", ErrTruncated, n, d.left())
	}
	p := make([]byte, n*uint64(w))
	if err := d.bytes(p); err != nil {
		return nil, err
	}
	switch t {
	case typeFloat32:
		return elements(p, w, func(b []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(b)) }), nil
	case typeFloat64:
		return elements(p, w, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }), nil
	case typeBool:
		return elements(p, w, func(b []byte) bool { return b[0] != 0 }), nil
	case typeUint64:
		return elements(p, w, binary.LittleEndian.Uint64), nil
	case typeUint32:
		return elements(p, w, binary.LittleEndian.Uint32), nil
	case typeInt64:
		return elements(p, w, func(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }), nil
	default: // the narrower integers fit int32
		return elements(p, w, func(b []byte) int32 {
			switch t {
			case typeUint8:
				return int32(b[0])
			case typeInt8:
				return int32(int8(b[0]))
			case typeUint16:
				return int32(binary.LittleEndian.Uint16(b))
			case typeInt16:
				return int32(int16(binary.LittleEndian.Uint16(b)))
			}
			return int32(binary.LittleEndian.Uint32(b))
		}), nil
	}
}

func elements[T any](p []byte, w int, f func([]byte) T) []T {
	s := make([]T, len(p)/w)
	for i := range s {
		s[i] = f(p[i*w : i*w+w])
	}
	return s
}

func (d *decoder) tensor() (Tensor, error) {
	var t Tensor
	var err error
	if t.Name, err = d.string("tensor's name", maxKey); err != nil {
		return t, err
	}
	dims, err := d.uint32()
	if err != nil {
		return t, err
	}
	if dims < 1 || dims > maxDims {
		return t, fmt.Errorf("%q has %d dimensions; 1 to %d are expected", t.Name, dims, maxDims)
	}
	n := uint64(1)
	for range dims {
		var size uint64
		if d.v1 {
			var size32 uint32
			size32, err = d.uint32()
			size = uint64(size32)
		} else {
			size, err = d.uint64()
		}
		if err != nil {
			return t, err
		}
		if size == 0 {
			return t, fmt.Errorf("%q has a dimension of size 0", t.Name)
		}
		// No more elements than 64 for a byte of the file, so products cannot overflow.
		if size > uint64(d.size)*64/n {
			return t, fmt.Errorf("%w or damaged: %q has more elements than the file has room for", ErrTruncated, t.Name)
		}
		n *= size
		t.Shape = append(t.Shape, size)
	}
	kind, err := d.uint32()
	if err != nil {
		return t, err
	}
	t.Type = ggml.TensorType(kind)
	if t.Type.TypeSize() == 0 {
		return t, fmt.Errorf("%q has elements of type %d, which the engine does not know", t.Name, kind)
	}
	if block := t.Type.BlockSize(); t.Shape[0]%block != 0 {
		return t, fmt.Errorf("%q has rows of %d elements, which is not a multiple of its type's blocks of %d", t.Name, t.Shape[0], block)
	}
	if t.Offset, err = d.uint64(); err != nil {
		return t, err
	}
	return t, nil
}
