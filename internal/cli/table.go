package cli

import (
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	title string
	cells []cell
	// keep says how dear the column is: where it is too narrow, those with less go first. keepAlways never goes.
	keep int
	// narrowest is how far the column may be cut; 0: not at all.
	narrowest int
}

const (
	keepAlways = 1 << 10
	gap        = 2 // between columns
)

type cell struct {
	text  string
	style style
}

func (c column) width() int {
	w := 0
	for _, x := range c.cells {
		w = max(w, utf8.RuneCountInString(x.text))
	}
	if w == 0 {
		return 0 // a column without any content is not shown
	}
	return max(w, utf8.RuneCountInString(c.title))
}

// indent is what stands before each line of a table.
const indent = "  "

// table renders columns under their titles.
func (p paper) table(columns []column) []string {
	columns, widths := p.fit(len(indent), columns)
	if len(columns) == 0 {
		return nil
	}
	lines := make([]string, 0, len(columns[0].cells)+1)
	titles := make([]cell, len(columns))
	for i, c := range columns {
		titles[i] = cell{c.title, faint}
	}
	lines = append(lines, indent+p.row(titles, widths))
	for r := range columns[0].cells {
		row := make([]cell, len(columns))
		for i, c := range columns {
			row[i] = c.cells[r]
		}
		lines = append(lines, indent+p.row(row, widths))
	}
	return lines
}

// fit chooses the columns and their widths.
func (p paper) fit(indent int, columns []column) (shown []column, widths []int) {
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
		over := total - p.width
		if p.width == 0 || over <= 0 {
			return shown, widths
		}
		for i, c := range shown {
			if cut := min(over, widths[i]-c.narrowest); c.narrowest > 0 && cut > 0 {
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
func cheapest(columns []column) int {
	least := -1
	for i, c := range columns {
		if c.keep != keepAlways && (least < 0 || c.keep < columns[least].keep) {
			least = i
		}
	}
	return least
}

func (p paper) row(cells []cell, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		text := clip(c.text, widths[i])
		b.WriteString(p.paint(c.style, text))
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text)+gap))
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// clip cuts the text to the width; 0: no limit.
func clip(text string, width int) string {
	if width <= 0 || utf8.RuneCountInString(text) <= width {
		return text
	}
	r := []rune(text)
	return string(r[:width-1]) + "…"
}

// wrapped breaks the text into lines of the width, at spaces; 0: no limit. A word that is longer than a line is cut.
func wrapped(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	var lines []string
	for _, word := range strings.Fields(text) {
		word = clip(word, width)
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
