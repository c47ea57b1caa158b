package readings_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modellog/modellog/lm/store/readings"
)

// checkNoLies reads all keys: each has its value or none. It returns how many
// have their value.
func checkNoLies(t *testing.T, c *readings.Cache, want map[string][]byte) int {
	t.Helper()
	got := get(t, c, slices.Collect(maps.Keys(want))...)
	for k, v := range got {
		if !bytes.Equal(v, want[k]) {
			t.Fatalf("a wrong value for %.40q: %q in place of %q", k, v, want[k])
		}
	}
	return len(got)
}

// sqlite runs statements on a database as another program would.
func sqlite(t *testing.T, path string, stmts ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range stmts {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// filled makes a cache file with the values in it, closed.
func filled(t *testing.T, values map[string][]byte) (dir, path string) {
	t.Helper()
	dir = t.TempDir()
	c := open(t, dir, readings.Options{})
	put(t, c, values)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, filepath.Join(dir, "readings.db")
}

func aside(t *testing.T, dir string) []string {
	t.Helper()
	var files []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "readings.db.broken-") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files
}

func TestRowsOfAnotherHand(t *testing.T) {
	values := map[string][]byte{"a": []byte("value of a"), "b": []byte("value of b"), "c": []byte("value of c")}
	h := func(key string) string {
		return fmt.Sprintf("(SELECT key FROM readings WHERE value = CAST('value of %s' AS BLOB))", key)
	}
	for name, stmts := range map[string][]string{
		"value changed":         {"UPDATE readings SET value = CAST('value of z' AS BLOB) WHERE key = " + h("a")},
		"value shortened":       {"UPDATE readings SET value = substr(value, 1, 9) WHERE key = " + h("a")},
		"value emptied":         {"UPDATE readings SET value = zeroblob(0) WHERE key = " + h("a")},
		"checksum changed":      {"UPDATE readings SET sum = zeroblob(32) WHERE key = " + h("a")},
		"checksum emptied":      {"UPDATE readings SET sum = zeroblob(0) WHERE key = " + h("a")},
		"value of another row":  {"UPDATE readings SET value = CAST('value of b' AS BLOB) WHERE key = " + h("a")},
		"row under another key": {"CREATE TEMP TABLE k AS SELECT key FROM readings WHERE key = " + h("a"), "DELETE FROM readings WHERE key = " + h("a"), "UPDATE readings SET key = (SELECT key FROM k) WHERE key = " + h("b")},
	} {
		t.Run(name, func(t *testing.T) {
			dir, path := filled(t, values)
			sqlite(t, path, stmts...)
			var w warnings
			c := open(t, dir, readings.Options{Warn: w.add})
			if v, ok := c.Get(context.Background(), "a"); ok {
				t.Errorf("a has the value %q", v)
			}
			checkNoLies(t, c, values)
			if s := stats(t, c); s.Rejected == 0 {
				t.Errorf("stats %+v", s)
			}
			w.one(t, "damaged rows")
			put(t, c, values)
			if n := checkNoLies(t, c, values); n != 3 {
				t.Errorf("written anew, %d values of 3 are there", n)
			}
		})
	}
}

// Whatever happens to the bytes of the file, no value is wrong, nothing panics,
// and the cache goes on.
func TestDamagedFile(t *testing.T) {
	values := sample(0, 600)
	src, _ := filled(t, values)
	whole, err := os.ReadFile(filepath.Join(src, "readings.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) < 20*4096 {
		t.Fatalf("the file has only %d bytes", len(whole))
	}
	rounds := 100
	if testing.Short() {
		rounds = 30
	}
	var setAside, survived, started int
	for round := range rounds {
		rng := rand.New(rand.NewPCG(1, uint64(round)))
		file := bytes.Clone(whole)
		var what string
		switch round % 5 {
		case 0:
			i, bit := rng.IntN(len(file)), rng.IntN(8)
			file[i] ^= 1 << bit
			what = fmt.Sprintf("bit %d of byte %d turned", bit, i)
		case 1:
			for range 1000 {
				file[rng.IntN(len(file))] = byte(rng.Uint32())
			}
			what = "1000 random bytes"
		case 2:
			file = file[:rng.IntN(len(file))]
			what = fmt.Sprintf("cut to %d bytes", len(file))
		case 3:
			page := rng.IntN(len(file) / 4096)
			clear(file[page*4096 : (page+1)*4096])
			what = fmt.Sprintf("page %d zeroed", page)
		case 4:
			a, b := rng.IntN(len(file)/4096), rng.IntN(len(file)/4096)
			copy(file[a*4096:(a+1)*4096], whole[b*4096:])
			what = fmt.Sprintf("page %d over page %d", b, a)
		}
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Log(what)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "readings.db"), file, 0o644); err != nil {
				t.Fatal(err)
			}
			c := open(t, dir, readings.Options{})
			n := checkNoLies(t, c, values)
			fresh := sample(5000, 300)
			put(t, c, fresh)
			put(t, c, values)
			checkNoLies(t, c, values)
			checkNoLies(t, c, fresh)
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			switch {
			case len(aside(t, dir)) > 0:
				setAside++
			case n > 0:
				survived++
			default:
				started++
			}
			// And it opens once more, whatever was written meanwhile.
			c = open(t, dir, readings.Options{})
			checkNoLies(t, c, values)
			checkNoLies(t, c, fresh)
		})
	}
	t.Logf("%d files moved aside, %d used with what was whole in them, %d with nothing", setAside, survived, started)
	if setAside == 0 || survived == 0 {
		t.Error("the damage does not reach both kinds of handling")
	}
}

