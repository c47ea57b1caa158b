package kernel

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/modellog/modellog/kernel/wire"
	"github.com/modellog/modellog/lang"
)

// runKernel makes the test program a kernel, for tests of a whole process.
const runKernel = "run-kernel"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == runKernel {
		if err := kernelMain(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func kernelMain(file string) error {
	c, err := wire.ReadConnection(file)
	if err != nil {
		return err
	}
	o := Options{Connection: c, Version: "test", Log: os.Stderr, Go: GoOptions{ToolsDir: os.Getenv("MODELLOG_TEST_TOOLS")}}
	if m := regexp.MustCompile(`^kernel-([0-9a-f-]+)\.json$`).FindStringSubmatch(filepath.Base(file)); m != nil {
		o.ID = m[1]
	}
	k, err := New(o)
	if err != nil {
		return err
	}
	return k.Run(context.Background(), lang.New(lang.Options{Progress: k.Progress, Warn: k.Warn}))
}
