package world

import (
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
	shows := func(want ...Noted) {
		t.Helper()
		if got, end := other.Notes("i"); end != Done || !slices.Equal(got, want) {
			t.Errorf("%v, %q; want %v", got, end, want)
		}
	}
	shows()
	lift := w.Darkness(Domain{"host", "h1"})
	if c.Note("i", "a") != Done || told != 1 || c.Lacks("i", "a") || c.Answers("h1") || !c.Answers("h2") {
		t.Error("one host takes it")
	}
	shows(Noted{"a", "h2"})
	c.Noted = nil
	lift()
	if told != 2 || !c.Lacks("i", "a") {
		t.Error("a host that answers again may show what nobody saw")
	}
	shows(Noted{"a", "h2"})
	both := w.Darkness(Domain{"rack", "r1"})
	if _, end := other.Notes("i"); end != Transient || c.Note("i", "b") != Transient {
		t.Error("nobody answers")
	}
	both()
	cut := w.Cutoff("copy")
	if _, end := other.Notes("i"); end != Transient || c.Note("i", "b") != Done {
		t.Error("one of two is cut off")
	}
	cut()
	shows(Noted{"a", "h2"}, Noted{"b", "h1"})
	if c.Note("another", "c") != Done || !c.Lacks("i", "c") {
		t.Error("what another installation noted is its own")
	}
	shows(Noted{"a", "h2"}, Noted{"b", "h1"})
}
