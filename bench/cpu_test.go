package bench

import (
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// The peak is of what a process has had, and begins anew where it is forgotten.
func TestPeakMemory(t *testing.T) {
	peak := func() float64 {
		t.Helper()
		bytes, ok := peakMemory(t.Context(), os.Getpid())
		if !ok {
			if runtime.GOOS == "linux" {
				t.Fatal("Linux does not tell the peak of its own process")
			}
			t.Skip("this system does not tell a process's peak")
		}
		return bytes
	}
	forgetPeak()
	before := peak()
	const size = 200 << 20
	much := make([]byte, size)
	for i := 0; i < size; i += 4096 {
		much[i] = 1
	}
	with := peak()
	runtime.KeepAlive(much)
	if with < before+0.9*size {
		t.Errorf("%.0f bytes after 200 MB more than %.0f", with, before)
	}
	much = nil
	forgetPeak()
	if after := peak(); after > with-0.8*size {
		t.Errorf("%.0f bytes after 200 MB of %.0f were given back", after, with)
	}
}

// A process counts with those it started, but this one does without: they are the other contestants.
func TestSumOfProcesses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	shell := exec.Command("sh", "-c", "sleep 60 & wait")
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = exec.Command("pkill", "-P", strconv.Itoa(shell.Process.Pid)).Run()
		_ = shell.Process.Kill()
		_ = shell.Wait()
	})
	one := func(*process.Process) (float64, bool) { return 1, true }
	count := func(pid int) float64 {
		n, _ := sum(t.Context(), []int{pid}, one)
		return n
	}
	for until := time.Now().Add(10 * time.Second); count(shell.Process.Pid) != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("a shell and what it started are %g processes", count(shell.Process.Pid))
		}
	}
	if n := count(os.Getpid()); n != 1 {
		t.Errorf("this process is %g processes", n)
	}
}
