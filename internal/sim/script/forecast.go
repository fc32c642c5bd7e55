package script

import (
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
	"hale/internal/sim/weather"
	"hale/internal/sim/world"
)

// Kind is a kind of faults that a forecast can draw.
type Kind string

// The kinds of faults.
const (
	KindMachine   Kind = "machine"   // single machines crash, hang, lose their disk, stop serving, are slow …
	KindStorm     Kind = "storm"     // a fifth of the fleet and more at once
	KindPartition Kind = "partition" // hale's own network parts from some of the machines, or from all
	KindPower     Kind = "power"     // a host or rack loses power, together with its control plane
	// the provider is silent, refuses, loses answers, acts twice or late, lists what was
	KindProvider   Kind = "provider"
	KindController Kind = "controller" // hale crashes, also at a write, or stands still, also right before a call
	KindClock      Kind = "clock"      // hale's wall clock is stepped
	KindStore      Kind = "store"      // the store is full, or out of reach
	KindTemplate   Kind = "template"   // what is built does not come up
	KindPerson     Kind = "person"     // a person stops, pauses, moves or removes a machine
	KindDefinition Kind = "definition" // a person leaves a definition on a host, or copies one, mark and all
	// the store loses its last moments, or is restored from a backup, or started twice
	KindPast Kind = "past"
	// a host is without power for one to five minutes, and its machines are off when it is back
	KindReboot     Kind = "reboot"
	KindSeveral    Kind = "several"    // two or three hosts at once, or within five minutes
	KindGateway    Kind = "gateway"    // a gateway or switch dies, for seconds or for minutes
	KindAgent      Kind = "agent"      // the agents in guests lie, where they are asked
	KindQuarantine Kind = "quarantine" // machines that cannot be built
	KindHands      Kind = "hands"      // an operator holds, retries and takes brakes off
	// what is refused: a machine is locked, a host builds nothing or spoils it, a move ends half way, a fence is dead
	KindRefusal Kind = "refusal"
	KindHouse   Kind = "house" // a host fails together with the hale server that stands on it
	KindSize    Kind = "size"  // metrics say nothing or lie, loads jump, programs and people move a size that has bounds
	KindHook    Kind = "hook"  // hooks fail, hang, are refused or not heard of, and people give words on them
	// KindRollout has other templates go through fleets that are made for it (see Rolled).
	KindRollout Kind = "rollout"
	// KindOperator is no kind of faults: an operator gives orders. It is drawn from a stream of its own, so that all
	// else stays as it is.
	KindOperator Kind = "operator"
)

// Kinds lists all kinds of faults.
func Kinds() []Kind {
	return slices.DeleteFunc(streams(), func(k Kind) bool { return k == KindOperator })
}

// streams are the kinds in the order of their streams of chance: who comes new is last, so that all else stays as it
// is.
func streams() []Kind {
	return []Kind{KindMachine, KindStorm, KindPartition, KindPower, KindProvider, KindController, KindClock, KindStore,
		KindTemplate, KindPerson,
		KindOperator, KindDefinition, KindPast, KindReboot, KindSeveral, KindGateway, KindAgent, KindQuarantine,
		KindHands, KindRefusal, KindHouse, KindSize, KindHook, KindRollout}
}

// ParseKinds reads a list as "storm,partition"; "all" means every kind.
func ParseKinds(text string) ([]Kind, error) {
	if text == "all" {
		return Kinds(), nil
	}
	var out []Kind
	for word := range strings.SplitSeq(text, ",") {
		k := Kind(strings.TrimSpace(word))
		if !slices.Contains(Kinds(), k) {
			return nil, fmt.Errorf("there is no kind of faults %q: choose among %s, or all", k,
				strings.Join(kindNames(), ", "))
		}
		out = append(out, k)
	}
	return out, nil
}

func kindNames() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, string(k))
	}
	return out
}

