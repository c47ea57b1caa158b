package modellog

import (
	"fmt"
	"os"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

// Shower is what Show shows: a [Result], a [*Report] or a [*Run].
type Shower interface{ result() Result }

// passOn is how long the notebook may need to publish what it has taken.
const passOn = 2 * time.Millisecond

// Show shows results: in a cell in Go as the notebook shows those of the
// constraint language, with tables, formulas and figures; elsewhere as text
// on the standard output. What is printed afterwards comes after them, and what was
// printed before comes before.
func Show(results ...Shower) error {
	if gonbui.IsNotebook {
		awaitPrinted()
	}
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
	// What is printed next comes after it, and the end of the cell does not lose it.
	gonbui.Sync()
	return nil
}
