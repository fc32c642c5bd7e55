package paper

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

// Tame returns a writer that makes what is written harmless, and passes it on.
func Tame(w io.Writer) io.Writer { return tame{w} }

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
		b.WriteString(Harmless(piece))
	}
}

// Harmless makes a text visible that must not command a terminal: lines stay, all other control characters are shown as
// pictures of them.
func Harmless(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			return r
		case r == '\t':
			return ' '
		case r < 0x20:
			return '\u2400' + r
		case r == 0x7f:
			return '\u2421'
		}
		return '\uFFFD'
	}, text)
}