// Forecast says what a drawn plan is like.
type Forecast struct {
	Seed    uint64
	Kinds   []Kind
	Horizon time.Duration
	// MachineGap is the mean time between two faults of one machine. Default 10 days.
	MachineGap time.Duration
	// Gap scales the mean times between all other faults; 1 is as they are in rates. Default 1.
	Gap float64
}

// rates are the mean times between two faults of each kind, for the installation as a whole: much more often than
// anybody should see them.
func rates() map[Kind]time.Duration {
	const day = 24 * time.Hour
	return map[Kind]time.Duration{
		KindStorm: 10 * day, KindPartition: 4 * day, KindPower: 10 * day, KindProvider: 2 * day,
		KindController: day / 2,
		KindClock:      3 * day, KindStore: 5 * day, KindTemplate: 10 * day, KindPerson: day,
		KindOperator: day / 3, KindDefinition: 2 * day, KindPast: 4 * day,
		KindReboot: 2 * day, KindSeveral: 5 * day, KindGateway: 3 * day, KindAgent: 3 * day, KindQuarantine: 8 * day,
		KindHands: 2 * day, KindRefusal: 2 * day, KindHouse: 6 * day,
		KindSize: day / 3, KindHook: day / 3, KindRollout: day,
	}
}

// Draw makes a plan for a fleet on hosts. Gaps are Weibull with the shape of Grid'5000's failures, so they come in
// clusters; equal forecasts give equal plans.
func (f Forecast) Draw(spec policy.Spec, hosts []world.Host, servers int) []Event {
	f.MachineGap = cmp.Or(f.MachineGap, 10*24*time.Hour)
	f.Gap = cmp.Or(f.Gap, 1)
	if spec.Sizing != nil {
		spec.Size = spec.Sizing.Max // whichever of them there are then
	}
	spec.Size += spec.Spares.Count
	d := drawing{Forecast: f, spec: spec, hosts: hosts, servers: max(servers, 1)}
	for i, k := range streams() {
		if !slices.Contains(f.Kinds, k) {
			continue
		}
		d.random = rand.New(rand.NewPCG(f.Seed, uint64(i)+1))
		if k == KindMachine {
			d.machines(i)
			continue
		}
		for at := range d.instants(i, 0, time.Duration(float64(rates()[k])*f.Gap)) {
			d.strike(k, at)
		}
	}
	slices.SortStableFunc(d.plan, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return d.plan
}

// drawing is a plan in the making.
type drawing struct {
	Forecast
	spec    policy.Spec
	hosts   []world.Host
	servers int
	random  *rand.Rand
	plan    []Event
}

// instants are the times at which something happens to the member of a kind, with that mean gap.
func (d *drawing) instants(kind, member int, mean time.Duration) iter.Seq[time.Duration] {
	// Grid'5000: the most bursty of those with short gaps
	fit := weather.Fits()[0]
	return fit.Scaled(mean).Process(d.Seed+uint64(kind)<<32).Instants(member, d.Horizon) //nolint:gosec // a small index
}

func (d *drawing) add(at time.Duration, subject string, verb Verb, arg string, lasts time.Duration) {
	d.plan = append(d.plan, Event{At: at, Subject: subject, Verb: verb, Arg: arg, For: lasts})
}

func (d *drawing) lasting(least, most time.Duration) time.Duration {
	return least + time.Duration(d.random.Int64N(int64(most-least)))
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (d *drawing) machines(kind int) {
	for n := 1; n <= d.spec.Size; n++ {
		name := string(d.spec.Name.Machine(n))
		for at := range d.instants(kind, n, d.MachineGap) {
			d.ail(at, name)
		}
	}
}

// ail draws what goes wrong with one machine.
func (d *drawing) ail(at time.Duration, name string) {
	switch d.random.IntN(16) {
	case 0, 1, 2, 3:
		d.add(at, name, verbs.Crashes, "", 0)
	case 4, 5, 6:
		d.add(at, name, verbs.Hangs, "", 0)
	case 7, 8:
		d.add(at, name, pick(d.random, verbs.StopsApp, verbs.Fails503), "", 0)
	case 9, 10:
		d.add(at, name, verbs.LosesDisk, "", 0)
	case 11:
		d.add(at, name, pick(d.random, verbs.Panics, verbs.ShutsDown), "", 0)
	case 12:
		d.add(at, name, verbs.LosesNet, "", 0)
	case 13: // it lives, and its checks fail for a while
		d.add(at, name, verbs.IsSlow, "", d.lasting(5*time.Second, 2*time.Minute))
	case 14:
		d.add(at, name, verbs.LosesProbes, pick(d.random, "1%", "3%"), d.lasting(time.Minute, time.Hour))
	case 15:
		d.add(at, name, verbs.Vanishes, "", 0)
	}
}

// strike draws one fault of the kind.
func (d *drawing) strike(k Kind, at time.Duration) {
	switch k {
	case KindStorm:
		d.storm(at)
	case KindPartition:
		d.partition(at)
	case KindPower:
		d.add(at, d.domain(), verbs.LosesPower, "", d.lasting(time.Minute, time.Hour))
	case KindProvider:
		d.provider(at)
	case KindController:
		d.controller(at)
	case KindClock:
		d.add(at, d.server(), ClockSteps, pick(d.random, "1h", "-1h", "5s", "-30s", "720h"), 0)
	case KindStore:
		if d.random.IntN(2) == 0 {
			d.add(at, "store", IsFull, "", d.lasting(time.Second, 30*time.Minute))
		} else {
			d.add(at, d.server(), LosesStore, "", d.lasting(time.Second, 10*time.Minute))
		}
	case KindTemplate:
		d.add(at, "template", verbs.IsBad, "", d.lasting(time.Minute, 3*time.Hour))
	case KindPerson:
		d.person(at)
	case KindOperator:
		d.operator(at)
	case KindDefinition:
		d.definition(at)
	case KindPast:
		d.past(at)
	case KindMachine: // drawn machine by machine
	default:
		d.night(k, at)
	}
}

func (d *drawing) machine() string {
	return string(d.spec.Name.Machine(1 + d.random.IntN(d.spec.Size)))
}

func (d *drawing) server() string { return "hale-" + strconv.Itoa(1+d.random.IntN(d.servers)) }

// domain draws one of the domains that the hosts lie in.
func (d *drawing) domain() string {
	h := pick(d.random, d.hosts...)
	choices := []string{"host " + h.Name}
	for _, c := range []struct{ kind, name string }{{"rack", h.Rack}, {"room", h.Room}, {"zone", h.Zone},
		{"network", h.Network}} {
		if c.name != "" {
			choices = append(choices, c.kind+" "+c.name)
		}
	}
	return pick(d.random, choices...)
}

// storm lets between a fifth and a half of the machines fail within minutes.
func (d *drawing) storm(at time.Duration) {
	share := 20 + d.random.IntN(31)
	d.hit(at, max(d.spec.Size*share/100, 1), d.lasting(time.Second, 5*time.Minute))
}

// hit lets machines fail within the spread.
func (d *drawing) hit(at time.Duration, machines int, spread time.Duration) {
	for _, n := range d.random.Perm(d.spec.Size)[:machines] {
		moment := at + time.Duration(d.random.Int64N(int64(spread)))
		verb := pick(d.random, verbs.Crashes, verbs.Crashes, verbs.Crashes, verbs.Hangs, verbs.StopsApp)
		d.add(moment, string(d.spec.Name.Machine(n+1)), verb, "", 0)
	}
}

// partition parts hale from machines that are well.
func (d *drawing) partition(at time.Duration) {
	subject := "all"
	if d.random.IntN(4) > 0 {
		subject = d.domain()
	}
	if subject != "all" && d.random.IntN(4) == 0 {
		d.add(at, subject, verbs.IsParted, "", d.lasting(10*time.Second, time.Hour))
	} else {
		d.add(at, subject, verbs.IsOutOfSight, d.server(), d.lasting(10*time.Second, time.Hour))
	}
	if d.spec.Repair.Silence == policy.SilenceActs {
		// One or two machines out of sight look exactly as if they were dead, and the policy takes them to be.
		d.plan[len(d.plan)-1].Least = min(3, d.spec.Size)
	}
}

func (d *drawing) provider(at time.Duration) {
	lasts := d.lasting(10*time.Second, time.Hour)
	switch d.random.IntN(8) {
	case 0:
		d.add(at, "provider", verbs.IsSilent, "", lasts)
	case 1:
		d.add(at, d.domain(), verbs.GoesDark, "", lasts)
	case 2:
		d.add(at, "provider", verbs.FailsCalls, pick(d.random, "10%", "50%"), lasts)
	case 3:
		d.add(at, "provider", verbs.LosesAnswers, pick(d.random, "10%", "50%"), lasts)
	case 4:
		d.add(at, "provider", verbs.ActsTwice, "50%", lasts)
	case 5:
		d.add(at, "provider", verbs.ActsLate, pick(d.random, "10%", "50%"), lasts)
	case 6:
		d.add(at, "provider", verbs.ListsStale, pick(d.random, "30s", "2m"), lasts)
	case 7:
		d.add(at, "provider", pick(d.random, verbs.Throttles, verbs.ListsNothing), "", lasts)
	}
}

func (d *drawing) controller(at time.Duration) {
	switch d.random.IntN(4) {
	case 0:
		d.add(at, d.server(), Dies, "", d.lasting(time.Second, 5*time.Minute))
	case 1:
		d.add(at, d.server(), DiesWriting, strconv.Itoa(1+d.random.IntN(20)), 0)
	case 2:
		d.add(at, d.server(), Freezes, "", d.lasting(time.Second, 2*time.Minute))
	case 3:
		d.add(at, d.server(), FreezesCall, "", d.lasting(time.Second, 2*time.Minute))
	}
}

func (d *drawing) person(at time.Duration) {
	name := d.machine()
	switch d.random.IntN(5) {
	case 0, 1:
		d.add(at, name, verbs.IsStopped, "", d.lasting(time.Minute, 2*time.Hour))
	case 2:
		d.add(at, name, verbs.IsPaused, "", d.lasting(time.Minute, time.Hour))
	case 3:
		d.add(at, name, verbs.Readdressed, "", 0)
	case 4:
		d.add(at, name, verbs.Moves, pick(d.random, d.hosts...).Name, 0)
	}
}

// definition draws what a person leaves on a host, or copies. Every other time the machine fails meanwhile, or is just
// being built.
func (d *drawing) definition(at time.Duration) {
	name, lasts := d.machine(), d.lasting(10*time.Minute, 12*time.Hour)
	soon, later := at+d.lasting(20*time.Second, 2*time.Minute), at+d.lasting(time.Minute, 2*time.Hour)
	switch d.random.IntN(6) {
	case 0, 1:
		d.add(at, name, verbs.StaysOn, pick(d.random, d.hosts...).Name, lasts)
	case 2:
		d.add(at, name, verbs.StaysOn, pick(d.random, d.hosts...).Name, lasts)
		d.ail(later, name)
	case 3:
		host := pick(d.random, d.hosts...).Name
		d.add(at, name, verbs.StaysOn, host, lasts)
		d.add(at+d.lasting(time.Second, 10*time.Minute), "host "+pick(d.random, d.hosts...).Name, verbs.GoesDark, "",
			d.lasting(time.Minute, time.Hour))
		d.ail(later, name)
	case 4:
		d.add(at, person, verbs.Copies, name, lasts)
		d.ail(later, name)
	case 5:
		d.add(at, name, verbs.Vanishes, "", 0)
		d.add(soon, person, verbs.Copies, name, lasts)
	}
}

// past draws what brings the past back: most often when something was just done that the past does not know.
func (d *drawing) past(at time.Duration) {
	name := d.machine()
	soon := at + d.lasting(time.Second, time.Minute)
	last := d.lasting(100*time.Millisecond, 2*time.Second).Round(time.Millisecond).String()
	switch d.random.IntN(6) {
	case 0:
		d.add(at, "store", LosesLast, last, 0)
	case 1, 2:
		d.add(at, name, verbs.Vanishes, "", 0)
		d.add(soon, "store", LosesLast, last, 0)
	case 3, 4:
		if back := at - d.lasting(time.Minute, 3*24*time.Hour); back > 0 {
			d.add(at, "store", IsRolledBack, back.Round(time.Second).String(), 0)
		}
	case 5:
		d.add(at, "hale", StartedTwice, "", d.lasting(10*time.Minute, 6*time.Hour))
		d.ail(at+d.lasting(time.Minute, 10*time.Minute), name)
	}
}

// Storm is a plan in which so many machines, chosen by the seed, fail within the spread.
func Storm(spec policy.Spec, at time.Duration, machines int, spread time.Duration, seed uint64) []Event {
	d := drawing{spec: spec, random: rand.New(rand.NewPCG(seed, 0))}
	d.hit(at, min(machines, spec.Size), spread)
	return d.plan
}

// Merge puts plans together, in the order of time.
func Merge(plans ...[]Event) []Event {
	all := slices.Concat(plans...)
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// fewest is how many machines an operator of a fleet that has as many leaves it: from one vantage, fewer cannot be told
// from a dead network (docs/safety.md).
const fewest = 3

// Operator draws what an operator orders. Whatever they take away they give back some time later: the brake, holds, and
// the size.
func (d *drawing) operator(at time.Duration) {
	later := at + d.lasting(time.Minute, 6*time.Hour)
	back := later + d.lasting(time.Minute, 12*time.Hour)
	size := func(n int) string { return strconv.Itoa(max(min(fewest, d.spec.Size), n)) }
	switch d.random.IntN(12) {
	case 0, 1:
		d.add(at, Operator, Holds, d.held(), d.lasting(time.Minute, 2*time.Hour))
	case 2:
		d.add(at, Operator, Releases, d.machine(), 0)
	case 3:
		d.add(at, Operator, Brakes, "", 0)
		d.add(later, Operator, Unbrakes, "", 0)
	case 4, 5:
		d.add(at, Operator, pick(d.random, Heals, Heals, Retries, Undoes), d.machine(), 0)
	case 6, 7:
		d.add(at, Operator, Scales, size(d.spec.Size+d.random.IntN(4)), 0)
	case 8, 9:
		d.add(at, Operator, Scales, size(d.spec.Size-1-d.random.IntN(max(1, d.spec.Size/4))), 0)
		d.add(at+d.lasting(time.Second, time.Hour), Operator, Confirms, "", 0)
		d.add(back, Operator, Scales, size(d.spec.Size), 0)
	case 10, 11:
		if d.spec.Size < 2*fewest { // first there must be some to spare
			d.add(at, Operator, Scales, size(d.spec.Size+fewest), 0)
		}
		d.add(at+d.lasting(time.Second, 20*time.Minute), Operator, Deletes, d.machine(), 0)
		d.add(back, Operator, Scales, size(d.spec.Size), 0)
	}
}

// held draws what an operator holds: of a small fleet a machine or all, since the others mean nothing when a host's are
// held.
func (d *drawing) held() string {
	choices := []string{d.machine(), string(d.spec.Name)}
	if d.spec.Size > fewest {
		choices = append(choices, "host "+pick(d.random, d.hosts...).Name)
	}
	return pick(d.random, choices...)
}
