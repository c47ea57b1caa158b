package bench

import (
	"os"
	"runtime"
	"testing"
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
