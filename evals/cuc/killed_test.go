package cuc

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modellog/modellog/evals/folder/foldertest"
	"github.com/modellog/modellog/internal/modeltest"
)

// killedRun is set in the process that TestKilled starts and kills: the folder of its cache of readings, its data
// and the run's folder.
const killedRun = "MODELLOG_TEST_KILLED_CUC"

// A run that is killed at random moments and started again writes, byte for byte, what one writes that is left
// alone.
func TestKilled(t *testing.T) {
	if args := strings.Split(os.Getenv(killedRun), "\n"); len(args) == 3 {
		d, err := Read(Plain, args[1])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), machine(t, readingsCache(t, args[0]), nil), []string{modeltest.SmolLM.Name}, []*Data{d}, args[2], Options{Version: "test"}); err != nil {
			t.Fatal(err)
		}
		return
	}
	modeltest.SmolLM.Path(t)
	var rows strings.Builder
	rows.WriteString("premises,phi,not_phi,label\n")
	labels := []string{"true", "false", "uncertain"}
	for i := range 8 {
		fmt.Fprintf(&rows, "House %d is old. All old houses are cold.,House %d is cold.,House %d is not cold.,%s\n", i, i, i, labels[i%3])
	}
	rows.WriteString("It rains.,The street is dry.,,perhaps\n")
	path := write(t, "own.csv", rows.String())
	files := foldertest.Killed(t, func(cache, out string) string {
		return killedRun + "=" + strings.Join([]string{cache, path, out}, "\n")
	})
	if len(files) < 7 {
		t.Errorf("%d files", len(files))
	}
}
