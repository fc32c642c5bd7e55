package telling

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// Jointly makes one page of those for the same reason that this round has, one reminder of those that were one
// page, and says when all that it told of is over. What is about one of the machines stays as a record, and is no
// message.
func Jointly(s *situation.Situation, d *round.Decision) (said []record.Record) {
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
	machines []*round.Decided
	records  []*record.Record // one of each machine's
}

// gather adds the machine's record to the one that it belongs to.
func gather(all []*joint, m *round.Decided, rec *record.Record, belongs func(*joint) bool) []*joint {
	at := slices.IndexFunc(all, belongs)
	if at < 0 {
		at, all = len(all), append(all, &joint{page: record.Record{
			Kind: rec.Kind, Reason: rec.Reason, Cause: rec.Cause, Joint: rec.Joint, Provider: rec.Provider,
			Host: m.Belief.Current.Host,
		}})
	}
	j := all[at]
	j.machines, j.records = append(j.machines, m), append(j.records, rec)
	if j.page.Failing++; j.page.Failing <= round.MostNamed {
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
func endJoints(s *situation.Situation, d *round.Decision) (over []record.Record) {
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
func openJoints(s *situation.Situation, d *round.Decision) (open []string) {
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
