package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// digestRecord is a remembered digest, one small file for each weights file, so
// that processes that remember at once cannot lose each other's.
type digestRecord struct {
	Path   string `json:"path"`
	Stamp  string `json:"stamp"` // the file's identity when it was read, see fileStamp
	SHA256 string `json:"sha256"`
}

var (
	hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
	blobName  = regexp.MustCompile(`^sha256[:-]([0-9a-fA-F]{64})$`)
)

// A file that changed this recently may change again without its times
// changing, since they are only as fine as the file system makes them.
const settled = 2 * time.Second

// Digest is the SHA-256 of a file, hexadecimal. It is read from the name of a
// file of Ollama's blob store, else remembered from the last time while the
// file's size, times and inode are the same, else worked out from the content
// (about a second for 250 MB), which the context can stop.
func (s *Store) Digest(ctx context.Context, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding the SHA-256 of a weights file: %w", err)
	}
	if d, ok := s.rememberedDigest(path); ok {
		return d, nil
	}
	d, err := s.computeDigest(ctx, path)
	if err != nil {
		return "", fmt.Errorf("finding the SHA-256 of %s: %w", path, err)
	}
	return d, nil
}

func (s *Store) rememberedDigest(path string) (string, bool) {
	if filepath.Base(filepath.Dir(path)) == "blobs" {
		if m := blobName.FindStringSubmatch(filepath.Base(path)); m != nil {
			return strings.ToLower(m[1]), true
		}
	}
	fi, err := os.Stat(path)
	if err != nil {
		return "", false
	}
	var r digestRecord
	if err := readJSON(s.digestPath(path), maxRecord, &r); err != nil {
		// Missing or broken: the digest is worked out again.
		return "", false
	}
	if r.Path != path || r.Stamp != fileStamp(fi) || !hexDigest.MatchString(r.SHA256) {
		return "", false
	}
	return r.SHA256, true
}

func (s *Store) computeDigest(ctx context.Context, path string) (string, error) {
	// Looking first keeps from opening a pipe, which would wait for ever.
	before, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !before.Mode().IsRegular() {
		return "", errors.New("it is not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	started := time.Now()
	h := sha256.New()
	if _, err := io.CopyBuffer(h, &contextReader{ctx, f}, make([]byte, 1<<20)); err != nil {
		return "", err
	}
	digest := hex.EncodeToString(h.Sum(nil))
	if after, err := f.Stat(); err == nil && fileStamp(after) == fileStamp(before) && started.Sub(after.ModTime()) > settled {
		s.rememberDigest(path, fileStamp(after), digest)
	}
	return digest, nil
}

// rememberDigest saves work and nothing else, so that it failed, on a cache
// folder that cannot be written say, is no error.
func (s *Store) rememberDigest(path, stamp, digest string) {
	file := s.digestPath(path)
	if os.MkdirAll(filepath.Dir(file), 0o700) == nil {
		_ = writeJSON(file, digestRecord{Path: path, Stamp: stamp, SHA256: digest})
	}
}

func (s *Store) digestPath(path string) string {
	key := sha256.Sum256([]byte(path))
	return filepath.Join(s.cache, "digests", hex.EncodeToString(key[:16])+".json")
}

// contextReader ends with the context's error when the context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
