package owner

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

const (
	// RollBeat is the time between two looks at a provider's notes that nothing asks for.
	RollBeat = 30 * time.Second
	// RollAgain is that after one that was not answered.
	RollAgain = 5 * time.Second
	// notesKept is how many starts stand at a provider's beside this one.
	notesKept = 4
)

// Roll knows which starts of hale are noted at one provider's. A start that is there, with this store's installation,
// and that the store does not know, was noted by another store than this one: by a copy of it, or by this one before it
// lost that or was put back.
//
// Its rule is: a call that builds or destroys is sent only after this start was noted, and after a look that began
// later and found no start unknown. So of two engines on copies of one store that send such calls, the one that looked
// last has seen the other. Nothing at all is sent while a start is unknown.
//
// It works in passes: Begin says what is wanted of the driver first, and the method that takes the answer in says what
// is wanted next. The zero value knows nothing. It is not safe for concurrent use.
type Roll struct {
	Own   fleet.StartName // this start; empty: it has no name yet
	Owed  bool            // it is to be noted as soon as it can be: something waits for that, or a person is to see it
	renew bool            // a person's word makes this a new start
	known map[fleet.StartName]bool

	found   map[fleet.HostName][]fleet.StartName // by the last look
	unread  error                                // of the last look
	seen    []fleet.NotedStart                   // by the last look that was answered, oldest first
	silent  string                               // why the notes were not read since
	unnoted string                               // why Own was not noted

	pass    Pass
	tried   bool  // to note Own, in this pass
	refused error // why that failed
	failed  error // the pass
}

// Pass is what a pass is for: for a call, or, where there is none, to see what there is, and to note what is owed.
type Pass struct {
	Call   *situation.Action
	Rolled bool // the call's fleet is one in which this start is noted
	Shared bool // what was read last is recent enough
}

// Want is what a pass needs next.
type Want int

// What is wanted, and the method that takes the answer in.
const (
	WantNothing Want = iota // the pass is over
	WantNotes               // read the notes: Read
	WantKnown               // read which starts the store knows: Learn
	WantName                // the name of the process's start: Named
	WantAnother             // count another start, and its name: Named
	WantStored              // have the store know Own: Stored
	WantNoted               // note Own wherever it answers: Noted
	WantPruned              // remove Surplus, if it can be: the pass is over
)

// Begin begins a pass.
func (r *Roll) Begin(p Pass) Want {
	r.pass, r.tried, r.refused = p, false, nil
	if p.Shared {
		return r.looked()
	}
	return WantNotes
}

// Read takes in what each host that answers shows; under no name, where hosts have no notes of their own.
func (r *Roll) Read(found map[fleet.HostName][]fleet.StartName, err error) Want {
	r.found, r.unread = found, err
	for _, names := range found {
		if err == nil && slices.ContainsFunc(names, func(n fleet.StartName) bool { return !r.known[n] }) {
			return WantKnown // another engine on this store may have noted its start meanwhile
		}
	}
	return r.looked()
}

// Learn takes in which starts the store knows.
func (r *Roll) Learn(names iter.Seq[fleet.StartName], err error) Want {
	r.Know(names)
	r.unread = err
	return r.looked()
}

// Know says that the store knows the starts.
func (r *Roll) Know(names iter.Seq[fleet.StartName]) {
	if r.known == nil {
		r.known = map[fleet.StartName]bool{}
	}
	for n := range names {
		r.known[n] = true
	}
}

// Believe says that a person had the store believe the starts. This start is another one from now on: a copy of the
// store may have its start among them and know the one before: it must find that this store goes on.
func (r *Roll) Believe(names []fleet.StartName) {
	r.Know(slices.Values(names))
	r.renew = true
}

// Forget says that the notes are those of another installation from now on.
func (r *Roll) Forget() { r.seen, r.found = nil, nil }

