package readings

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/modellog/modellog/internal/flock"
)

// How a file says that it is a cache of readings, and of which make.
const (
	applicationID = 0x4d4c5244 // "MLRD"
	version       = 1

	schema = "CREATE TABLE readings (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value BLOB NOT NULL, sum BLOB NOT NULL) STRICT"
)

// patience is how long another process is waited for.
const patience = 10 * time.Second

var (
	errBroken = errors.New("the file is broken")
	errNewer  = errors.New("the file is of a newer modellog")
)

// open opens the file, or leaves the cache off and warns. c.mu is held for
// writing.
func (c *Cache) open(ctx context.Context) { c.openAfter(ctx, nil) }

// openAfter is open for a file that is known to be broken, if cause is not nil.
//
// The lock file has every process that uses the database share a lock, so that
// the database is moved aside only when nobody uses it: SQLite's files belong
// together by name, and a process that closes a database that was moved away
// would delete the new one's log.
func (c *Cache) openAfter(ctx context.Context, cause error) {
	off := func(err error) {
		c.shut()
		if ctx.Err() == nil {
			c.warnOnce("off", fmt.Errorf("readings are not remembered: %w", err))
		}
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		off(fmt.Errorf("%w; set MODELLOG_CACHE to a folder that can be written to", err))
		return
	}
	lock, err := flock.Open(c.path + ".lock")
	if err != nil {
		off(fmt.Errorf("%w; set MODELLOG_CACHE to a folder that can be written to", err))
		return
	}
	c.lock = lock
	alone, err := lock.TryExclusive()
	if err != nil {
		off(err)
		return
	}
	if alone {
		err := prepare(ctx, c.path)
		if err == nil && cause != nil {
			// SQLite met damage that a first look does not see.
			err = fmt.Errorf("%w: %w", errBroken, cause)
		}
		if errors.Is(err, errBroken) {
			aside, moveErr := moveAside(c.path)
			if moveErr != nil {
				off(fmt.Errorf("%w, and cannot be moved aside: %w", err, moveErr))
				return
			}
			c.warnOnce("aside", fmt.Errorf("the readings cache was not usable (%w); it is now %s, which can be deleted, and a new one is begun", err, aside))
			err = prepare(ctx, c.path)
		}
		if err != nil {
			off(c.hint(err))
			return
		}
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := lock.Shared(patient); err != nil {
		off(fmt.Errorf("another process is mending %s: %w", c.path, err))
		return
	}
	if !alone {
		// Others use it, so it is fine or theirs to mend.
		if cause != nil {
			off(fmt.Errorf("%s is broken (%w) and other processes use it; it is moved aside when modellog is started after they end", c.path, cause))
			return
		}
		if err := prepare(ctx, c.path); err != nil {
			off(c.hint(err))
			return
		}
	}
	db, err := connect(c.path, true)
	if err != nil {
		off(err)
		return
	}
	c.db = db
}

// hint adds to an error what to do about it.
func (c *Cache) hint(err error) error {
	if errors.Is(err, errNewer) {
		return fmt.Errorf("%s: %w; update this modellog, or set MODELLOG_CACHE to another folder", c.path, err)
	}
	return fmt.Errorf("%s: %w", c.path, explain(err))
}

// prepare sees to it that the file at path is a cache of readings: it makes one
// where there is none. The error is errBroken for a file that is something
// else, and errNewer for a cache of a later version.
func prepare(ctx context.Context, path string) error {
	if err := checkHeader(path); err != nil {
		return err
	}
	db, err := connect(path, false)
	if err != nil {
		return err
	}
	defer db.Close()
	err = initialise(ctx, db)
	if err == nil {
		err = logAhead(ctx, db)
	}
	if err != nil && isBroken(err) {
		err = fmt.Errorf("%w: %w", errBroken, err)
	}
	return err
}

// logAhead has the database use a write-ahead log, which the file then says of
// itself. Where the file system cannot do that, the database goes on with its
// journal, which is slower and as safe. SQLite does not wait for others here,
// whatever its time limit for waiting, since it holds a lock that they may want.
func logAhead(ctx context.Context, db *sql.DB) error {
	deadline := time.Now().Add(patience)
	for {
		_, err := db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// checkHeader looks at a file before SQLite does, which takes a file that is
// not a database for a request to write one over it in some cases, and which
// would open a log or journal that lies beside somebody else's database.
func checkHeader(path string) error {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Remains of a database that is gone are not for a new one.
		for _, suffix := range companions {
			if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("%w: it is not a file", errBroken)
	}
	if fi.Size() == 0 {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var header [100]byte // as SQLite's file format has it
	if _, err := io.ReadFull(f, header[:]); err != nil {
		return fmt.Errorf("%w: it is no database", errBroken)
	}
	if string(header[:16]) != "SQLite format 3\x00" {
		return fmt.Errorf("%w: it is no database", errBroken)
	}
	// A database that is not finished has neither number yet.
	if id := binary.BigEndian.Uint32(header[68:]); id != applicationID && id != 0 {
		return fmt.Errorf("%w: it is a database of another program", errBroken)
	}
	return nil
}

// initialise makes the table in an empty database, or checks that it is there.
func initialise(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var id, made int64
	if err := tx.QueryRowContext(ctx, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version").Scan(&id, &made); err != nil {
		return err
	}
	var objects int64
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	switch {
	case id == 0 && made == 0 && objects == 0:
		for _, stmt := range []string{
			schema,
			fmt.Sprintf("PRAGMA application_id = %d", applicationID),
			fmt.Sprintf("PRAGMA user_version = %d", version),
		} {
			if _, err := tx.ExecContext(ctx, stmt); err != nil {
				return err
			}
		}
		return tx.Commit()
	case id != applicationID:
		return fmt.Errorf("%w: it is a database of another program", errBroken)
	case made > version:
		return fmt.Errorf("%w (its version is %d, and this modellog knows %d)", errNewer, made, version)
	case made != version:
		return fmt.Errorf("%w: it says that its version is %d", errBroken, made)
	}
	var got sql.NullString
	err = tx.QueryRowContext(ctx, "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = 'readings'").Scan(&got)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if got.String != schema {
		return fmt.Errorf("%w: its table is not the one it should have", errBroken)
	}
	return nil
}

// connect opens the database for use, or only to look and prepare.
func connect(path string, use bool) (*sql.DB, error) {
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", patience.Milliseconds()))
	q.Set("_txlock", "immediate")
	if use {
		// In a write-ahead log this may lose the last batches when the power
		// fails, and cannot break the file.
		q.Add("_pragma", "synchronous(NORMAL)")
		q.Add("_pragma", "journal_size_limit(16777216)")
	}
	// A path may hold ? and %, which would mean something in a URI.
	uri := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", uri.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

// companions are the files that SQLite keeps beside a database.
var companions = []string{"-wal", "-shm", "-journal"}

// moveAside gives a file that is no cache another name, with what SQLite kept
// beside it, and returns the name. Nobody may have it open.
func moveAside(path string) (string, error) {
	stamp := time.Now().UTC().Format("20060102T150405Z")
	for i := 1; i < 1000; i++ {
		aside := path + ".broken-" + stamp
		if i > 1 {
			aside = fmt.Sprintf("%s-%d", aside, i)
		}
		if _, err := os.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.Rename(path, aside); err != nil {
			return "", err
		}
		for _, suffix := range companions {
			if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err
			}
		}
		return aside, nil
	}
	return "", fmt.Errorf("there are too many files like %s.broken-%s", path, stamp)
}

// code is SQLite's primary result code of an error; 0 if it is none of SQLite's.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

func isBroken(err error) bool {
	c := code(err)
	return c == lib.SQLITE_CORRUPT || c == lib.SQLITE_NOTADB
}

func isBusy(err error) bool {
	c := code(err)
	return c == lib.SQLITE_BUSY || c == lib.SQLITE_LOCKED
}

// explain says what to do where SQLite's own words do not.
func explain(err error) error {
	switch code(err) {
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w; free some space, or set MODELLOG_CACHE to a folder on another disk", err)
	case lib.SQLITE_IOERR:
		return fmt.Errorf("%w: the disk or a quota is full, or the disk fails; free some space, or set MODELLOG_CACHE to a folder on another disk", err)
	case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
		return fmt.Errorf("%w; set MODELLOG_CACHE to a folder that can be written to", err)
	}
	return err
}
