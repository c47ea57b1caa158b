package gguf

// The engine calls llamafile_sgemm; the linker gives it __wrap_llamafile_sgemm of sgemm_linux_amd64.cpp.

// #cgo CXXFLAGS: -O3
// #cgo LDFLAGS: -Wl,--wrap=llamafile_sgemm
import "C"
