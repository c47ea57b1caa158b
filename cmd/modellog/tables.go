package main

import (
	"io"

	"github.com/modellog/modellog/evals/table"
	"github.com/modellog/modellog/lang"
)

// formatFlag is the form of tables on the standard output.
type formatFlag struct {
	Format string `enum:"text,csv,markdown,latex" default:"text" help:"Form of the tables on the standard output: text, csv, markdown or latex. Default: ${default}."`
}

func (f formatFlag) format() (table.Format, error) {
	format, err := table.ParseFormat(f.Format)
	if err != nil {
		return 0, usageError{err}
	}
	return format, nil
}

// writeTables writes tables as wide as w is, and in colour where that is a terminal.
func writeTables(w io.Writer, f table.Format, tables ...*table.Table) error {
	st := lang.StyleOf(w)
	return table.Write(w, f, table.Style{Width: st.Width, Color: st.Color}, tables...)
}
