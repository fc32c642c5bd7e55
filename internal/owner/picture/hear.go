package picture

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Edge is a change of one check's standing, or of the reason behind it.
type Edge struct {
	Machine  fleet.MachineName
	Check    fleet.CheckName
	Epoch    uint64 // the aim's
	Standing fleet.Standing
	Result   fleet.ResultReason
	Detail   string
	Since    fleet.Instant // when the result behind it was known
}

// Hear takes in an edge. While deaf, and about unknown machines or another aim than the present one, it is ignored, and
// what a check found before it was edited is, too.
func (p *Picture) Hear(e Edge) {
	i, ok := p.byName[e.Machine]
	if !ok || p.deaf || e.Epoch == 0 || p.aims[i].Epoch != e.Epoch || e.Since < p.made[e.Check] {
		return
	}
	v := &p.views[i]
	for _, states := range [...][]fleet.CheckState{v.Checks, v.Tells} {
		for k := range states {
			if states[k].Check == e.Check {
				e.enter(&states[k])
				p.dirty = true
				p.due(i)
			}
		}
	}
}

// enter brings what is known of the check up to date.
func (e *Edge) enter(c *fleet.CheckState) {
	if c.Standing == fleet.StandingUp && e.Standing != c.Standing {
		c.Answered = e.Since
	}
	if c.Standing != e.Standing {
		c.Since = e.Since
	}
	c.Standing, c.Result, c.Detail = e.Standing, e.Result, e.Detail
}

// Deafen says that the probes are not to be believed, as when their watermark is stale: what the checks said counts
// no more, and what they say counts not until Listen.
func (p *Picture) Deafen(why fleet.ResultReason) {
	p.deaf, p.dirty = true, true
	p.forgetChecks(why)
}

// Deaf reports whether the probes are not to be believed.
func (p *Picture) Deaf() bool { return p.deaf }

// Listen ends the deafness. Everything is judged afresh (L9): tell every check's standing again, since edges were
// lost meanwhile.
func (p *Picture) Listen(now fleet.Now) {
	p.deaf, p.dirty = false, true
	p.is.SteadyAt = max(p.is.SteadyAt, now.Mono.Add(guard.SettleTime(p.is.Spec)))
}

func (p *Picture) forgetChecks(why fleet.ResultReason) {
	for i := range p.views {
		p.due(i)
		forget(&p.views[i], why)
	}
}

// forget takes back what the checks say. When one of them that is up will cease to be so is not known from then on;
// when one ceased that is not up stays true.
func forget(v *situation.View, why fleet.ResultReason) {
	for _, states := range [...][]fleet.CheckState{v.Checks, v.Tells} {
		for k := range states {
			c := &states[k]
			if c.Standing == fleet.StandingUp {
				c.Answered = 0
			}
			c.Standing, c.Result, c.Detail = fleet.StandingUnknown, why, ""
		}
	}
}

// TellLook takes in a look that ended. What it saw at the provider counts as any other sighting.
func (p *Picture) TellLook(i int, l fleet.Look) {
	if l.Seen.Asked != 0 {
		l.Seen.Instance = p.catalogue.joined(l.Seen.Instance)
		p.Sight(i, l.Seen)
		p.doubtAnswers(i, &l)
	}
	p.views[i].Look, p.dirty = &l, true
	p.due(i)
}

// Ask says that the machine is asked on demand from now on.
func (p *Picture) Ask(i int, now fleet.Now) { p.views[i].Asking = now.Mono }

// TellAsked takes in what came of it: nothing, of a machine that cannot be asked now.
func (p *Picture) TellAsked(i int, checks []fleet.CheckState) {
	v := &p.views[i]
	down := slices.ContainsFunc(checks, func(c fleet.CheckState) bool { return c.Standing == fleet.StandingDown })
	heard := guard.Answers(checks, &p.is.Spec)
	v.Asked, v.Asking, p.dirty = situation.Asked{At: v.Asking, Down: down, Heard: heard}, 0, true
	p.inVain = slices.DeleteFunc(slices.Clone(p.inVain), func(n int) bool { return n == i })
	if down {
		p.inVain = append(p.inVain, i)
	}
}

// doubtAnswers takes back what the look heard at an address that another running instance has, too: that
// may have answered.
func (p *Picture) doubtAnswers(i int, l *fleet.Look) {
	rival := p.rivalAt(l.Seen.Instance.Address, p.views[i].Machine.Current.ID)
	if rival == "" {
		return
	}
	for k := range l.Checks {
		s := &l.Checks[k]
		n := slices.IndexFunc(p.is.Spec.Checks, func(c policy.Check) bool { return c.Name == s.Check })
		if n >= 0 && p.is.Spec.Checks[n].Reaches() {
			s.Standing, s.Result, s.Detail = fleet.StandingUnknown, fleet.ResultSharedAddress, string(rival)
		}
	}
}

// TellOutcome takes in how a call ended.
func (p *Picture) TellOutcome(i int, o fleet.Outcome) {
	p.views[i].Outcome, p.dirty = &o, true
	p.due(i)
}

// TellGathered takes in what evidence was kept.
func (p *Picture) TellGathered(i int, g situation.Gathered) {
	p.views[i].Gathered, p.dirty = &g, true
	p.due(i)
}
