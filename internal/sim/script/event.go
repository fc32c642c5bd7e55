package script

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"hale/internal/sim/verbs"
)

// Event is one thing that goes wrong, or is done, at a time.
type Event struct {
	At time.Duration
	// Subject names what it happens to: a machine ("web-3"), a domain ("host h2", "rack r1", "all"), "provider",
	// "template", "store", "balancer", a server ("hale-1"), or the one who acts: "operator".
	Subject string
	Verb    Verb
	// Arg is the verb's object, where it takes one: "hale-1", "h2", "1h", "5 %".
	Arg string
	For time.Duration // after which it ends by itself; zero: it does not
	// Least lets it happen only if so many of the machines of the subject serve then: a plan that was drawn keeps to
	// what can be told apart.
	Least int
}

// Verb is what happens. What befalls machines, domains, the provider and what is built are the world's own verbs
// (verbs.Rows); here are those of hale itself, and of who looks after it.
type Verb = verbs.Verb

// What can happen to the store, and to hale as a whole.
const (
	IsFull         Verb = "is full"            // the store
	LosesLast      Verb = "loses its last"     // writes before a loss of power, which hale survives
	IsRolledBack   Verb = "is restored from"   // what it held at a time since the start, while hale does not run
	StartedTwice   Verb = "is started twice"   // by a copy of its store, beside itself
	InstalledTwice Verb = "is installed twice" // with the same file and an empty store, beside itself
)

// What can happen to the load balancers that the fleet is behind.
const (
	FallsSilent Verb = "falls silent"          // it answers nothing, and goes on as it was told
	ForgetsPool Verb = "forgets its members"   // in a restart
	KeepsUsers  Verb = "keeps its connections" // none of them ends
	CannotSet   Verb = "cannot change members" // it is told to, and fails
)

// OtherFleet begins the name of another fleet, which comes before this one.
const OtherFleet = "fleet "

// What can happen to a fleet that comes first.
const (
	ServesNot Verb = "does not serve"
	IsUnheard Verb = "is not heard of"
)

// What can happen to a server.
const (
	Dies        Verb = "dies"
	DiesWriting Verb = "dies at write"
	Freezes     Verb = "freezes"
	FreezesCall Verb = "freezes before a call"
	ClockSteps  Verb = "has its clock stepped by"
	LosesStore  Verb = "loses the store"
	LosesLease  Verb = "loses its lease" // in the store; it hears of it when it wants to renew it
)

// What an operator can order. The object is what it is about: a machine, "host h1", or the fleet.
const (
	Holds    Verb = "holds"
	Releases Verb = "releases"
	Retries  Verb = "retries"
	SaysDone Verb = "says done of" // the hook of a machine that waits for a word
	SaysMore Verb = "says more of"
	SaysFail Verb = "says fail of"
	Approves Verb = "approves" // the step that a machine's repair asks about
	Denies   Verb = "denies"
	Heals    Verb = "heals"
	Undoes   Verb = "undoes"
	Replaces Verb = "replaces"
	Starts   Verb = "starts"
	Stops    Verb = "stops"
	Reboots  Verb = "reboots"
	Migrates Verb = "migrates"
	Reverts  Verb = "reverts"
	Marks    Verb = "marks" // as unhealthy
	Unmarks  Verb = "takes the mark off"
	Cancels  Verb = "takes back the last order to"
	Recovers Verb = "recovers the fleet"
	Believes Verb = "recovers the fleet believing the world"
	Brakes   Verb = "puts the brake on"
	Unbrakes Verb = "takes the brake off"
	Scales   Verb = "scales to" // and with an end, pins the size until then
	ScalesBy Verb = "scales by"
	Deletes  Verb = "deletes"
	Vouches  Verb = "takes for off" // a host that does not answer

	PausesRollout  Verb = "pauses the rollout"
	ResumesRollout Verb = "resumes the rollout"
	UndoesRollout  Verb = "undoes the rollout"
	MendsDrift     Verb = "has what differs built anew"
)

// Signals is what a program can order, which knows nothing of the fleet.
const Signals Verb = "signals"

// What an operator does to the configuration.
const (
	Resizes     Verb = "asks for a size of"
	Retemplates Verb = "asks for the image"
	Remembers   Verb = "asks for a memory of" // in MiB
	Labels      Verb = "asks for the metadata"
	Confirms    Verb = "confirms what waits"
	Mistypes    Verb = "mistypes the port of check" // in the configuration; where it ends, it is put right
)