func TestForeignFile(t *testing.T) {
	text := []byte("dear diary, " + strings.Repeat("nothing happened. ", 100))
	database := func(stmts ...string) func(*testing.T, string) {
		return func(t *testing.T, path string) { sqlite(t, path, stmts...) }
	}
	for name, make := range map[string]func(t *testing.T, path string){
		"text":                 func(t *testing.T, path string) { write(t, path, text) },
		"short text":           func(t *testing.T, path string) { write(t, path, []byte("x")) },
		"folder":               func(t *testing.T, path string) { write(t, filepath.Join(path, "file"), text) },
		"header and no more":   func(t *testing.T, path string) { write(t, path, append([]byte("SQLite format 3\x00"), text...)) },
		"database":             database("CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"),
		"database with our id": database("PRAGMA application_id = 1296847428", "CREATE TABLE t (x)"),
		"database with an id":  database("PRAGMA application_id = 42", "CREATE TABLE readings (key, value)"),
		"our id, other table":  database("PRAGMA application_id = 1296847428", "PRAGMA user_version = 1", "CREATE TABLE readings (key, value)"),
		"our id, no table":     database("PRAGMA application_id = 1296847428", "PRAGMA user_version = 1"),
		"with a log":           database("PRAGMA journal_mode = WAL", "CREATE TABLE t (x)", "INSERT INTO t VALUES (1)"),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "readings.db")
			make(t, path)
			before, _ := os.ReadFile(path)
			var w warnings
			c := open(t, dir, readings.Options{Warn: w.add})
			put(t, c, sample(0, 10))
			if n := checkNoLies(t, c, sample(0, 10)); n != 10 {
				t.Errorf("%d values of 10 in the new cache", n)
			}
			w.one(t, "readings.db.broken-", "new one is begun")
			moved := aside(t, dir)
			if len(moved) != 1 {
				t.Fatalf("moved aside: %v", moved)
			}
			if after, _ := os.ReadFile(moved[0]); !bytes.Equal(before, after) {
				t.Error("the file that was moved aside is not what it was")
			}
			c.Close()

			// The next start finds nothing to complain of.
			var again warnings
			c = open(t, dir, readings.Options{Warn: again.add})
			if n := checkNoLies(t, c, sample(0, 10)); n != 10 {
				t.Errorf("%d values of 10 after opening again", n)
			}
			again.none(t)
		})
	}
}

