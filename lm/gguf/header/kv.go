package header

import (
	"iter"
	"maps"
	"strings"

	"github.com/ollama/ollama/fs"
)

// KV holds a file's metadata by their full keys ("general.architecture",
// "gemma3.block_count", "tokenizer.ggml.tokens"). Its methods read values with
// a default for a key that is absent or of another type; a key that begins with
// neither "general." nor "tokenizer." is looked up under the architecture's
// name as well, as the engine does. Arrays of narrow integers are held as
// []int32.
type KV map[string]any

var _ fs.Config = KV{}

// Architecture is the model's architecture as the file names it.
func (kv KV) Architecture() string { return kv.String("general.architecture", "unknown") }

// Value returns the value of a key as it was read, nil where there is none.
func (kv KV) Value(key string) any {
	if v, ok := kv[key]; ok {
		return v
	}
	if strings.HasPrefix(key, "general.") || strings.HasPrefix(key, "tokenizer.") {
		return nil
	}
	arch, _ := kv["general.architecture"].(string)
	return kv[arch+"."+key]
}

// Len is the number of keys.
func (kv KV) Len() int { return len(kv) }

// Keys runs over the keys in no particular order.
func (kv KV) Keys() iter.Seq[string] { return maps.Keys(kv) }

// String reads a string.
func (kv KV) String(key string, def ...string) string { return read(kv, key, def) }

// Bool reads a truth value.
func (kv KV) Bool(key string, def ...bool) bool { return read(kv, key, def) }

// Strings reads an array of strings.
func (kv KV) Strings(key string, def ...[]string) []string { return read(kv, key, def) }

// Bools reads an array of truth values.
func (kv KV) Bools(key string, def ...[]bool) []bool { return read(kv, key, def) }

// Floats reads an array of 32-bit floating-point numbers.
func (kv KV) Floats(key string, def ...[]float32) []float32 { return read(kv, key, def) }

// Ints reads an array of integers.
func (kv KV) Ints(key string, def ...[]int32) []int32 {
	switch v := kv.Value(key).(type) {
	case []int32:
		return v
	case []uint32:
		return convert[int32](v)
	case []int64:
		return convert[int32](v)
	case []uint64:
		return convert[int32](v)
	}
	return first(def)
}

// Uint reads an integer of any width that is not negative and fits 32 bits.
func (kv KV) Uint(key string, def ...uint32) uint32 {
	switch v := kv.Value(key).(type) {
	case uint8:
		return uint32(v)
	case uint16:
		return uint32(v)
	case uint32:
		return v
	case uint64:
		if v <= 1<<32-1 {
			return uint32(v)
		}
	case int8:
		return fit(int64(v), def)
	case int16:
		return fit(int64(v), def)
	case int32:
		return fit(int64(v), def)
	case int64:
		return fit(v, def)
	}
	return first(def)
}

// Float reads a floating-point number.
func (kv KV) Float(key string, def ...float32) float32 {
	switch v := kv.Value(key).(type) {
	case float32:
		return v
	case float64:
		return float32(v)
	}
	return first(def)
}

func fit(v int64, def []uint32) uint32 {
	if v < 0 || v > 1<<32-1 {
		return first(def)
	}
	return uint32(v)
}

func read[T any](kv KV, key string, def []T) T {
	if v, ok := kv.Value(key).(T); ok {
		return v
	}
	return first(def)
}

func first[T any](def []T) T {
	if len(def) > 0 {
		return def[0]
	}
	var zero T
	return zero
}

func convert[T, S int32 | uint32 | int64 | uint64](s []S) []T {
	out := make([]T, len(s))
	for i, v := range s {
		out[i] = T(v)
	}
	return out
}
