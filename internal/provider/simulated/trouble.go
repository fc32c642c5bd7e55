package simulated

import (
	"slices"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// The reading operations, for Calls.Op and Misreported.Op beside fleet's changing ones.
const (
	OpIdentity fleet.Op = "identity"
	OpList     fleet.Op = "list"
	OpGet      fleet.Op = "get"
	OpPing     fleet.Op = "ping-guest"
	OpMeter    fleet.Op = "meter"
	OpRehearse fleet.Op = "rehearse"

	OpConsole    fleet.Op = "console"
	OpScreenshot fleet.Op = "screenshot"

	// Of the notes of hale's starts. No fault has them take effect without an answer.
	OpStarts      fleet.Op = "starts"
	OpNoteStart   fleet.Op = "note-start"
	OpForgetStart fleet.Op = "forget-start"
)

// Calls makes provider calls go wrong. Empty selectors select all; the newest fault that selects a call hits it.
type Calls struct {
	Op       fleet.Op
	Client   string
	Host     fleet.HostName // selects no call that asks all hosts
	Instance fleet.InstanceID
	Machine  fleet.MachineName // by the reference's mark
	Times    int               // how many are hit; 0: until lifted
	Chance   float64           // how likely a selected call is hit; 0: certainly
	Effect   Effect
	Kind     fault.Kind    // of Fails; default Transient
	Delay    time.Duration // of Slow, ActsLate and ActsTwice
}

// Effect is what happens to a call that is hit. Only Fails, Slow and Hangs hit reads.
type Effect string

// The effects.
const (
	Fails      Effect = "fails"       // it ends with Calls.Kind; nothing was done
	Slow       Effect = "slow"        // it takes Calls.Delay longer
	Hangs      Effect = "hangs"       // nothing happens until the caller gives up, or the fault is lifted and it goes on
	HangsAfter Effect = "hangs-after" // it takes effect, then hangs
	ActsLate   Effect = "acts-late"   // it hangs and takes effect Calls.Delay later, caller or no caller
	AnswerLost Effect = "answer-lost" // it takes effect, and the caller gets UnknownOutcome
	ActsTwice  Effect = "acts-twice"  // it takes effect, and once more Calls.Delay later
	NoEffect   Effect = "no-effect"   // it is accepted, and nothing follows
)

func (f Calls) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, f.Times)
	return nil
}

func (f Calls) selects(client string, op fleet.Op, ref provider.Ref) bool {
	return (f.Op == "" || f.Op == op) &&
		(!reads(op) || f.Effect == Fails || f.Effect == Slow || f.Effect == Hangs || f.losesNote(op)) &&
		(f.Client == "" || f.Client == client) &&
		(f.Host == "" || f.Host == ref.Host) &&
		(f.Instance == "" || f.Instance == ref.ID) &&
		(f.Machine == "" || f.Machine == ref.Mark.Machine)
}

// losesNote reports whether the answer to a note of a start is lost: to one that the fault names, so that a fault of
// all calls hits the call that the note is written for.
func (f Calls) losesNote(op fleet.Op) bool {
	return f.Effect == HangsAfter && f.Op == op && (op == OpNoteStart || op == OpForgetStart)
}

func reads(op fleet.Op) bool {
	return op == OpGet || op == OpPing || op == OpMeter || op == OpRehearse || op == OpConsole || op == OpScreenshot || ofAllHosts(op)
}

// ofAllHosts reports whether the call goes to every host: those that do not answer are left out.
func ofAllHosts(op fleet.Op) bool {
	return op == OpIdentity || op == OpList || ofNotes(op)
}

// ofNotes reports whether the call is about the notes of hale's starts.
func ofNotes(op fleet.Op) bool { return op == OpStarts || op == OpNoteStart || op == OpForgetStart }

// hit returns the fault that hits the call, and the channel that is closed when it is lifted.
func (w *World) hit(client string, op fleet.Op, ref provider.Ref) (Calls, <-chan struct{}) {
	for _, in := range slices.Backward(w.active) {
		f, ok := in.fault.(Calls)
		if !ok || in.left == 0 || !f.selects(client, op, ref) {
			continue
		}
		if f.Chance > 0 && w.random.Float64() >= f.Chance {
			continue
		}
		in.spend()
		return f, in.lifted
	}
	return Calls{}, nil
}

// spend books one hit of a fault that is limited in number.
func (in *injection) spend() {
	if in.left > 0 {
		in.left--
	}
}

// Outage cuts a client, or with an empty name all of them, from the provider: calls fail as transient, nothing is heard.
type Outage struct{ Client string }

func (f Outage) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, 0)
	in.undo = func(time.Time) { w.lookAgain("", f.Client) }
	return nil
}

// HostUnreachable cuts a client, or with an empty name everybody, from one host's control plane. Its guests run on.
type HostUnreachable struct {
	Host   fleet.HostName
	Client string
}

