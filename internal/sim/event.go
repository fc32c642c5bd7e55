package sim

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"hale/internal/sim/world"
)

// Event is one thing that goes wrong, or is done, at a time.
type Event struct {
	At time.Duration
	// Subject names what it happens to: a machine ("web-3"), a domain ("host h2", "rack r1", "all"), "provider",
	// "template", "store", a server ("hale-1"), or the one who acts: "operator".
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
// (world.Rows); here are those of hale itself, and of who looks after it.
type Verb = world.Verb

// What can happen to the store, and to hale as a whole.
const (
	IsFull         Verb = "is full"            // the store
	LosesLast      Verb = "loses its last"     // writes before a loss of power, which hale survives
	IsRolledBack   Verb = "is restored from"   // what it held at a time since the start, while hale does not run
	StartedTwice   Verb = "is started twice"   // by a copy of its store, beside itself
	InstalledTwice Verb = "is installed twice" // with the same file and an empty store, beside itself
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
	Heals    Verb = "heals"
	Undoes   Verb = "undoes"
	Recovers Verb = "recovers the fleet"
	Believes Verb = "recovers the fleet believing the world"
	Brakes   Verb = "puts the brake on"
	Unbrakes Verb = "takes the brake off"
	Scales   Verb = "scales to"
	Deletes  Verb = "deletes"
	Vouches  Verb = "takes for off" // a host that does not answer
)

// What an operator does to the configuration.
const (
	Resizes     Verb = "asks for a size of"
	Retemplates Verb = "asks for the image"
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
		said += " for " + span(e.For)
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
	switch kind := subjectKind(e.Subject); kind {
	case "machine":
	case "domain":
		subject, _, _ = strings.Cut(e.Subject, " ")
	case "server":
		subject = "hale"
	case "person":
		subject = person
	default:
		subject = kind
	}
	return strings.TrimSpace(subject + " " + strings.TrimPrefix(string(e.Verb), "'s "))
}

// OfMachine reports whether it happens to one machine.
func (e Event) OfMachine() bool { return subjectKind(e.Subject) == "machine" }

// OfServer reports whether it happens to one of hale's own servers.
func (e Event) OfServer() bool { return subjectKind(e.Subject) == "server" }

// act makes the event happen now, and returns what ends it, if anything does.
type act func(s *stage, e Event) (lift func(), err error)

// way is how a verb is written, and how it happens.
type way struct {
	shape
	play act
}

// ways is the table: the world's, which happen there, and those of hale and of who looks after it.
func ways() map[Verb]way {
	out := map[Verb]way{
		IsFull:         {shape{subject: "store"}, fills},
		LosesLast:      {shape{"store", "duration", true}, rollsBack(powerLoss)},
		IsRolledBack:   {shape{"store", "time", true}, rollsBack(restoration)},
		StartedTwice:   {shape{subject: "hale"}, startsTwice},
		InstalledTwice: {shape{subject: "hale"}, installsTwice},
		Dies:           {shape{subject: "server"}, onServer(dies)},
		DiesWriting:    {shape{"server", "count", true}, onServer(diesWriting)},
		Freezes:        {shape{subject: "server"}, stands(func(c *server, span time.Duration) { c.freeze(span) })},
		FreezesCall:    {shape{subject: "server"}, stands(func(c *server, span time.Duration) { c.pauseFor = span })},
		ClockSteps:     {shape{"server", "duration", true}, onServer(clockSteps)},
		LosesStore:     {shape{subject: "server"}, onServer(losesStore)},
		LosesLease:     {shape{subject: "server"}, onServer(losesLease)},
	}
	for _, r := range world.Rows() {
		out[r.Verb] = way{shape{string(r.Of), string(r.Takes), r.Must}, befalls(r.Of)}
	}
	for v := range ordered() {
		out[v] = way{shape{"operator", "wanted", true}, orders}
	}
	for _, v := range []Verb{Brakes, Unbrakes, Recovers, Believes} {
		out[v] = way{shape{subject: "operator"}, orders}
	}
	out[Scales] = way{shape{"operator", "count", true}, orders}
	out[Vouches] = way{shape{"operator", "the host", true}, orders}
	out[world.TakesHale] = way{shape{"domain", "server", true}, takesHale}
	maps.Copy(out, edits())
	return out
}

// befalls lets the world play the event, and the judge and the servers know of it.
func befalls(kind world.Kind) act {
	return func(s *stage, e Event) (func(), error) {
		after := s.judge.strikes(e, kind)
		var hale []string
		for _, c := range s.servers {
			hale = append(hale, c.name)
		}
		lift, err := s.w.Play(e.Subject, e.Verb, e.Arg, hale...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e, err)
		}
		if after != nil {
			lift = after(lift)
		}
		if ends := lift; ends != nil {
			lift = func() {
				ends()
				s.judge.truth.Over(e.Subject, e.Verb)
			}
		}
		if kind == world.OfDomain || kind == world.OfProvider {
			s.pollSoon()
		}
		return lift, nil
	}
}