// String returns the event as scenario files write it.
func (e Event) String() string {
	said := e.Subject + join(e.Verb) + string(e.Verb)
	if e.Arg != "" {
		said += " " + e.Arg
	}
	if e.For != 0 {
		said += " for " + Span(e.For)
	}
	if e.Least != 0 {
		said += least + strconv.Itoa(e.Least)
	}
	return said
}

// join is what stands between the subject and the verb: "web-2's definition" is one word.
func join(v Verb) string {
	if strings.HasPrefix(string(v), "'") {
		return ""
	}
	return " "
}

// Class returns what happened, without the subject's name: "crashes", "rack loses power", "provider lists what was",
// "hale dies".
func (e Event) Class() string {
	subject := ""
	switch kind := SubjectKind(e.Subject); kind {
	case "machine":
	case "domain":
		subject, _, _ = strings.Cut(e.Subject, " ")
	case "server":
		subject = "hale"
	case "person":
		subject = person
	case program:
		subject = "a " + program
	default:
		subject = kind
	}
	return strings.TrimSpace(subject + " " + strings.TrimPrefix(string(e.Verb), "'s "))
}

// OfMachine reports whether it happens to one machine.
func (e Event) OfMachine() bool { return SubjectKind(e.Subject) == "machine" }

// OfServer reports whether it happens to one of hale's own servers.
func (e Event) OfServer() bool { return SubjectKind(e.Subject) == "server" }

// shapes is the table of what can happen, and how it is written: the world's, and what happens to hale and by those who
// look after it.
func shapes() map[Verb]shape {
	out := map[Verb]shape{
		IsFull:         {subject: "store"},
		LosesLast:      {"store", "duration", true},
		IsRolledBack:   {"store", "time", true},
		StartedTwice:   {subject: "hale"},
		InstalledTwice: {subject: "hale"},
		Dies:           {subject: "server"},
		DiesWriting:    {"server", "count", true},
		Freezes:        {subject: "server"},
		FreezesCall:    {subject: "server"},
		ClockSteps:     {"server", "duration", true},
		LosesStore:     {subject: "server"},
		LosesLease:     {subject: "server"},
		FallsSilent:    {subject: "balancer"},
		ForgetsPool:    {subject: "balancer"},
		KeepsUsers:     {subject: "balancer"},
		CannotSet:      {subject: "balancer"},
		ServesNot:      {subject: "fleet"},
		IsUnheard:      {subject: "fleet"},
	}
	for _, r := range verbs.Rows() {
		out[r.Verb] = shape{string(r.Of), string(r.Takes), r.Must}
	}
	for v := range ordered() {
		out[v] = shape{"operator", "wanted", true}
	}
	for _, v := range []Verb{Brakes, Unbrakes, Recovers, Believes, PausesRollout, ResumesRollout, UndoesRollout,
		MendsDrift} {
		out[v] = shape{subject: "operator"}
	}
	out[Scales] = shape{"operator", "count", true}
	out[ScalesBy] = shape{"operator", "change", true}
	out[Signals] = shape{program, "change", true}
	out[Vouches] = shape{"operator", "the host", true}
	out[verbs.TakesHale] = shape{"domain", "server", true}
	maps.Copy(out, edits())
	return out
}

// edits are the verbs by which an operator changes the configuration, or confirms what waits.
func edits() map[Verb]shape {
	return map[Verb]shape{
		Resizes:     {"operator", "bounds", true},
		Retemplates: {"operator", "image", true},
		Remembers:   {"operator", "MiB", true},
		Labels:      {"operator", "text", true},
		Confirms:    {subject: "operator"},
		Mistypes:    {"operator", "check", true},
	}
}

// NightVerbs are what can make two instances of one: the score tells of each how its nights ended.
func NightVerbs() []Verb {
	return []Verb{verbs.StaysOn, verbs.Copies, LosesLast, IsRolledBack, StartedTwice, InstalledTwice}
}

// Edits reports whether it changes the configuration, or confirms what waits.
func (e Event) Edits() bool {
	_, edits := edits()[e.Verb]
	return edits
}

// Since returns when the store held what the event brings back, and whether the event is one that does.
func (e *Event) Since() (at time.Duration, is bool) {
	d, _ := time.ParseDuration(e.Arg) // it was checked when it was read
	switch e.Verb {
	case LosesLast:
		return max(e.At-d, 0), true
	case IsRolledBack:
		return d, true
	default:
		return 0, false
	}
}

// Span writes a duration exactly, and as people do: 1h30m, not 1h30m0s.
func Span(d time.Duration) string {
	said := d.String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(said, nothing) {
			said = said[:len(said)-2]
		}
	}
	return said
}
