package paper

import (
	"strings"
	"testing"
)

// What a guest calls itself, and what a program says, is shown and not obeyed, by whichever command.
func TestNoControlCharacterReachesATerminal(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"web-1 is healthy\n":              "web-1 is healthy\n",
		"a\tb":                            "a\tb",
		"\x1b[31mred\x1b[0m":              "\x1b[31mred\x1b[0m",
		"\x1b[2Jgone\x1b]0;title\a":       "␛[2Jgone␛]0;title␇",
		"\x1b[31;1mred\x1b[0m":            "␛[31;1mred\x1b[0m",
		"over\rwritten\u009b2J\u202eback": "over␍written\uFFFD2J\uFFFDback",
		"not \xff text":                   "not \uFFFD text",
	} {
		var b strings.Builder
		if n, err := (tame{&b}).Write([]byte(given)); err != nil || n != len(given) || b.String() != want {
			t.Errorf("%q is shown as %q, want %q (%d, %v)", given, b.String(), want, n, err)
		}
	}
}