func (f HostUnreachable) strike(w *World, in *injection, _ time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	w.keep(in, 0)
	in.undo = func(time.Time) { w.lookAgain(f.Host, f.Client) }
	return nil
}

// HostHangs is HostUnreachable with a host that takes what it is told and never answers: whoever asks all hosts at once waits for it as long
// as there is time, and then has the others' answers.
type HostHangs struct{ Host fleet.HostName }

func (f HostHangs) strike(w *World, in *injection, now time.Time) error {
	return HostUnreachable{Host: f.Host}.strike(w, in, now)
}

// HostLosesPower lets all guests of the host die with it. When lifted, the host is back and its guests are off, and
// nobody knows any more who or what stopped them.
type HostLosesPower struct{ Host fleet.HostName }

func (f HostLosesPower) strike(w *World, in *injection, now time.Time) error {
	if err := (HostUnreachable{Host: f.Host}).strike(w, in, now); err != nil {
		return err
	}
	for _, g := range w.sorted() {
		if g.host == f.Host && (g.on() || g.power == fleet.PowerOff) {
			w.setPower(g, now, fleet.PowerOff, fleet.StopUnknown)
		}
	}
	return nil
}

// HostShutsDown lets the host shut down all its guests in order, as before it is started anew.
type HostShutsDown struct{ Host fleet.HostName }

func (f HostShutsDown) strike(w *World, _ *injection, now time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	for _, g := range w.sorted() {
		if g.host == f.Host && g.on() {
			w.setPower(g, now, fleet.PowerOff, fleet.StopShutdown)
		}
	}
	return nil
}

// HostDisabled says that whoever runs the provider wants the host to be empty. Its guests run on.
type HostDisabled struct{ Host fleet.HostName }

func (f HostDisabled) strike(w *World, in *injection, _ time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	w.keep(in, 0)
	w.lookAgain(f.Host, "")
	in.undo = func(time.Time) { w.lookAgain(f.Host, "") }
	return nil
}

func (w *World) disabled(host fleet.HostName) bool {
	_, is := inForce(w, func(f HostDisabled) bool { return f.Host == host })
	return is
}

// StaleLists lets List answer with what was true some time ago, at most ten minutes.
type StaleLists struct{ Age time.Duration }

func (f StaleLists) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, 0)
	return nil
}

// EmptyLists lets List answer that there is nothing, completely and without error, as a proxy without its backend does.
// Add Calls{Op: OpGet, Effect: Fails, Kind: fault.NotFound} for one that lies throughout.
type EmptyLists struct{}

func (f EmptyLists) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, 0)
	return nil
}

// Misreported lets the provider say something about an instance's power that is not so. Only the words are wrong:
// changing calls meet the truth.
type Misreported struct {
	Instance fleet.InstanceID
	Op       fleet.Op // OpList or OpGet; empty: both
	Power    fleet.Power
	Stop     fleet.Stop
}

func (f Misreported) strike(w *World, in *injection, _ time.Time) error {
	if _, err := w.find(f.Instance); err != nil {
		return err
	}
	w.keep(in, 0)
	return nil
}

// OtherIdentity puts another, empty provider behind the host's address: it has another identity and knows no instance.
// What it is told to build appears nowhere in this world.
type OtherIdentity struct{ Host fleet.HostName }

func (f OtherIdentity) strike(w *World, in *injection, _ time.Time) error {
	if err := w.hostExists(f.Host); err != nil {
		return err
	}
	w.keep(in, 0)
	return nil
}

// RepeatedEvents delivers each event several times (S26: five events for one failure, one heal).
type RepeatedEvents struct{ Times int }

func (f RepeatedEvents) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, 0)
	return nil
}

// LostEvents delivers no event about instances.
type LostEvents struct{}

func (f LostEvents) strike(w *World, in *injection, _ time.Time) error { //nolint:unparam // Fault's signature: others can fail
	w.keep(in, 0)
	return nil
}

// cut reports whether the client is cut from the whole provider.
func (w *World) cut(client string) bool {
	_, out := inForce(w, func(f Outage) bool { return f.Client == "" || f.Client == client })
	return out
}

// unreachable reports whether the host's control plane does not answer the client; of an empty name, whether it answers nobody.
func (w *World) unreachable(client string, host fleet.HostName) bool {
	if _, down := inForce(w, func(f HostUnreachable) bool { return f.Host == host && (f.Client == "" || f.Client == client) }); down {
		return true
	}
	if _, hangs := inForce(w, func(f HostHangs) bool { return f.Host == host }); hangs {
		return true
	}
	_, dead := inForce(w, func(f HostLosesPower) bool { return f.Host == host })
	return dead
}

// hangs reports whether a host keeps everybody waiting who asks all of them.
func (w *World) hangs() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, hangs := inForce(w, func(HostHangs) bool { return true })
	return hangs
}

// replaced reports whether another provider answers at the host's address.
func (w *World) replaced(host fleet.HostName) bool {
	_, other := inForce(w, func(f OtherIdentity) bool { return f.Host == host })
	return other
}
