package paper

import (
	"strings"
	"unicode/utf8"
)

// Column is one column of a table.
type Column struct {
	Title string
	Cells []Cell
	// keep says how dear the column is: where it is too narrow, those with less go first. KeepAlways never goes.
	Keep int
	// narrowest is how far the column may be cut; 0: not at all.
	Narrowest int
}

const (
	// KeepAlways is the Keep of a column that stays, however narrow the terminal.
	KeepAlways = 1 << 10
	gap        = 2 // between columns
)

// Cell is one field of a table.
type Cell struct {
	Text  string
	Style Style
}

func (c Column) width() int {
	w := 0
	for _, x := range c.Cells {
		w = max(w, utf8.RuneCountInString(x.Text))
	}
	if w == 0 {
		return 0 // a column without any content is not shown
	}
	return max(w, utf8.RuneCountInString(c.Title))
}

// indent is what stands before each line of a table.
const indent = "  "

// Table renders columns under their titles.
func (p Sheet) Table(columns []Column) []string {
	columns, widths := p.fit(len(indent), columns)
	if len(columns) == 0 {
		return nil
	}
	lines := make([]string, 0, len(columns[0].Cells)+1)
	titles := make([]Cell, len(columns))
	for i, c := range columns {
		titles[i] = Cell{c.Title, Faint}
	}
	lines = append(lines, indent+p.row(titles, widths))
	for r := range columns[0].Cells {
		row := make([]Cell, len(columns))
		for i, c := range columns {
			row[i] = c.Cells[r]
		}
		lines = append(lines, indent+p.row(row, widths))
	}
	return lines
}

// fit chooses the columns and their widths.
func (p Sheet) fit(indent int, columns []Column) (shown []Column, widths []int) {
	for _, c := range columns {
		if c.width() > 0 {
			shown = append(shown, c)
		}
	}
	for {
		widths = widths[:0]
		total := indent - gap
		for _, c := range shown {
			widths = append(widths, c.width())
			total += c.width() + gap
		}
		over := total - p.Width
		if p.Width == 0 || over <= 0 {
			return shown, widths
		}
		for i, c := range shown {
			if cut := min(over, widths[i]-c.Narrowest); c.Narrowest > 0 && cut > 0 {
				widths[i] -= cut
				over -= cut
			}
		}
		least := cheapest(shown)
		if over <= 0 || least < 0 {
			return shown, widths
		}
		shown = append(shown[:least:least], shown[least+1:]...)
	}
}

// cheapest returns the column that goes first, or -1.
func cheapest(columns []Column) int {
	least := -1
	for i, c := range columns {
		if c.Keep != KeepAlways && (least < 0 || c.Keep < columns[least].Keep) {
			least = i
		}
	}
	return least
}

func (p Sheet) row(cells []Cell, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		text := Clip(c.Text, widths[i])
		b.WriteString(p.Paint(c.Style, text))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+gap))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// Clip cuts the text to the width; 0: no limit.
func Clip(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	r := []rune(text)
	return string(r[:width-1]) + "…"
}

// Wrapped breaks the text into lines of the width, at spaces; 0: no limit. A word that is longer than a line is cut.
func Wrapped(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	for _, word := range strings.Fields(text) {
		word = Clip(word, width)
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
