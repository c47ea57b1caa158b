package ollama

import (
	"math"

	"github.com/modellog/modellog/lm/tokens"
)

// metadata is what a server tells of a model's metadata, in the types that a
// GGUF file has. What has no place there is left out.
type metadata map[string]any

var _ tokens.Metadata = metadata{}

func newMetadata(info map[string]any) metadata {
	m := make(metadata, len(info))
	for key, value := range info {
		switch v := value.(type) {
		case string, bool:
			m[key] = v
		case float64:
			if v >= 0 && v <= math.MaxUint32 && v == math.Trunc(v) {
				m[key] = uint32(v)
			} else {
				m[key] = v
			}
		case []any:
			if list := array(v, key == "tokenizer.ggml.scores"); list != nil {
				m[key] = list
			}
		}
	}
	return m
}

func array(list []any, floats bool) any {
	if len(list) == 0 {
		return nil
	}
	switch {
	case floats:
		return convert(list, func(v float64) (float32, bool) { return float32(v), true })
	default:
		if _, ok := list[0].(string); ok {
			return convert(list, func(v string) (string, bool) { return v, true })
		}
		return convert(list, func(v float64) (int32, bool) { return int32(v), v == float64(int32(v)) })
	}
}

// convert returns nil unless every element is a From that to accepts.
func convert[From, To any](list []any, to func(From) (To, bool)) any {
	out := make([]To, len(list))
	for i, v := range list {
		from, ok := v.(From)
		if !ok {
			return nil
		}
		if out[i], ok = to(from); !ok {
			return nil
		}
	}
	return out
}

// own reads a number that the architecture has under its own name.
func (m metadata) own(key string) uint32 { return m.Uint(m.Architecture() + "." + key) }

// The methods of tokens.Metadata.

func (m metadata) Architecture() string                          { return m.String("general.architecture") }
func (m metadata) Value(key string) any                          { return m[key] }
func (m metadata) String(key string, def ...string) string       { return value(m, key, def) }
func (m metadata) Uint(key string, def ...uint32) uint32         { return value(m, key, def) }
func (m metadata) Bool(key string, def ...bool) bool             { return value(m, key, def) }
func (m metadata) Strings(key string, def ...[]string) []string  { return value(m, key, def) }
func (m metadata) Ints(key string, def ...[]int32) []int32       { return value(m, key, def) }
func (m metadata) Floats(key string, def ...[]float32) []float32 { return value(m, key, def) }

func value[T any](m metadata, key string, def []T) (v T) {
	if v, ok := m[key].(T); ok {
		return v
	}
	if len(def) > 0 {
		return def[0]
	}
	return v
}
