package gguf

import "runtime"

// #cgo CFLAGS: -O3
// #cgo LDFLAGS: -Wl,--wrap=ggml_geglu_split
// #include <stdbool.h>
// void modellog_exact_gelu(bool);
import "C"

// exactGELU has Gemma's activations of the graphs that the calling goroutine makes computed in float32, until end is
// called: the engine's own are looked up in a table of 16 bits.
func exactGELU() (end func()) {
	runtime.LockOSThread()
	C.modellog_exact_gelu(true)
	return func() {
		C.modellog_exact_gelu(false)
		runtime.UnlockOSThread()
	}
}
