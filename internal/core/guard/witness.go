package guard

import (
	"iter"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// Silent reports whether nothing speaks against the machine but that it does not answer, while its provider says that
// it runs, on a host that answers: that is as true of one that hale cannot reach, and that serves its users.
func Silent(m *belief.Machine, v *situation.View, s *Situation) bool {
	return mute(m, v, s) && !agentDown(v, &s.Spec)
}

// mute is Silent without what the guest's agent says.
func mute(m *belief.Machine, v *situation.View, s *Situation) bool {
	if m.Current.None() || m.Health.Verdict != belief.VerdictUnhealthy || m.Health.Cause != belief.CauseChecks ||
		v == nil || strandedOn(m, s) {
		return false
	}
	return !Speaks(v) && !shunned(v, &s.Spec) && !cutApart(m.Current.Host, s)
}

// shunned reports whether nothing but load balancers finds the machine down, while hale itself hears it: that is no
// silence. A machine that hale does not hear either is as silent as any.
func shunned(v *situation.View, spec *policy.Spec) bool {
	said, hears := false, false
	for i := range v.Checks {
		if i >= len(spec.Checks) {
			break
		}
		kind, standing := spec.Checks[i].Kind, v.Checks[i].Standing
		switch {
		case standing == fleet.StandingDown && kind != policy.CheckPool:
			return false
		case standing == fleet.StandingDown:
			said = true
		case standing == fleet.StandingUp && !kind.Elsewhere():
			hears = true
		}
	}
	return said && hears
}

// cutApart reports whether the host's access is cut, as its cut method says: what is on it serves no users.
func cutApart(host fleet.HostName, s *Situation) bool {
	h := struckHost(host, s)
	return h != nil && h.Fence.Access == fleet.AccessCut
}

// Speaks reports whether one of the machine's checks is down by an answer: the machine is reached from here.
func Speaks(v *situation.View) bool {
	return slices.ContainsFunc(v.Checks, func(c fleet.CheckState) bool {
		return c.Standing == fleet.StandingDown && c.Result.Speaks()
	})
}

// agentDown reports whether the guest's agent answered, and fell silent when the machine did: it is asked by way of the
// provider, over no network. One that fell silent long before the machine, or after it, fails for itself; one that was
// never heard says nothing. Where no other check is silent, its own silence is all that there is to judge by.
func agentDown(v *situation.View, spec *policy.Spec) bool {
	var lastHeard fleet.Instant
	var within time.Duration
	silent := false
	for i := range v.Checks {
		if i >= len(spec.Checks) || spec.Checks[i].Kind.Elsewhere() ||
			v.Checks[i].Standing == fleet.StandingUp {
			continue
		}
		silent, lastHeard = true, max(lastHeard, v.Checks[i].Answered)
		within = max(within, tellsWithin(&spec.Checks[i]))
	}
	for i := range v.Checks {
		c := &v.Checks[i]
		if c.Standing != fleet.StandingDown || i >= len(spec.Checks) || spec.Checks[i].Kind != policy.CheckAgent {
			continue
		}
		apart := max(c.Answered.Sub(lastHeard), lastHeard.Sub(c.Answered))
		if !silent || c.Answered != 0 && lastHeard != 0 && apart <= max(within, tellsWithin(&spec.Checks[i])) {
			return true
		}
	}
	return false
}

// tellsWithin is how long it takes at most until the check begins to fail.
func tellsWithin(c *policy.Check) time.Duration { return c.Every + c.Timeout + c.Sight.Lag() }

// Sights is what is heard, by all fleets, neighbourhood by neighbourhood.
type Sights map[fleet.Neighbourhood]fleet.Hearing

// Add takes in what one more fleet hears in a neighbourhood.
func (s Sights) Add(h fleet.Hearing) {
	if all, known := s[h.Neighbourhood]; known {
		h = all.Join(h)
	}
	s[h.Neighbourhood] = h
}

// Hear counts what is heard of a fleet's machines where wanted says so. Machines that are off are not expected to be
// heard, nor are those in quarantine; those that a person holds are. What one answered elsewhere, before it moved, says
// nothing of the way to where it is now.
func (s Sights) Hear(
	now fleet.Now, spec *policy.Spec, views iter.Seq2[*belief.Machine, *situation.View],
	wanted func(fleet.Neighbourhood) bool,
) {
	delay, some := spec.HearsWithin()
	if !some {
		return
	}
	for m, v := range views {
		n := m.Current.Neighbourhood()
		if !wanted(n) || !mayBeHeard(m, spec) {
			continue
		}
		h := fleet.Hearing{Neighbourhood: n, Expected: 1, Delay: delay}
		if heard(v, spec) && (m.Moved == 0 || now.Due(m.Moved.Add(delay))) {
			h.Heard = 1
		}
		s.Add(h)
	}
}

func mayBeHeard(m *belief.Machine, spec *policy.Spec) bool {
	return !m.Current.None() && m.Quarantine == nil && !m.Health.Cause.Stopped() && !Surplus(m, spec)
}

// heard reports whether the machine answers, well or not. One that is silent to the quicker of two checks may still
// seem to answer the slower one.
func heard(v *situation.View, spec *policy.Spec) bool {
	answers := false
	for i := range v.Checks {
		c := &v.Checks[i]
		if i < len(spec.Checks) && spec.Checks[i].Kind.Elsewhere() {
			continue
		}
		switch c.Standing {
		case fleet.StandingUp:
			answers = true
		case fleet.StandingFailing, fleet.StandingDown:
			if !c.Result.Speaks() {
				return false
			}
			answers = true
		case fleet.StandingUnknown:
			if c.Result == fleet.ResultDependsOn {
				return false // it fails, and so does another
			}
		}
	}
	return answers
}

// noWitness says why nothing disruptive may begin on the machine's silence alone (L4). A machine in its neighbourhood
// that is heard bears witness to the way there once it has had the time to fall silent, too. A machine alone on its
// host has the host's own address for a witness; of several that are all silent, that one does not show the way to
// them.
func noWitness(m *belief.Machine, s *Situation) fleet.Reason {
	if s.Spec.Repair.Silence == policy.SilenceActs || m.Ordered(s.Now) || !Silent(m, s.View, s) {
		return ""
	}
	return unwitnessed(m, s)
}

// OnlyItsAgent reports whether nothing bears witness to the machine's silence but that its agent is silent, too. An
// agent that answers meanwhile takes that back.
func OnlyItsAgent(m *belief.Machine, s *Situation) bool {
	return s.Spec.Repair.Silence != policy.SilenceActs && !m.Ordered(s.Now) && mute(m, s.View, s) &&
		unwitnessed(m, s) != ""
}

// OnlyItsCounters reports whether nothing bears witness to the machine's silence but that its processors stand still,
// as its provider counts. Counters that move, or that cannot be read, meanwhile take that back.
func OnlyItsCounters(m *belief.Machine, s *Situation) bool {
	return slices.Contains(s.Still, m.Current.ID) && s.Spec.Repair.Silence != policy.SilenceActs && !m.Ordered(s.Now) &&
		Silent(m, s.View, s) && unheard(m, s) != ""
}

// unwitnessed says what is missing that would bear witness to the silence of the machine. While its processors stand
// still it is dead, whatever is heard near it.
func unwitnessed(m *belief.Machine, s *Situation) fleet.Reason {
	if slices.Contains(s.Still, m.Current.ID) {
		return ""
	}
	return unheard(m, s)
}

// unheard is unwitnessed by what is heard.
func unheard(m *belief.Machine, s *Situation) fleet.Reason {
	n := m.Current.Neighbourhood()
	sight := s.Sights[n]
	switch {
	case sight.Expected <= 1 && slices.Contains(s.Answers, n.Host):
	case sight.Heard == 0:
		return fleet.ReasonNoWitness
	case !s.Now.Due(WitnessedAt(m, s.View, &s.Spec, sight.Delay)):
		return fleet.ReasonUnclear
	}
	return ""
}

// BySilence reports whether what the look heard is silence alone, which is as true of the way to the machine: one that
// answers, badly, or whose processors stand still, needs no witness (L4).
func BySilence(m *belief.Machine, s *Situation, l *fleet.Look) bool {
	return s.Spec.Repair.Silence != policy.SilenceActs && !m.Ordered(s.Now) && Silent(m, s.View, s) &&
		!slices.Contains(s.Still, m.Current.ID) && len(l.Checks) > 0 && !Answers(l.Checks, &s.Spec)
}

// Answers reports whether the checks reach the machine itself, and it says anything, well or not.
func Answers(checks []fleet.CheckState, spec *policy.Spec) bool {
	return slices.ContainsFunc(checks, func(c fleet.CheckState) bool {
		i := slices.IndexFunc(spec.Checks, func(k policy.Check) bool { return k.Name == c.Check })
		return i >= 0 && !spec.Checks[i].Kind.Elsewhere() && (c.Standing == fleet.StandingUp || c.Result.Speaks())
	})
}

// MayTestify reports whether the machine is heard by its regular checks, and can say so again when it is asked.
func MayTestify(v *situation.View, spec *policy.Spec) bool {
	return mayBeHeard(&v.Machine, spec) && heard(v, spec)
}

// Unwitnessed reports whether nothing will bear witness when the machine falls silent: among all that is expected to be
// heard it is alone in its neighbourhood, and neither its host's own address nor its guest's agent can be asked.
func Unwitnessed(m *belief.Machine, spec *policy.Spec, all Sights, hosts []fleet.Host) bool {
	n := m.Current.Neighbourhood()
	if spec.Mode != policy.ModeAct || spec.Repair.Silence == policy.SilenceActs || spec.Asks(policy.CheckAgent) ||
		!mayBeHeard(m, spec) || all[n].Expected != 1 {
		return false
	}
	return !slices.ContainsFunc(hosts, func(h fleet.Host) bool { return h.Name == n.Host && h.Address.IsValid() })
}

// WitnessedAt returns when the machine's silence is older than the answer of a witness can be, which would fall silent
// within the delay.
func WitnessedAt(m *belief.Machine, v *situation.View, spec *policy.Spec, delay time.Duration) fleet.Instant {
	return silentSince(m, v, spec).Add(delay)
}

// silentSince returns when the machine fell silent at the latest: a check that is down failed as often as its policy
// demands.
func silentSince(m *belief.Machine, v *situation.View, spec *policy.Spec) fleet.Instant {
	least := time.Duration(-1)
	for i := range v.Checks {
		if v.Checks[i].Standing != fleet.StandingDown || i >= len(spec.Checks) {
			continue
		}
		c := &spec.Checks[i]
		if took := time.Duration(c.DownAfter-1) * c.Every; least < 0 || took < least {
			least = took
		}
	}
	return m.Health.SinceMono.Add(-max(least, 0))
}

// Hearsay reports whether nothing speaks against the machine but heartbeats that any other machine of the fleet can
// send in its name, since they share the token.
func Hearsay(m *belief.Machine, s *Situation) bool {
	if s.View == nil || m.Current.None() || m.Health.Cause.Stopped() {
		return false
	}
	said := false
	for _, state := range s.View.Checks {
		if state.Standing != fleet.StandingDown && state.Standing != fleet.StandingFailing {
			continue
		}
		i := slices.IndexFunc(s.Spec.Checks, func(c policy.Check) bool { return c.Name == state.Check })
		if i < 0 || !s.Spec.Checks[i].Shared() {
			return false
		}
		said = true
	}
	return said
}
