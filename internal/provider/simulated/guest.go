package simulated

import (
	"net/netip"
	"slices"
	"time"

	"hale/internal/fleet"
)

// memory is how far back the world can list what it was.
const memory = 10 * time.Minute

// guest is one virtual machine. Its fields are guarded by World.mu.
type guest struct {
	id   fleet.InstanceID
	host fleet.HostName
	name string
	state
	network string
	// metadata is what it bears, for those who ask.
	metadata fleet.Metadata
	tags     fleet.Tags
	conns    map[*conn]struct{} // open to it
	past     []state            // what it was, oldest first, the present included
	life     *life
	disks    []*Disk // kept ones that are attached to it
	shelf    []*Disk // those that it gave up when it was put aside
	writes   bool    // it is among its machine's copies
	// transient: nothing defines it, and it is gone once it is off.
	transient bool
}

// state is what changes about a guest. The ills are replaced, never changed in place.
type state struct {
	at        time.Time // since when it is so
	power     fleet.Power
	stop      fleet.Stop
	mark      fleet.Mark
	address   netip.Addr
	addressAt time.Time // when the provider learns the address of this boot
	bootsAt   time.Time // when this boot is complete
	ills      []Illness
	severed   bool // nobody reaches it (CutOff)
}

// on reports whether the guest can do work, at once or when resumed: what law L1 counts.
func (s state) on() bool { return s.power == fleet.PowerRunning || s.power == fleet.PowerPaused }

func (s state) has(symptom Symptom) bool {
	return slices.ContainsFunc(s.ills, func(i Illness) bool { return i.Symptom == symptom })
}

// reachable reports whether the network gets to the guest's kernel.
func (s state) reachable(now time.Time) bool {
	return s.lives(now) && !s.severed && !s.has(NoAddress) && !s.has(NoNetwork)
}

// healthy is the truth that a perfect observer would tell.
func (s state) healthy(now time.Time) bool {
	return s.works(now) && !s.has(WrongPage) && !s.has(CheckFails)
}

// works reports whether it answers requests as it should, as far as that is not the affair of a single check.
func (s state) works(now time.Time) bool {
	return s.reachable(now) && !s.has(NoHTTP) && !s.has(HTTPStatus) && !s.has(HTTPHangs)
}

// fails reports whether it fails the check, although others may succeed.
func (s state) fails(check fleet.CheckName) bool {
	return slices.ContainsFunc(s.ills, func(i Illness) bool { return i.Symptom == CheckFails && i.Check == check })
}

// served returns for how long the guest has been healthy without a break, as far back as the world remembers; 0: it is not.
func (g *guest) served(now time.Time) time.Duration {
	since, until := now, now
	for _, s := range slices.Backward(g.past) {
		if !s.healthy(until) {
			break
		}
		since = s.at
		if s.bootsAt.After(s.at) {
			since = s.bootsAt
			break
		}
		until = s.at
	}
	return now.Sub(since)
}

// bears is the guest's mark as it counts.
func (g *guest) bears() fleet.Mark { return g.mark.Of(g.id) }

// report is what the provider says about the guest in the state, at a time when it was so.
func (g *guest) report(s state, now time.Time) fleet.Instance {
	i := fleet.Instance{ID: g.id, Name: g.name, Host: g.host, Network: g.network, Power: s.power, Stop: s.stop,
		Mark: s.mark.Of(g.id), Metadata: g.metadata, Tags: g.tags, Transient: g.transient}
	if s.on() && !now.Before(s.addressAt) && !s.has(NoAddress) {
		i.Address = s.address
	}
	return i
}

// remember notes the present state for later listings of the past.
func (g *guest) remember(now time.Time) {
	g.at = now
	g.past = append(g.past, g.state)
	forget := 0
	for forget < len(g.past)-1 && now.Sub(g.past[forget+1].at) > memory {
		forget++
	}
	g.past = slices.Delete(g.past, 0, forget)
}

// last returns the newest remembered state.
func (g *guest) last() state { return g.past[len(g.past)-1] }

// stateAt returns what the guest was at the time, and whether it existed.
func (g *guest) stateAt(at time.Time) (state, bool) {
	for _, s := range slices.Backward(g.past) {
		if !s.at.After(at) {
			return s, s.power != fleet.PowerGone
		}
	}
	return state{}, false
}

// setPower changes the truth about power, and nothing else.
func (w *World) setPower(g *guest, now time.Time, power fleet.Power, stop fleet.Stop) {
	was := g.on()
	g.power, g.stop = power, stop
	if g.on() != was {
		w.count(g, now)
	}
	if power != fleet.PowerRunning {
		g.silence()
	}
	g.remember(now)
	w.tell(g)
	if g.transient && power == fleet.PowerOff {
		w.remove(g, now)
	}
}

// powerOn begins a boot. Ills that a reboot cures are gone.
func (w *World) powerOn(g *guest, now time.Time) {
	g.silence()
	g.ills = slices.DeleteFunc(slices.Clone(g.ills), func(i Illness) bool { return i.Cure == ByReboot })
	g.schedule(now, w.options)
	g.life.Boots++
	g.life.DiskBoots++
	w.setPower(g, now, fleet.PowerRunning, fleet.StopUnknown)
}

// schedule sets when the boot that begins now will be through.
func (g *guest) schedule(now time.Time, o Options) {
	boot, address := o.Boot, o.AddressAfter
	for _, ill := range g.ills {
		if ill.Symptom == BootsSlowly {
			boot += ill.Delay
			address += ill.Delay
		}
	}
	g.bootsAt, g.addressAt = now.Add(boot), now.Add(address)
}

// fallIll adds the illness.
func (w *World) fallIll(g *guest, now time.Time, ill Illness) {
	g.ills = append(slices.Clone(g.ills), ill)
	switch {
	case !g.reachable(now):
		g.silence()
	case ill.Symptom == NoHTTP:
		g.hangUp()
	}
	g.remember(now)
}

// recover ends the illness that the injection brought.
func (w *World) recover(g *guest, from *injection, now time.Time) {
	g.ills = slices.DeleteFunc(slices.Clone(g.ills), func(i Illness) bool { return i.from == from })
	g.remember(now)
}

// silence ends the guest's side of all connections without a word to the other side, as a machine that lost power does.
func (g *guest) silence() {
	for c := range g.conns {
		c.abandon()
	}
	clear(g.conns)
}

// hangUp closes all connections, as a kernel does when the serving process ends.
func (g *guest) hangUp() {
	for c := range g.conns {
		_ = c.Close() // a pipe's Close cannot fail
	}
	clear(g.conns)
}
