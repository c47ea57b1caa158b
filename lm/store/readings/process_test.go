//go:build unix

package readings_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/modellog/modellog/lm/store/readings"
)

// The test binary runs itself as another process: these are what it then does,
// by the value of an environment variable.
var children = map[string]func(dir string, args []string) error{
	"write":   childWrite,
	"limited": childLimited,
	"try":     childTry,
}

const childVariable = "READINGS_TEST_CHILD"

func TestMain(m *testing.M) {
	if run, ok := children[os.Getenv(childVariable)]; ok {
		if err := run(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, what, dir string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{dir}, args...)...)
	cmd.Env = append(os.Environ(), childVariable+"="+what)
	return cmd
}

const batchRows = 50

// batch is one batch of a writer: its values tell which writer and batch.
func batch(writer, n int) map[string][]byte {
	values := make(map[string][]byte, batchRows)
	for i := range batchRows {
		values[fmt.Sprintf("writer %d batch %d row %d", writer, n, i)] = bytes.Repeat([]byte(fmt.Sprintf("%d/%d/%d ", writer, n, i)), 10)
	}
	return values
}

// childWrite writes batches from a number on, up to another or for ever, and
// says when each is kept.
func childWrite(dir string, args []string) error {
	var n [3]int
	for i := range n {
		n[i], _ = strconv.Atoi(args[i])
	}
	writer, from, to := n[0], n[1], n[2]
	c, err := readings.Open(context.Background(), dir, readings.Options{Warn: func(w error) { fmt.Println("warning:", w) }})
	if err != nil {
		return err
	}
	defer c.Close()
	for i := from; to < 0 || i < to; i++ {
		if err := c.PutMany(context.Background(), batch(writer, i)); err != nil {
			return err
		}
		fmt.Println("kept", i)
	}
	return nil
}

// Two processes write and are killed again and again. Afterwards every batch
// that was said to be kept is there whole, no batch is there in part, and the
// file is sound.
func TestKilledWriters(t *testing.T) {
	dir := t.TempDir()
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	var mu sync.Mutex
	last := make(map[int]int) // by writer, the last batch said to be kept
	var wg sync.WaitGroup
	for writer := range 2 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(7, uint64(writer)))
			from := 0
			for range rounds {
				cmd := child(t, "write", dir, fmt.Sprint(writer), fmt.Sprint(from), "-1")
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Error(err)
					return
				}
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				// It may be killed while it opens the cache, or well into a batch.
				timer := time.AfterFunc(time.Duration(5+rng.IntN(400))*time.Millisecond, func() { cmd.Process.Kill() })
				lines := bufio.NewScanner(out)
				for lines.Scan() {
					if text, ok := strings.CutPrefix(lines.Text(), "kept "); ok {
						from, _ = strconv.Atoi(text)
						from++
					} else {
						t.Errorf("writer %d: %s", writer, lines.Text())
					}
				}
				timer.Stop()
				if err := cmd.Wait(); err == nil {
					t.Error("the writer ended by itself")
				}
			}
			mu.Lock()
			last[writer] = from
			mu.Unlock()
		})
	}
	wg.Wait()

	var w warnings
	c := open(t, dir, readings.Options{Warn: w.add})
	for writer := range 2 {
		if last[writer] == 0 {
			t.Errorf("writer %d kept nothing", writer)
		}
		for n := range last[writer] + 2 {
			want := batch(writer, n)
			got := checkNoLies(t, c, want)
			if n < last[writer] && got != batchRows || got != 0 && got != batchRows {
				t.Errorf("writer %d, batch %d of %d: %d rows of %d", writer, n, last[writer], got, batchRows)
			}
		}
	}
	t.Logf("batches kept: %v", last)
	w.none(t)
	c.Close()
	integrity(t, filepath.Join(dir, "readings.db"))
	if moved := aside(t, dir); len(moved) > 0 {
		t.Errorf("moved aside: %v", moved)
	}
}

// Three processes begin a cache at the same moment.
func TestProcessesBeginTogether(t *testing.T) {
	for range 3 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		const writers, batches = 3, 5
		for writer := range writers {
			wg.Go(func() {
				out, err := child(t, "write", dir, fmt.Sprint(writer), "0", fmt.Sprint(batches)).CombinedOutput()
				if err != nil || strings.Count(string(out), "kept") != batches || strings.Contains(string(out), "warning") {
					t.Errorf("writer %d: %v\n%s", writer, err, out)
				}
			})
		}
		wg.Wait()
		c := open(t, dir, readings.Options{})
		for writer := range writers {
			for n := range batches {
				if got := checkNoLies(t, c, batch(writer, n)); got != batchRows {
					t.Errorf("writer %d, batch %d: %d rows of %d", writer, n, got, batchRows)
				}
			}
		}
	}
}

