package table

import "strings"

// markdown writes a table as GitHub's Markdown has it.
func (t *Table) markdown() string {
	var rows [][]string
	head := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = escapeMarkdown(clean(c.Head))
	}
	rows = append(rows, head)
	for _, g := range t.Groups {
		if g.Heading != "" {
			row := make([]string, len(t.Columns))
			row[0] = "*" + escapeMarkdown(clean(g.Heading)) + "*"
			rows = append(rows, row)
		}
		marks := t.best(g)
		for i, r := range g.Rows {
			row := make([]string, len(r.Cells))
			for j, c := range r.Cells {
				row[j] = escapeMarkdown(c.text())
				if marks[i][j] {
					row[j] = "**" + row[j] + "**"
				}
				if std := c.stdText(); std != "" {
					row[j] += " ± " + std
				}
			}
			rows = append(rows, row)
		}
	}
	widths := make([]int, len(t.Columns))
	for i := range widths {
		widths[i] = 3
		for _, r := range rows {
			widths[i] = max(widths[i], width(r[i]))
		}
	}
	var b strings.Builder
	if title := t.title(); title != "" {
		b.WriteString(escapeMarkdown(clean(title)) + "\n\n")
	}
	for n, r := range rows {
		for i, c := range r {
			if i < t.keys() {
				c = padRight(c, widths[i])
			} else {
				c = padLeft(c, widths[i])
			}
			b.WriteString("| " + c + " ")
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, w := range widths {
			b.WriteString("| " + strings.Repeat("-", w-1))
			if i < t.keys() {
				b.WriteString("- ")
			} else {
				b.WriteString(": ")
			}
		}
		b.WriteString("|\n")
	}
	for _, n := range t.Notes {
		b.WriteString("\n" + escapeMarkdown(clean(n)) + "\n")
	}
	return b.String()
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "$", `\$`,
	"<", "&lt;", ">", "&gt;", "&", "&amp;",
)

// escapeMarkdown makes a text stand for itself within a table or a paragraph.
func escapeMarkdown(s string) string {
	s = markdownEscapes.Replace(s)
	// what would begin a heading or a list at the start of a paragraph
	if s != "" && strings.ContainsRune("#+", rune(s[0])) || strings.HasPrefix(s, "- ") {
		s = `\` + s
	}
	return s
}
