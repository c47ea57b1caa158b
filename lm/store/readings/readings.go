// Package readings remembers what a model was read to say, so that a second
// look at the same constraint does not run the model.
//
// The cache is a SQLite file, readings.db, that several processes may use at
// once. A key is any text that says all that a value depends on; the value is
// bytes. Losing the cache loses time and nothing else, and everything here
// follows from that:
//
//   - A value is returned only if it is what was put under that very key. Each
//     row has a checksum over the whole key and the value; a row that does not
//     match it, from a failing disk or another hand, is a miss.
//   - A batch of [Cache.PutMany] is kept whole or not at all, also when the
//     process is killed in the middle.
//   - A file that is broken, or is no cache of modellog's, is moved aside under a
//     new name, readings.db.broken-TIME, and a new cache is begun. A cache of a
//     newer modellog is left as it is, and not used.
//   - Where the cache cannot be written (a folder without permission, a full
//     disk), or not even read, the work goes on without it.
//
// Each such trouble is told once through Options.Warn. None is an error of
// GetMany or PutMany; those have errors only for a context that ended and for
// values that are too long.
//
// When the file outgrows Options.MaxBytes, the rows that were put first are
// dropped.
//
// The folder must be on a disk of this machine: SQLite's write-ahead log needs
// memory that all processes share.
package readings

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modellog/modellog/internal/flock"
)

const (
	// DefaultMaxBytes bounds the cache when the options do not: some millions
	// of readings.
	DefaultMaxBytes = 1 << 30

	// MaxValue is the length of the longest value that can be kept.
	MaxValue = 1 << 20
)

// Options for Open. The zero value is what the command uses.
type Options struct {
	MaxBytes int64            // how large the file may grow, in bytes; 0 for DefaultMaxBytes
	Warn     func(warn error) // told of trouble; may be nil; called one at a time
}

// Cache is a cache of readings. Its methods may be called from several
// goroutines. A nil *Cache has nothing and keeps nothing.
type Cache struct {
	path string
	max  int64

	warnMu sync.Mutex
	warn   func(error)
	warned map[string]bool

	hits, misses, rejected, written atomic.Int64

	// mu is held for reading while the database is in use, and for writing
	// while it is opened, moved aside or closed.
	mu     sync.RWMutex
	db     *sql.DB     // nil when the cache is off
	lock   *flock.Lock // shared with all that use the file; nil when off
	mended bool        // a broken file was moved aside while in use: not a second time

	writing  sync.Mutex  // one batch at a time, rather than have them meet in SQLite
	readOnly atomic.Bool // writing failed, so it is not tried again
}

// Stats says how a cache is doing.
type Stats struct {
	Path     string // of the file
	On       bool   // it is used at all
	Writable bool   // new values are kept
	Rows     int64  // values in it
	Bytes    int64  // of the file that are in use
	MaxBytes int64  // how many those may be

	// Since Open, by this process:
	Hits     int64 // values found
	Misses   int64 // values not found
	Rejected int64 // of the misses: rows that did not match their checksum
	Written  int64 // values put
}

// Open opens the cache in a folder, making both if need be. It always returns a
// cache: one that is off when the file cannot be used, which is told through
// Options.Warn. The error is only ever the context's.
func Open(ctx context.Context, dir string, o Options) (*Cache, error) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs // the process may change its folder later
	}
	c := &Cache{path: filepath.Join(dir, "readings.db"), max: o.MaxBytes, warn: o.Warn, warned: make(map[string]bool)}
	if c.max <= 0 {
		c.max = DefaultMaxBytes
	}
	if c.warn == nil {
		c.warn = func(error) {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open(ctx)
	if err := ctx.Err(); err != nil {
		c.shut()
		return nil, err
	}
	return c, nil
}

// Close closes the cache. Values that were put are kept already.
func (c *Cache) Close() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.shut()
}

