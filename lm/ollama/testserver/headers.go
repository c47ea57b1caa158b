//go:build tools

// Package testserver is a module of its own that pins a real Ollama server for
// the tests of package ollama, so that the server's dependencies are none of
// the project's. The script run builds it and runs the tests.
package testserver

// The server's C++ includes miniaudio.h, which the Go module proxy does not
// serve with Ollama; this module has the file.
import _ "github.com/gen2brain/malgo"
