package store

import "syscall"

func statusChange(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