// looked goes on after a look.
func (r *Roll) looked() Want {
	switch r.failed = r.unread; {
	case fault.Is(r.failed, fault.Unsupported):
		r.silent, r.seen = "", nil
	case r.failed != nil:
		r.silent = fault.Plain(r.failed) // what was seen before counts on
	default:
		r.silent, r.seen = "", seenIn(r.found)
	}
	note := r.Owed
	if a := r.pass.Call; a != nil {
		note = r.pass.Rolled && a.Intent.Op.Rolled()
	}
	switch {
	case r.tried:
		return r.note(r.failed)
	case !note || r.failed != nil || r.Standing().Unknown != nil:
		return WantNothing
	case r.renew:
		return WantAnother
	case r.Own == "":
		return WantName
	}
	return r.note(nil)
}

// Named takes in this start's name.
func (r *Roll) Named(name fleet.StartName, err error) Want {
	if err == nil {
		r.Own, r.renew = name, false
	}
	return r.note(err)
}

// Stored takes in that the store knows this start, before it is noted.
func (r *Roll) Stored(err error) Want {
	if r.tried, r.refused = true, err; err != nil {
		return r.note(nil)
	}
	r.Know(slices.Values([]fleet.StartName{r.Own}))
	return WantNoted
}

// Noted takes in how the noting ended. The look that follows says whether it is there.
func (r *Roll) Noted(err error) Want {
	r.refused = err
	return WantNotes
}

// note has this start noted where it is not, or ends the pass. One place that has it is enough.
func (r *Roll) note(err error) Want {
	with, without := 0, 0
	for _, names := range r.found {
		if slices.Contains(names, r.Own) {
			with++
		} else {
			without++
		}
	}
	switch {
	case err == nil && without > 0 && !r.tried:
		return WantStored
	case err == nil && with == 0:
		err = errors.Join(errors.New("this start could not be noted"), r.refused)
	}
	r.failed, r.Owed, r.unnoted = err, err != nil, fault.Plain(err)
	if r.tried && !r.Owed && r.Standing().Unknown == nil {
		return WantPruned
	}
	return WantNothing
}

// Again returns how soon to look again.
func (r *Roll) Again() time.Duration {
	if r.failed != nil && !fault.Is(r.failed, fault.Unsupported) {
		return RollAgain
	}
	return RollBeat
}

// Permit says, after a pass for a call, why that may not be sent; empty: it may.
func (r *Roll) Permit() string {
	if u := r.Standing().Unknown; u != nil {
		return fmt.Sprintf("%s: %s at the provider is unknown to this store", fleet.ReasonStoreOlder, u[0].Name)
	}
	op, host := r.pass.Call.Intent.Op, r.pass.Call.Host
	if !op.Rolled() || fault.Is(r.failed, fault.Unsupported) {
		return ""
	}
	_, whole := r.found[""]
	_, there := r.found[host]
	left := op == fleet.OpFence || op == fleet.OpEvacuate // then the host does not answer
	why := fault.Plain(r.failed)
	if r.failed == nil && !whole && !there && !left {
		why = fmt.Sprintf("host %q does not show its notes", host)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s: %s", fleet.ReasonPlaceSilent, why)
}

// Standing is what the notes say, as far as it was seen.
func (r *Roll) Standing() fleet.Roll {
	is := fleet.Roll{Silent: cmp.Or(r.silent, r.unnoted)}
	for _, n := range r.seen {
		if !r.known[n.Name] {
			is.Unknown = append(is.Unknown, n)
		}
	}
	return is
}

// Surplus returns the notes that are of no use: all but the latest. One of another engine on this store that is removed
// is noted again by it.
func (r *Roll) Surplus() []fleet.NotedStart {
	others := slices.DeleteFunc(slices.Clone(r.seen), func(n fleet.NotedStart) bool { return n.Name == r.Own })
	return others[:max(0, len(others)-notesKept)]
}

// seenIn lists each start once, oldest first, with the first host that has it.
func seenIn(found map[fleet.HostName][]fleet.StartName) []fleet.NotedStart {
	at := map[fleet.StartName]fleet.HostName{}
	for _, host := range slices.Sorted(maps.Keys(found)) {
		for _, name := range found[host] {
			if _, has := at[name]; !has {
				at[name] = host
			}
		}
	}
	var seen []fleet.NotedStart
	for _, name := range slices.SortedFunc(maps.Keys(at), fleet.StartName.Compare) {
		seen = append(seen, fleet.NotedStart{Name: name, Host: at[name]})
	}
	return seen
}
