package lang

import (
	"context"
	"sync"
)

// memory is the cache of a session that was given none: a second look at the same
// event does not run the model.
type memory struct {
	mu   sync.Mutex
	rows map[string][]byte
	size int
}

// maxMemory is how many bytes a session remembers; it starts anew then.
const maxMemory = 64 << 20

func (m *memory) GetMany(_ context.Context, keys []string) (map[string][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string][]byte, len(keys))
	for _, k := range keys {
		if v, ok := m.rows[k]; ok {
			out[k] = v
		}
	}
	return out, nil
}

func (m *memory) PutMany(_ context.Context, values map[string][]byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k, v := range values {
		if m.size > maxMemory || m.rows == nil {
			m.rows, m.size = map[string][]byte{}, 0
		}
		m.rows[k] = v
		m.size += len(k) + len(v)
	}
	return nil
}
