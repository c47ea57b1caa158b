package gguf

/*
#ifndef _WIN32
#include <dlfcn.h>
#include <stddef.h>

// NULL where the library loads. It then stays loaded, as the engine's own attempt would have left it.
static const char *modellog_load_error(const char *path) {
	return dlopen(path, RTLD_NOW | RTLD_LOCAL) ? NULL : dlerror();
}
#else
static const char *modellog_load_error(const char *path) { return 0; }
#endif
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"
)

// ErrNoGPU is returned, wrapped, where [Options].GPU asks for what is not there.
var ErrNoGPU = errors.New("the engine finds no graphics processor; it has Metal on Macs with Apple's processors, and elsewhere takes the libraries of an Ollama " + engineVersion +
	" installation: set both OLLAMA_LIBRARY_PATH and LD_LIBRARY_PATH (on Windows PATH) to their folders, as in /usr/local/lib/ollama:/usr/local/lib/ollama/cuda_v12 " +
	"(or cuda_v13, rocm, vulkan), or leave out --gpu")

// noGPU is ErrNoGPU with what is wrong with the folders in OLLAMA_LIBRARY_PATH, as the engine passes over what it
// cannot load without a word.
func noGPU(folders string) error {
	if runtime.GOOS == "darwin" {
		return ErrNoGPU
	}
	if folders == "" {
		return fmt.Errorf("OLLAMA_LIBRARY_PATH is not set: %w", ErrNoGPU)
	}
	var wrong []string
	found := false
	for _, folder := range filepath.SplitList(folders) {
		folder, err := filepath.Abs(folder)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		if part := filepath.FromSlash("lib/ollama"); !strings.Contains(folder, part) {
			wrong = append(wrong, fmt.Sprintf("the engine takes no libraries from %s, whose path is without %s", folder, part))
			continue
		}
		for _, kind := range []string{"cuda", "hip", "vulkan"} {
			path := filepath.Join(folder, "libggml-"+kind+".so")
			if runtime.GOOS == "windows" {
				path = filepath.Join(folder, "ggml-"+kind+".dll")
			}
			if _, err := os.Stat(path); err != nil {
				continue
			}
			found = true
			if message := loadError(path); message != "" {
				wrong = append(wrong, "a library does not load: "+message)
			} else {
				wrong = append(wrong, path+" finds no device; its driver may be missing, or another of the libraries may be the device's")
			}
		}
	}
	if !found {
		wrong = append(wrong, "no folder in OLLAMA_LIBRARY_PATH has a library for graphics processors, ggml-cuda, ggml-hip or ggml-vulkan")
	}
	return fmt.Errorf("%s: %w", strings.Join(wrong, "; "), ErrNoGPU)
}

// loadError is what the system's linker says against a library, empty where it loads or where that is not known.
func loadError(path string) string {
	c := C.CString(path)
	defer C.free(unsafe.Pointer(c))
	runtime.LockOSThread() // the message is the thread's
	defer runtime.UnlockOSThread()
	message := C.modellog_load_error(c)
	if message == nil {
		return ""
	}
	return C.GoString(message)
}
