package cli

import (
	"io"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tame is what all commands write to: guests, providers and programs say much of what hale prints, and none of them
// may command the terminal of the person who reads it. Each Write is a piece of text of its own.
type tame struct{ to io.Writer }

func (t tame) Write(text []byte) (int, error) {
	if _, err := io.WriteString(t.to, tamed(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// painting is what paint writes around a text.
var painting = regexp.MustCompile("\x1b\\[(0|1|2|31|32|33)m")

// tamed returns the text with hale's own colours, lines and tabs, and with all other control characters made visible.
func tamed(text string) string {
	if utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }) {
		return text
	}
	var b strings.Builder
	rest := text
	for _, at := range painting.FindAllStringIndex(text, -1) {
		begin, end := at[0]-(len(text)-len(rest)), at[1]-(len(text)-len(rest))
		writeTabbed(&b, rest[:begin])
		b.WriteString(rest[begin:end])
		rest = rest[end:]
	}
	writeTabbed(&b, rest)
	return b.String()
}

func writeTabbed(b *strings.Builder, text string) {
	for i, piece := range strings.Split(text, "\t") {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(harmless(piece))
	}
}
