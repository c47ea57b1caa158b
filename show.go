package modellog

import (
	"fmt"
	"os"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Shower is what Show shows: a [Result], a [*Report] or a [*Run].
type Shower interface{ result() Result }

// Show shows results: in a cell in Go as the notebook shows those of the
// constraint language, with tables, formulas and figures; elsewhere as text
// on the standard output.
func Show(results ...Shower) error {
	for _, r := range results {
		forms := r.result().Forms
		if !gonbui.IsNotebook {
			if _, err := fmt.Fprintln(os.Stdout, forms["text/plain"]); err != nil {
				return fmt.Errorf("showing a result: %w", err)
			}
			continue
		}
		data := map[protocol.MIMEType]any{}
		for mime, text := range forms {
			data[protocol.MIMEType(mime)] = text
		}
		gonbui.SendData(&protocol.DisplayData{Data: data})
		if err := gonbui.Error(); err != nil {
			return fmt.Errorf("showing a result in the notebook: %w", err)
		}
	}
	// What a cell prints next comes after it, and its end does not lose it.
	gonbui.Sync()
	return nil
}
