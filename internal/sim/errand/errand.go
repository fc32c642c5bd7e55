// Package errand is what is wrong with the hooks of a simulated fleet: which of them fail, hang, cannot be run, are
// refused, or end without anyone to hear of it.
//
// It promises that a hook of which nothing is wrong is done. It knows neither machines nor time.
package errand

import (
	"slices"
	"strings"
)

// Fate is how a hook ends of which something is wrong, in the words of a call's end.
type Fate string

// The fates.
const (
	Done    Fate = ""                // nothing is wrong
	Fails   Fate = "permanent"       // it was run, and failed
	Unheard Fate = "unknown-outcome" // it was run, and its answer is lost
	NotRun  Fate = "transient"       // it could not be run now
	Refused Fate = "invalid"         // it could not be run at all
	Hangs   Fate = "hangs"           // it does not end by itself
)

// Fates is what is wrong with which hooks. The zero value: nothing.
type Fates struct{ wrong []*wrong }

type wrong struct {
	hook string
	fate Fate
}

// Ail makes the hooks of the name end so; the returned function takes it back.
func (f *Fates) Ail(hook string, fate Fate) (lift func()) {
	this := &wrong{hook, fate}
	f.wrong = append(f.wrong, this)
	return func() {
		f.wrong = slices.DeleteFunc(f.wrong, func(w *wrong) bool { return w == this })
	}
}

// Of returns how the hook ends, which is named with its moment, as leave/drain: what went wrong last counts.
func (f *Fates) Of(id string) Fate {
	_, name, _ := strings.Cut(id, "/")
	for _, w := range slices.Backward(f.wrong) {
		if w.hook == name {
			return w.fate
		}
	}
	return Done
}
