package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/modellog/modellog/lm/gguf"
)

// version is set by the Makefile from git's description of the commit.
var version = ""

type versionCmd struct{}

func (versionCmd) Run(std streams) error {
	build := gguf.BuiltFor()
	optimised := "optimised"
	if !build.Optimised {
		optimised = "not optimised"
	}
	_, err := fmt.Fprintf(std.out, "modellog %s (%s, %s/%s)\nengine: github.com/ollama/ollama %s, %s for %s\n",
		programVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH,
		engineVersion(), optimised, strings.Join(build.For, " "))
	return err
}

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func engineVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/ollama/ollama" {
				return d.Version
			}
		}
	}
	return "(unknown)"
}
