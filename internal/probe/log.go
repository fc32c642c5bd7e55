package probe

import (
	"time"

	"hale/internal/core/fleet"
)

// Logger is an engine that tells of each single probe of a machine, for as long as it is asked to. It costs the
// machine's targets a little then, and all others nothing.
type Logger interface {
	// Log has each probe of the machine's targets told to each, from now until stop is called, in the order in which
	// they end, target by target. An engine that does not run tells nothing. What is told is called by the engine's own
	// goroutine, and must not wait.
	Log(machine fleet.MachineName, each func(Single)) (stop func())
}

// Single is one probe of one target, also one that was due and left out. Where a target cannot be aimed at, as without an
// address, there are none.
type Single struct {
	ID
	Started time.Time // zero: it was not started, since it was too late, say
	Ended   time.Time
	Result  fleet.ResultReason
	Detail  string
	// Standing is the target's from then on.
	Standing fleet.Standing
}

// Listeners are those who have single probes told to them, by machine. The zero value has none.
type Listeners struct {
	all  map[fleet.MachineName]map[int]func(Single)
	next int
}

// Add adds one, and returns its number.
func (l *Listeners) Add(machine fleet.MachineName, each func(Single)) int {
	if l.all == nil {
		l.all = map[fleet.MachineName]map[int]func(Single){}
	}
	if l.all[machine] == nil {
		l.all[machine] = map[int]func(Single){}
	}
	l.next++
	l.all[machine][l.next] = each
	return l.next
}

// Remove removes the one of the number, and reports whether the machine has none any more.
func (l *Listeners) Remove(machine fleet.MachineName, number int) (none bool) {
	delete(l.all[machine], number)
	if len(l.all[machine]) == 0 {
		delete(l.all, machine)
		return true
	}
	return false
}

// To reports whether the machine has any.
func (l *Listeners) To(machine fleet.MachineName) bool {
	return len(l.all) > 0 && len(l.all[machine]) > 0
}

// None reports whether no machine has any.
func (l *Listeners) None() bool { return len(l.all) == 0 }

// Tell tells those of its machine of the probe.
func (l *Listeners) Tell(s Single) {
	for _, each := range l.all[s.Machine] {
		each(s)
	}
}
