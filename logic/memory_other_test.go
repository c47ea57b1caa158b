//go:build !unix

package logic

import "os"

func peakMemory(*os.ProcessState) (int64, bool) { return 0, false }