// Three processes find the same broken file at the same moment.
func TestProcessesMendTogether(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "readings.db"), []byte(strings.Repeat("no database ", 1000)))
	var wg sync.WaitGroup
	for writer := range 3 {
		wg.Go(func() {
			out, err := child(t, "write", dir, fmt.Sprint(writer), "0", "5").CombinedOutput()
			if err != nil || strings.Count(string(out), "kept") != 5 {
				t.Errorf("writer %d: %v\n%s", writer, err, out)
			}
		})
	}
	wg.Wait()
	if moved := aside(t, dir); len(moved) != 1 {
		t.Errorf("moved aside: %v", moved)
	}
	c := open(t, dir, readings.Options{})
	total := 0
	for writer := range 3 {
		for n := range 5 {
			total += checkNoLies(t, c, batch(writer, n))
		}
	}
	if total != 3*5*batchRows {
		t.Errorf("%d rows of %d", total, 3*5*batchRows)
	}
}

// childTry uses a cache that cannot work, and says what it warned of.
func childTry(dir string, args []string) error {
	if len(args) > 0 {
		uid, _ := strconv.Atoi(args[0])
		if err := syscall.Setuid(uid); err != nil {
			return err
		}
	}
	return try(dir, readings.Options{}, 200)
}

// try puts batches into a cache and looks at each, and prints the warnings. A
// wrong value is an error.
func try(dir string, o readings.Options, batches int) error {
	ctx := context.Background()
	o.Warn = func(w error) { fmt.Println("warning:", w) }
	c, err := readings.Open(ctx, dir, o)
	if err != nil {
		return err
	}
	found := 0
	for n := range batches {
		values := batch(0, n)
		if err := c.PutMany(ctx, values); err != nil {
			return err
		}
		got, err := c.GetMany(ctx, slices.Collect(maps.Keys(values)))
		if err != nil {
			return err
		}
		for k, v := range got {
			if !bytes.Equal(v, values[k]) {
				return fmt.Errorf("a wrong value for %q", k)
			}
		}
		found += len(got)
	}
	// What was kept is still read after the trouble.
	early, err := c.GetMany(ctx, slices.Collect(maps.Keys(batch(0, 0))))
	if err != nil {
		return err
	}
	s, err := c.Stats(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("found %d, of the first batch %d, on %v, writable %v\n", found, len(early), s.On, s.Writable)
	return c.Close()
}

func TestUnwritableFolder(t *testing.T) {
	// A file where a folder should be stops root, too.
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, []byte("x"))
	var w warnings
	c := open(t, filepath.Join(file, "cache"), readings.Options{Warn: w.add})
	put(t, c, sample(0, 10))
	checkNoLies(t, c, sample(0, 10))
	w.one(t, "not remembered", "MODELLOG_CACHE")
	if s := stats(t, c); s.On || s.Writable {
		t.Errorf("stats %+v", s)
	}

	// A folder without permission does not stop root, so be somebody else.
	if os.Getuid() == 0 {
		for name, make := range map[string]func(dir string){
			"no permission for the folder":  func(dir string) { os.Chmod(dir, 0o555) },
			"no permission to look into it": func(dir string) { os.Chmod(dir, 0o000) },
			"no permission for the file":    func(dir string) { filledAt(t, dir); os.Chmod(dir, 0o777) },
			"no permission to read the file": func(dir string) {
				filledAt(t, dir)
				os.Chmod(filepath.Join(dir, "readings.db"), 0)
				os.Chmod(dir, 0o777)
			},
		} {
			dir, err := os.MkdirTemp("", "readings")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			make(dir)
			out, err := child(t, "try", dir, "65534").CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
			if n := strings.Count(string(out), "warning:"); n != 1 || !strings.Contains(string(out), "on false, writable false") {
				t.Errorf("%s: %d warnings\n%s", name, n, out)
			}
			if moved := aside(t, dir); len(moved) > 0 {
				t.Errorf("%s: moved aside: %v", name, moved)
			}
		}
	}
}

func filledAt(t *testing.T, dir string) {
	t.Helper()
	c := open(t, dir, readings.Options{})
	put(t, c, sample(0, 10))
	c.Close()
	os.Chmod(dir, 0o755)
}

// childLimited may not write files beyond a size, which is what a quota does.
func childLimited(dir string, args []string) error {
	limit, _ := strconv.ParseUint(args[0], 10, 64)
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	return try(dir, readings.Options{}, 200)
}

func TestFilesMayNotGrow(t *testing.T) {
	for _, limit := range []int{0, 1000, 5000, 40_000, 150_000, 1_000_000} {
		dir := t.TempDir()
		out, err := child(t, "limited", dir, fmt.Sprint(limit)).CombinedOutput()
		if err != nil {
			t.Errorf("limit %d: %v\n%s", limit, err, out)
			continue
		}
		if n := strings.Count(string(out), "warning:"); n != 1 || !strings.Contains(string(out), "writable false") {
			t.Errorf("limit %d: %d warnings\n%s", limit, n, out)
		}
		if limit > 100_000 && !strings.Contains(string(out), "of the first batch 50, on true") {
			t.Errorf("limit %d: what was kept is not read\n%s", limit, out)
		}
		// With room again, the cache works.
		var w warnings
		c := open(t, dir, readings.Options{Warn: w.add})
		for n := range 200 {
			checkNoLies(t, c, batch(0, n))
		}
		put(t, c, sample(0, 100))
		if n := checkNoLies(t, c, sample(0, 100)); n != 100 {
			t.Errorf("limit %d: afterwards %d values of 100", limit, n)
		}
		w.none(t)
	}
}
