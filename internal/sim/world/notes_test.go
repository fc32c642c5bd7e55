package world

import (
	"fmt"
	"slices"
	"testing"
)

// What is left on hosts that answer is found there by everybody, and a host that is silent neither takes a note nor
// shows its own.
func TestNotesAreTakenAndShownByHostsThatAnswer(t *testing.T) {
	t.Parallel()
	w := two(7)
	c, other := w.Client("hale"), w.Client("copy")
	told := 0
	c.Noted = func() { t.Error("who leaves a note is told of it") }
	other.Noted = func() { told++ }
	shows := func(want string) {
		t.Helper()
		if got, end := ReadNotes[string, string](other, "i"); end != Done || fmt.Sprint(got) != want {
			t.Errorf("%v, %q; want %v", got, end, want)
		}
	}
	shows("map[h1:[] h2:[]]")
	lift := w.Darkness(Domain{"host", "h1"})
	if c.Note("i", "a") != Done || told != 1 {
		t.Error("one host takes it")
	}
	shows("map[h2:[a]]")
	c.Noted = nil
	lift()
	if told != 2 {
		t.Error("a host that answers again may show what nobody saw")
	}
	shows("map[h1:[] h2:[a]]")
	both := w.Darkness(Domain{"rack", "r1"})
	if _, end := ReadNotes[string, string](other, "i"); end != Transient || c.Note("i", "b") != Transient {
		t.Error("nobody answers")
	}
	both()
	cut := w.Cutoff("copy")
	if _, end := ReadNotes[string, string](other, "i"); end != Transient || c.Note("i", "b") != Done {
		t.Error("one of two is cut off")
	}
	cut()
	shows("map[h1:[b] h2:[a b]]")
	if c.Note("another", "c") != Done || !slices.Equal(w.Noted("i"), []string{"a", "b"}) {
		t.Error("what another installation noted is its own")
	}
	shows("map[h1:[b] h2:[a b]]")
}
