// Package guest is what runs inside a simulated instance: whether it has booted, what ails it, what cures that, and
// what a probe hears of it, or of its agent, that reaches it.
//
// It knows nothing of power, hosts, networks and providers: package world does, and says when a guest boots.
package guest

import (
	"slices"
	"time"
)

// Guest is the inside of an instance. The zero value has not booted, and is well.
type Guest struct {
	Booted bool
	ills   []*illness
}

// illness is one thing that keeps a machine from serving.
type illness struct {
	Ailment
	inborn bool // and its first boot is still to come
}

// Ills are what ails it, in the order in which it came.
func (g *Guest) Ills() []Ailment {
	out := make([]Ailment, len(g.ills))
	for i, ill := range g.ills {
		out[i] = ill.Ailment
	}
	return out
}

// Ails reports whether it has the symptom.
func (g *Guest) Ails(s Symptom) bool {
	return slices.ContainsFunc(g.ills, func(i *illness) bool { return i.Symptom == s })
}

// Sicken gives it an ailment; the returned function ends that, and reports whether nothing else had.
func (g *Guest) Sicken(a Ailment) (cure func() bool) {
	i := &illness{Ailment: a}
	g.ills = append(g.ills, i)
	return func() bool {
		ill := slices.Contains(g.ills, i)
		if ill {
			g.ills = slices.DeleteFunc(g.ills, func(o *illness) bool { return o == i })
		}
		return ill
	}
}

// Spoil gives it an ailment from birth, which its first boot does not cure.
func (g *Guest) Spoil(a Ailment) { g.ills = append(g.ills, &illness{Ailment: a, inborn: true}) }

// Heal ends all that ails it.
func (g *Guest) Heal() { g.ills = nil }

// Configure applies its configuration again, and reports whether that cured anything.
func (g *Guest) Configure() bool {
	n := len(g.ills)
	g.ills = slices.DeleteFunc(g.ills, func(i *illness) bool { return i.Cure == ByCommand })
	return len(g.ills) < n
}

// Boot lets it begin to boot, with a fresh mind: what a reset cures is cured.
func (g *Guest) Boot() {
	g.ills = slices.DeleteFunc(g.ills, func(i *illness) bool {
		cured := !i.inborn && !i.lasting()
		i.inborn = false
		return cured
	})
	g.Booted = false
}

// Delay is by how much its boots take longer.
func (g *Guest) Delay() time.Duration {
	var all time.Duration
	for _, i := range g.ills {
		all += i.Delay
	}
	return all
}

// NeedsAnew reports whether nothing but another disk or instance makes it well.
func (g *Guest) NeedsAnew() bool {
	return slices.ContainsFunc(g.ills, func(i *illness) bool { return i.lasting() && i.Cure != ByCommand })
}

// NeedsConfig reports whether its configuration must be applied again, or it be made anew.
func (g *Guest) NeedsConfig() bool {
	return slices.ContainsFunc(g.ills, func(i *illness) bool { return i.Cure == ByCommand })
}

// Harmed reports whether something ails it that keeps it from serving.
func (g *Guest) Harmed() bool {
	return slices.ContainsFunc(g.ills, func(i *illness) bool {
		return i.Symptom != Lossy && i.Symptom != AgentMute && i.Symptom != AgentLies
	})
}

// Pings reports whether it would answer a ping from next door.
func (g *Guest) Pings() bool {
	return g.Booted && !g.Hangs() && !g.Ails(Unplugged) && !g.Ails(Slow) && !g.Ails(NoAddress)
}

// Works reports whether it serves, where it answers pings.
func (g *Guest) Works() bool {
	return !g.Ails(AppDead) && !g.Ails(AppError) && !g.Ails(AppHangs) && !g.Ails(BadPage) && !g.Ails(CheckFails)
}

// AnswersAgent reports whether the agent inside answers: as long as the guest lives, whatever its network does.
func (g *Guest) AnswersAgent() bool {
	return (g.Listens() && !g.Ails(Slow) || g.Ails(AgentLies)) && !g.Ails(AgentMute)
}

// Listens reports whether the guest does what its power button says.
func (g *Guest) Listens() bool { return g.Booted && !g.Hangs() && !g.Ails(NoBoot) }

// Hangs reports whether the guest does nothing any more, spinning or not.
func (g *Guest) Hangs() bool { return g.Ails(Hung) || g.Ails(Halted) }

// Heard is what is heard of its own troubles, whatever way it is asked.
func (g *Guest) Heard() Hears { return Hears{ills: g.ills} }

// Hear tells what probes hear, where it answers pings.
func (g *Guest) Hear() Hears {
	h := Hears{Ping: Well, TCP: Well, HTTP: Well, Loss: g.loss(), ills: g.ills}
	switch {
	case g.Ails(AppDead):
		h.TCP, h.HTTP = Refused, Refused
	case g.Ails(AppHangs):
		h.HTTP = Silence
	case g.Ails(AppError):
		h.HTTP, h.Status = Status5, g.status()
	case g.Ails(BadPage):
		h.HTTP = WrongPage
	}
	return h
}

func (g *Guest) loss() float64 {
	var most float64
	for _, i := range g.ills {
		if i.Symptom == Lossy {
			most = max(most, i.Share)
		}
	}
	return most
}

// status is the code that it answers requests with.
func (g *Guest) status() int {
	for _, i := range g.ills {
		if i.Symptom == AppError && i.Status != 0 {
			return i.Status
		}
	}
	return 503
}