// takesHale lets a domain fail together with the server that stands in it.
func takesHale(s *stage, e Event) (func(), error) {
	back, err := befalls(world.OfDomain)(s, e)
	if err != nil {
		return nil, err
	}
	e.Subject = e.Arg
	revive, err := onServer(dies)(s, e)
	return func() {
		back()
		if revive != nil { // a rival has no server
			revive()
		}
	}, err
}

// strikes has the judge know what is about to happen in the world. What it returns is to be asked afterwards: it takes
// what ends the event, and returns that with what the judge does then; nil: nothing.
func (j *judge) strikes(e Event, kind world.Kind) func(lift func()) func() {
	j.truth.Foresees(j.s.w, e.Subject, e.Verb, func(judge func()) { judge() })
	switch kind {
	case world.OfDomain, world.OfProvider:
		return j.strikesMany(e)
	case world.OfTemplate:
		return func(lift func()) func() {
			return func() {
				lift()
				j.moved, j.spoiled = true, false
			}
		}
	case world.OfPerson:
		return func(lift func()) func() {
			if lift == nil {
				j.nothingToDo(e)
			} else {
				j.nightFalls(e, e.Arg)
			}
			return lift
		}
	case world.OfMachine:
	}
	if e.Verb == world.StaysOn {
		return j.staysOn(e)
	}
	return nil
}

// strikesMany is the same of what a domain or all share.
func (j *judge) strikesMany(e Event) func(lift func()) func() {
	d, err := world.ParseDomain(e.Subject)
	if err != nil {
		d = world.Domain{Kind: "all"} // the provider's
	}
	lower := j.shared(d)
	return func(lift func()) func() {
		return func() {
			lift()
			lower()
		}
	}
}

// pollSoon lets every owner notice with its next listing what no news tell.
func (s *stage) pollSoon() {
	for _, c := range s.everybody() {
		if c.term != 0 {
			c.pollSoon()
		}
	}
}

// fills has the store take nothing.
func fills(s *stage, _ Event) (func(), error) {
	s.store.full++
	return func() { s.store.full-- }, nil
}

// stands is a server that stands still for the event's time.
func stands(still func(*server, time.Duration)) act {
	return onServer(func(_ *stage, c *server, e Event) (func(), error) {
		still(c, e.For)
		return nil, nil
	})
}

func onServer(do func(s *stage, c *server, e Event) (func(), error)) act {
	return func(s *stage, e Event) (func(), error) {
		if s.rival != nil {
			return nil, nil // it has no server that could die
		}
		for _, c := range s.servers {
			if c.name == e.Subject {
				return do(s, c, e)
			}
		}
		return nil, fmt.Errorf("%q is no hale server of this run", e.Subject)
	}
}

func dies(_ *stage, c *server, _ Event) (func(), error) {
	c.crash()
	return func() {
		if !c.alive {
			c.start()
		}
	}, nil
}

func diesWriting(_ *stage, c *server, e Event) (func(), error) {
	n, err := strconv.Atoi(e.Arg)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("dies at write %q: write which of its next writes, from 1", e.Arg)
	}
	c.crashIn = n
	return nil, nil
}

func clockSteps(_ *stage, c *server, e Event) (func(), error) {
	by, err := time.ParseDuration(e.Arg)
	if err != nil {
		return nil, err
	}
	if c.alive {
		c.stepClock(by)
	}
	return nil, nil
}

func losesStore(s *stage, c *server, _ Event) (func(), error) {
	s.store.cut[c]++
	c.rest()
	c.soon(c.lease.length, c.heat)
	return func() {
		s.store.cut[c]--
		c.renew()
	}, nil
}

func losesLease(s *stage, c *server, _ Event) (func(), error) {
	if s.store.owner != c {
		return nil, nil
	}
	s.store.owner = nil
	c.soon(c.lease.length/renewals, func() {
		if c.term != 0 && s.store.owner != c {
			c.lose()
		}
	})
	return nil, nil
}

// schedule puts an event on the calendar.
func (s *stage) schedule(e Event) {
	do := s.ways[e.Verb].play
	s.remembers(&e)
	s.w.At(e.At, func() {
		if d, err := world.ParseDomain(e.Subject); err == nil && s.w.Members(d, s.judge.isOfFleet) < e.Least {
			return
		}
		s.trace.event(s.w.Now(), &e)
		s.judge.fault(e)
		over := s.options.History.strike(&e)
		lift, err := do(s, e)
		over()
		if err != nil {
			s.judge.broken("plan", e.Subject, err.Error())
			return
		}
		if lift != nil && e.For > 0 {
			s.w.After(e.For, func() {
				s.trace.over(s.w.Now(), &e)
				over := s.options.History.strike(&e)
				lift()
				over()
			})
		}
	})
}