func TestEmptyFileIsANewCache(t *testing.T) {
	for name, make := range map[string]func(path string){
		"no bytes":       func(path string) { write(t, path, nil) },
		"empty database": func(path string) { sqlite(t, path, "CREATE TABLE t (x)", "DROP TABLE t") },
	} {
		dir := t.TempDir()
		make(filepath.Join(dir, "readings.db"))
		var w warnings
		c := open(t, dir, readings.Options{Warn: w.add})
		put(t, c, sample(0, 10))
		if n := checkNoLies(t, c, sample(0, 10)); n != 10 {
			t.Errorf("%s: %d values of 10", name, n)
		}
		w.none(t)
	}
}

func TestNewerVersionIsLeftAlone(t *testing.T) {
	dir, path := filled(t, sample(0, 10))
	sqlite(t, path, "PRAGMA user_version = 2", "ALTER TABLE readings ADD COLUMN more BLOB")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var w warnings
	c := open(t, dir, readings.Options{Warn: w.add})
	put(t, c, sample(0, 10))
	if n := checkNoLies(t, c, sample(0, 10)); n != 0 {
		t.Errorf("%d values of a newer version", n)
	}
	if s := stats(t, c); s.On {
		t.Errorf("stats %+v", s)
	}
	w.one(t, "newer modellog", "its version is 2", "MODELLOG_CACHE")
	c.Close()
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) || len(aside(t, dir)) > 0 {
		t.Error("the file of the newer version was touched")
	}
}

// A file that breaks while it is used is moved aside when nobody else uses it,
// and the cache goes on with a new one.
func TestBreaksInUse(t *testing.T) {
	values := sample(0, 3000)
	dir, path := filled(t, values)
	var w warnings
	c := open(t, dir, readings.Options{Warn: w.add})
	garble(t, path)
	checkNoLies(t, c, values)
	put(t, c, values)
	if n := checkNoLies(t, c, values); n != len(values) {
		t.Errorf("%d values of %d in the new cache", n, len(values))
	}
	w.one(t, "readings.db.broken-", "new one is begun")
	if moved := aside(t, dir); len(moved) != 1 {
		t.Errorf("moved aside: %v", moved)
	}
	// A second time is one too many: the cache is off, and the work goes on.
	// (More rows than SQLite keeps in memory, so that it sees the file.)
	values = sample(0, 20_000)
	put(t, c, values)
	garble(t, path)
	checkNoLies(t, c, values)
	put(t, c, values)
	checkNoLies(t, c, values)
	if s := stats(t, c); s.On {
		t.Errorf("stats %+v", s)
	}
}

func TestBreaksWhileOthersUseIt(t *testing.T) {
	values := sample(0, 3000)
	dir, path := filled(t, values)
	var w1, w2 warnings
	one := open(t, dir, readings.Options{Warn: w1.add})
	two := open(t, dir, readings.Options{Warn: w2.add})
	garble(t, path)
	checkNoLies(t, one, values)
	put(t, one, values)
	if s := stats(t, one); s.On {
		t.Errorf("stats %+v", s)
	}
	w1.one(t, "other processes use it")
	if moved := aside(t, dir); len(moved) != 0 {
		t.Errorf("moved aside while in use: %v", moved)
	}
	// The last one to use it can mend it.
	checkNoLies(t, two, values)
	put(t, two, values)
	if n := checkNoLies(t, two, values); n != len(values) {
		t.Errorf("%d values of %d", n, len(values))
	}
	w2.one(t, "new one is begun")
}

// garble overwrites all pages but the first, under whoever has the file open.
func garble(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, int(fi.Size())-4096), 4096); err != nil {
		t.Fatal(err)
	}
	// What is in the log would still be read from there.
	if err := os.Truncate(path+"-wal", 0); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// integrity has SQLite check the whole file.
func integrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s %v", verdict, err)
	}
}
