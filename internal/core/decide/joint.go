package decide

import (
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// mostNamed is how many machines a page about several names; the others are only counted.
const mostNamed = 10

// patience is why a person is told of a machine if nothing else happens, when, and how long all of that time is.
type patience struct {
	why   fleet.Reason
	until fleet.Instant
	all   time.Duration
}

// patiences are those that hale can have with a machine.
var patiences = [...]func(*belief.Machine, *policy.Spec, fleet.Now) (patience, bool){withHeld, withStopped, withUnknown}

// withHeld is the patience with a machine that is held because no host answers that is needed (L8). Whatever else holds
// a machine for long is told of for itself: the brake, a doubt, a parent incident, the provider.
func withHeld(m *belief.Machine, spec *policy.Spec, now fleet.Now) (patience, bool) {
	i := m.Incident
	if i == nil || i.Paged && !i.ToldOfHost() || i.Parent != "" || !unreachable(m.Waiting) {
		return patience{}, false
	}
	return patience{m.Waiting, now.At(i.Lasts().Add(spec.BlindAfter)), spec.BlindAfter}, true
}

// withStopped is the patience with a machine that a person stopped.
func withStopped(m *belief.Machine, spec *policy.Spec, now fleet.Now) (patience, bool) {
	i := m.Incident
	if i == nil || i.HoldUntil.IsZero() || i.Paged || m.Repair != nil {
		return patience{}, false
	}
	return patience{fleet.ReasonHoldExpired, now.At(i.HoldUntil), holdTime(m, spec)}, true
}

// withUnknown is the patience with a machine while nothing is known of it.
func withUnknown(m *belief.Machine, spec *policy.Spec, _ fleet.Now) (patience, bool) {
	if m.Health.Verdict != belief.VerdictUnknown || m.Health.Muted() || !untold(m) || m.Current.None() ||
		m.Repair != nil && !m.Repair.Aside() {
		return patience{}, false
	}
	return patience{fleet.ReasonBlind, m.Health.SinceMono.Add(spec.BlindAfter), spec.BlindAfter}, true
}

// losePatience finds for which reasons a person is told of a machine in this round, since its time is over.
func losePatience(s *situation.Situation, sit *guard.Situation, telling []fleet.Reason) []fleet.Reason {
	for _, i := range s.Open {
		m := &s.Machines[i].Machine
		for _, with := range patiences {
			p, ok := with(m, &s.Spec, s.Now)
			if !ok || !s.Now.Due(p.until) || slices.Contains(telling, p.why) || guard.HoldOn(m, sit) != nil ||
				p.why == fleet.ReasonBlind && sit.Whole.Doubt.Reason != "" {
				continue
			}
			telling = append(telling, p.why)
		}
	}
	return telling
}

// isOver reports whether the time is over; or nearly so, while another machine's for the same reason is: what one hand
// did to forty machines within a minute is one page.
func (p patience) isOver(telling []fleet.Reason, now fleet.Now) bool {
	return now.Due(p.until) || slices.Contains(telling, p.why) && now.Due(p.until.Add(-min(round.PagePause, p.all/5)))
}

// lost reports whether a person is to be told of the machine now.
func lost(w *work, with func(*belief.Machine, *policy.Spec, fleet.Now) (patience, bool)) bool {
	p, ok := with(w.M, &w.Situation.Spec, w.Situation.Now)
	return ok && p.isOver(w.telling, w.Situation.Now)
}

// isLost reports whether hale has lost its patience with a machine, for whichever reason, so that a person is told.
func isLost(m *belief.Machine, s *situation.Situation, telling []fleet.Reason) bool {
	for _, with := range patiences {
		if p, ok := with(m, &s.Spec, s.Now); ok && p.isOver(telling, s.Now) {
			return true
		}
	}
	return false
}

// tellJointly makes one page of those for the same reason that this round has, one reminder of those that were one
// page, and says when all that it told of is over. What is about one of the machines stays as a record, and is no
// message.
func tellJointly(s *situation.Situation, d *Decision) (said []record.Record) {
	var pages, reminders []*joint
	for i := range d.Machines {
		m := &d.Machines[i]
		for k := range m.Records {
			switch rec := &m.Records[k]; {
			case rec.Kind == record.Paged && isPageOf(m.Belief.Incident, rec):
				pages = gather(pages, m, rec, func(j *joint) bool { return j.page.Reason == rec.Reason })
			case rec.Kind == record.Reminded && rec.Joined():
				reminders = gather(reminders, m, rec, func(j *joint) bool { return j.page.Joint == rec.Joint })
			}
		}
	}
	for _, j := range pages {
		if len(j.records) > 1 {
			j.name(round.NextJoint(s.Spec.Name, &d.Whole))
			said = append(said, j.page)
		}
	}
	for _, j := range reminders {
		said = append(said, j.page)
	}
	return append(said, endJoints(s, d)...)
}

// isPageOf reports whether the record is the page of the incident, and not of something else that concerns the machine.
func isPageOf(i *belief.Incident, rec *record.Record) bool {
	return i != nil && i.Paged && i.Joint == "" && i.For == rec.Reason && i.Told.Equal(rec.At) && rec.Detail == ""
}

// joint is a page, or a reminder, about several machines.
type joint struct {
	page     record.Record
	machines []*Machine
	records  []*record.Record // one of each machine's
}

// gather adds the machine's record to the one that it belongs to.
func gather(all []*joint, m *Machine, rec *record.Record, belongs func(*joint) bool) []*joint {
	at := slices.IndexFunc(all, belongs)
	if at < 0 {
		at, all = len(all), append(all, &joint{page: record.Record{
			Kind: rec.Kind, Reason: rec.Reason, Cause: rec.Cause, Joint: rec.Joint, Provider: rec.Provider,
			Host: m.Belief.Current.Host,
		}})
	}
	j := all[at]
	j.machines, j.records = append(j.machines, m), append(j.records, rec)
	if j.page.Failing++; j.page.Failing <= mostNamed {
		j.page.Of = append(j.page.Of, belief.Member{Machine: rec.Machine, Alias: rec.Alias})
	}
	if j.page.Cause != rec.Cause {
		j.page.Cause = ""
	}
	if j.page.Host != m.Belief.Current.Host {
		j.page.Host = "" // they share no host
	}
	j.page.Took = max(j.page.Took, rec.Took)
	return all
}

// name gives the page its name, by which its reminders and its end are known.
func (j *joint) name(id string) {
	j.page.Joint = id
	for k, m := range j.machines {
		j.records[k].Joint, m.Belief.Incident.Joint = id, id
	}
}

// endJoints says that what a page told of several machines is over, when it is so of the last of them: be it that it is
// well, or that a person is told something else of it from now on.
func endJoints(s *situation.Situation, d *Decision) (over []record.Record) {
	for i := range d.Machines {
		m := &d.Machines[i]
		was, is := s.Machines[m.Index].Machine.Incident, m.Belief.Incident
		if was == nil || was.Joint == "" || is != nil && is.Joint == was.Joint {
			continue
		}
		at := slices.IndexFunc(over, func(rec record.Record) bool { return rec.Joint == was.Joint })
		if at < 0 {
			at = len(over)
			over = append(over, record.Record{
				Kind: record.JointOver, Reason: was.For, Joint: was.Joint, Paged: true,
			})
		}
		over[at].Took = max(over[at].Took, s.Now.Wall.Sub(was.Opened))
	}
	if len(over) == 0 {
		return nil
	}
	open := openJoints(s, d)
	return slices.DeleteFunc(over, func(rec record.Record) bool { return slices.Contains(open, rec.Joint) })
}

// openJoints returns the messages about several machines that still hold of one of them, when the round is over.
func openJoints(s *situation.Situation, d *Decision) (open []string) {
	changed := make(map[int]bool, len(d.Machines))
	note := func(m *belief.Machine) {
		if m.Incident != nil && m.Incident.Joint != "" {
			open = append(open, m.Incident.Joint)
		}
		for _, w := range m.Warned {
			if w.Joint != "" {
				open = append(open, w.Joint)
			}
		}
	}
	for i := range d.Machines {
		changed[d.Machines[i].Index] = true
		note(&d.Machines[i].Belief)
	}
	for i := range s.Machines {
		if !changed[i] {
			note(&s.Machines[i].Machine)
		}
	}
	slices.Sort(open)
	return slices.Compact(open)
}
