package paper

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"hale/internal/prose"
)

// Count renders "1 fleet", "3 fleets".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// FewNames is how many machines are named before the others are only counted.
const FewNames = 5

// Named lists names, the first few of many.
func Named(names []string) string {
	if len(names) <= FewNames+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:FewNames], ", "), len(names)-FewNames)
}

// Moment renders a time of today as a time of day, and any other with its date.
func Moment(t, now time.Time) string {
	t = t.In(now.Location())
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return prose.Clock(t)
	}
	return t.Format(time.DateOnly) + " " + prose.Clock(t)
}

// Indented puts text below the line that it belongs to.
func Indented(text string) string {
	return "        " + strings.ReplaceAll(text, "\n", "\n        ")
}

// JSON prints for programs, but so that people can read it.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
