package main

import (
	"io"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lang"
)

// writeTables writes tables as wide as w is, and in colour where that is a terminal.
func writeTables(w io.Writer, f table.Format, tables ...*table.Table) error {
	st := lang.StyleOf(w)
	return table.Write(w, f, table.Style{Width: st.Width, Color: st.Color}, tables...)
}
