// Package readings is the cache of what a model was read to say. API sketch:
// the batch forms are the main ones.
package readings

import "context"

// Options for Open.
type Options struct {
	MaxBytes int64            // size of the file in bytes; 0 for 1 GiB
	Warn     func(warn error) // told once of each trouble; may be nil
}

// Cache is a cache of readings in a file readings.db.
type Cache struct{}

// Open opens the cache in a folder. A cache that cannot be used is off, which
// is reported through Options.Warn: it then has nothing and keeps nothing.
func Open(ctx context.Context, dir string, o Options) (*Cache, error) { return &Cache{}, nil }

// GetMany returns the values of those keys that the cache has.
func (c *Cache) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	return nil, ctx.Err()
}

// PutMany keeps values, in one transaction.
func (c *Cache) PutMany(ctx context.Context, values map[string][]byte) error { return ctx.Err() }

// Get returns the value of a key.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, bool) { return nil, false }

// Put keeps a value.
func (c *Cache) Put(ctx context.Context, key string, value []byte) error { return ctx.Err() }

// Close closes the cache.
func (c *Cache) Close() error { return nil }