// shut closes the database and gives up the lock. c.mu is held for writing.
func (c *Cache) shut() error {
	var err error
	if c.db != nil {
		err = c.db.Close()
		c.db = nil
	}
	if c.lock != nil {
		err = errors.Join(err, c.lock.Close())
		c.lock = nil
	}
	if err != nil {
		return fmt.Errorf("closing the readings cache: %w", err)
	}
	return nil
}

// Get returns the value that was put under a key.
func (c *Cache) Get(ctx context.Context, key string) ([]byte, bool) {
	values, err := c.GetMany(ctx, []string{key})
	if err != nil {
		return nil, false
	}
	v, ok := values[key]
	return v, ok
}

// Put keeps a value under a key.
func (c *Cache) Put(ctx context.Context, key string, value []byte) error {
	return c.PutMany(ctx, map[string][]byte{key: value})
}

// lookups is how many keys are asked for in one statement.
const lookups = 256

// GetMany returns those of the keys' values that the cache has. The error is
// only ever the context's; trouble with the cache makes misses.
func (c *Cache) GetMany(ctx context.Context, keys []string) (map[string][]byte, error) {
	values := make(map[string][]byte, len(keys))
	if err := ctx.Err(); err != nil || c == nil || len(keys) == 0 {
		return values, err
	}
	byHash := make(map[keyHash]string, len(keys))
	for _, k := range keys {
		byHash[hashKey(k)] = k
	}
	hashes := make([]keyHash, 0, len(byHash))
	for h := range byHash {
		hashes = append(hashes, h)
	}

	var rejected int64
	err := c.use(ctx, func(db *sql.DB) error {
		clear(values)
		rejected = 0
		for chunk := range slices.Chunk(hashes, lookups) {
			bad, err := readRows(ctx, db, chunk, byHash, values)
			if err != nil {
				return err
			}
			rejected += bad
		}
		return nil
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		c.warnOnce("read", fmt.Errorf("the readings cache %s cannot be read, so the model is asked again: %w", c.path, err))
		// What came before the error was checked row by row and is right.
	}
	if rejected > 0 {
		c.warnOnce("rejected", fmt.Errorf("the readings cache %s has damaged rows, which are not used and are written anew", c.path))
	}
	c.hits.Add(int64(len(values)))
	c.misses.Add(int64(len(byHash) - len(values)))
	c.rejected.Add(rejected)
	return values, nil
}

// readRows adds to values what the database has of the keys, and returns how
// many rows did not match their checksum.
func readRows(ctx context.Context, db *sql.DB, hashes []keyHash, keys map[keyHash]string, values map[string][]byte) (rejected int64, err error) {
	args := make([]any, len(hashes))
	for i := range hashes {
		args[i] = hashes[i][:]
	}
	query := "SELECT key, value, sum FROM readings WHERE key IN (?" + strings.Repeat(",?", len(hashes)-1) + ")"
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var hash, value, sum []byte
		if err := rows.Scan(&hash, &value, &sum); err != nil {
			return rejected, err
		}
		key, ok := lookupKey(keys, hash)
		if !ok || !sumMatches(sum, key, value) {
			rejected++
			continue
		}
		if value == nil {
			value = []byte{}
		}
		values[key] = value
	}
	return rejected, rows.Err()
}

// PutMany keeps values under their keys, all of them or, after trouble that
// Options.Warn was told of, none. The error is the context's or that of a value
// longer than MaxValue.
func (c *Cache) PutMany(ctx context.Context, values map[string][]byte) error {
	for key, value := range values {
		if len(value) > MaxValue {
			return fmt.Errorf("keeping a reading: the value of %.60q has %d bytes and at most %d can be kept", key, len(value), MaxValue)
		}
	}
	if err := ctx.Err(); err != nil || c == nil || len(values) == 0 || c.readOnly.Load() {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	used := false
	err := c.use(ctx, func(db *sql.DB) error {
		used = true
		if err := writeRows(ctx, db, values); err != nil {
			return err
		}
		return c.trim(ctx, db)
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && used:
		c.written.Add(int64(len(values)))
	case err == nil: // off
	case isBusy(err):
		c.warnOnce("busy", fmt.Errorf("another process keeps the readings cache %s busy; some readings are not kept", c.path))
	case c.readOnly.CompareAndSwap(false, true):
		c.warnOnce("write", fmt.Errorf("the readings cache %s cannot be written, so new readings are not kept: %w", c.path, explain(err)))
	}
	return nil
}

func writeRows(ctx context.Context, db *sql.DB, values map[string][]byte) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // after Commit it does nothing
	// A row that is replaced gets a new id, and so is among the newest.
	insert, err := tx.PrepareContext(ctx, "REPLACE INTO readings (key, value, sum) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer insert.Close()
	for key, value := range values {
		if value == nil {
			value = []byte{}
		}
		hash, sum := hashKey(key), checksum(key, value)
		if _, err := insert.ExecContext(ctx, hash[:], value, sum[:]); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// trim drops the oldest rows once the file has outgrown its bound, down to nine
// tenths of it, so that it has not to be done again at once. A few rows at a
// time keep the write-ahead log short and let other processes in between.
func (c *Cache) trim(ctx context.Context, db *sql.DB) error {
	size, err := usedBytes(ctx, db)
	if err != nil || size <= c.max {
		return err
	}
	for size > c.max/10*9 {
		res, err := db.ExecContext(ctx, "DELETE FROM readings WHERE id IN (SELECT id FROM readings ORDER BY id LIMIT 1000)")
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		if size, err = usedBytes(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

// usedBytes is the size of the file less the pages in it that are free.
func usedBytes(ctx context.Context, db *sql.DB) (int64, error) {
	var n int64
	err := db.QueryRowContext(ctx, `SELECT (page_count - freelist_count) * page_size
		FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&n)
	return n, err
}

// Stats says how the cache is doing. Counting the rows of a large cache takes a
// moment.
func (c *Cache) Stats(ctx context.Context) (Stats, error) {
	if c == nil {
		return Stats{}, ctx.Err()
	}
	s := Stats{
		Path: c.path, MaxBytes: c.max,
		Hits: c.hits.Load(), Misses: c.misses.Load(), Rejected: c.rejected.Load(), Written: c.written.Load(),
	}
	err := c.use(ctx, func(db *sql.DB) error {
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM readings").Scan(&s.Rows); err != nil {
			return err
		}
		var err error
		s.Bytes, err = usedBytes(ctx, db)
		return err
	})
	if err != nil {
		return s, fmt.Errorf("looking at the readings cache %s: %w", c.path, err)
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	s.On = c.db != nil
	s.Writable = s.On && !c.readOnly.Load()
	return s, nil
}

// use runs f on the database, if the cache is on. When the database turns out
// to be broken, it is moved aside and f runs once more, on a new one.
func (c *Cache) use(ctx context.Context, f func(db *sql.DB) error) error {
	db, err := c.attempt(f)
	if err == nil || !isBroken(err) || ctx.Err() != nil {
		return err
	}
	c.mend(ctx, db, err)
	_, err = c.attempt(f)
	if err != nil && isBroken(err) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.shut()
	}
	return err
}

func (c *Cache) attempt(f func(db *sql.DB) error) (*sql.DB, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.db == nil {
		return nil, nil
	}
	return c.db, f(c.db)
}

// mend replaces a database that turned out to be broken while in use.
func (c *Cache) mend(ctx context.Context, broken *sql.DB, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.db == nil || c.db != broken {
		return // another goroutine has done it
	}
	c.shut()
	if c.mended {
		c.warnOnce("twice", fmt.Errorf("the readings cache %s broke a second time and is not used any more: %w", c.path, cause))
		return
	}
	c.mended = true
	c.openAfter(ctx, cause)
}

// warnOnce tells of a kind of trouble the first time.
func (c *Cache) warnOnce(kind string, err error) {
	c.warnMu.Lock()
	defer c.warnMu.Unlock()
	if !c.warned[kind] {
		c.warned[kind] = true
		c.warn(err)
	}
}
