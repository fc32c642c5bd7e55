package replay

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/sim/chronicle"
	"hale/internal/sim/law"
	"hale/internal/sim/script"
	"hale/internal/sim/world"
)

// verdicts says what became of each incident in the simulated run.
type verdicts struct {
	plan      *plan
	h         *chronicle.History
	name      fleet.Name
	elsewhere int
}

func (v *verdicts) judge(incidents []*Incident) {
	claimed := map[int]bool{} // acts that belong to an incident
	for n, i := range incidents {
		at, ok := v.plan.of[i]
		i.Replayed = Replayed{Became: NoPlace, Acts: []string{}, Held: []string{}}
		if !ok {
			continue
		}
		e := v.plan.events[at]
		v.one(i, e, v.until(incidents[n+1:], i), claimed)
	}
	for n, a := range v.h.Acts {
		if !claimed[n] && a.Wrong == law.WrongHealthy {
			v.elsewhere++
		}
	}
}

// until is when the machine's next incident begins, or the end.
func (v *verdicts) until(later []*Incident, i *Incident) time.Duration {
	for _, next := range later {
		if at, ok := v.plan.of[next]; ok && next.Machine == i.Machine {
			return v.plan.events[at].At
		}
	}
	return v.h.End + 1
}

// one judges one incident by its event.
func (v *verdicts) one(i *Incident, e script.Event, until time.Duration, claimed map[int]bool) {
	r := &i.Replayed
	outage := v.outage(e)
	if outage == nil {
		r.Became = Covered
		return
	}
	r.Seconds, r.Paged, r.Unseen = int((outage.To - outage.From).Seconds()), outage.Paged, outage.Unseen
	for n, a := range v.h.Acts {
		if a.Machine == e.Subject && a.At >= e.At && a.At < until && a.Op != world.Certify {
			claimed[n] = true
			r.Acts = append(r.Acts, string(a.Op))
		}
	}
	v.hear(i, e, until)
	r.Became = i.became(outage.Ended == chronicle.EndedByHale)
}

// outage returns the one that the event brought about.
func (v *verdicts) outage(e script.Event) *chronicle.Outage {
	for n := range v.h.Outages {
		if o := &v.h.Outages[n]; o.Machine == e.Subject && o.From == e.At {
			return o
		}
	}
	return nil
}

// hear takes in what hale said about the machine meanwhile.
func (v *verdicts) hear(i *Incident, e script.Event, until time.Duration) {
	r := &i.Replayed
	for _, m := range v.h.Moments {
		if m.Record == nil || m.Machine != e.Subject || m.At < e.At || m.At >= until {
			continue
		}
		switch m.Record.Kind {
		case record.Paged:
			r.Paged = true
		case record.Held:
			if reason := string(m.Record.Reason); !slices.Contains(r.Held, reason) {
				r.Held = append(r.Held, reason)
			}
		default:
		}
	}
}

// became is the judgement. Of a failure, healed tells whether hale's act ended it.
func (i *Incident) became(healed bool) Became {
	acted := len(i.Replayed.Acts) > 0
	switch {
	case i.Nature != Failure && acted:
		return Wrongly
	case i.Nature != Failure:
		return LeftAlone
	case healed:
		return Healed
	case i.Replayed.Paged:
		return Paged
	}
	return Missed
}

// pages counts those about the whole.
func (v *verdicts) pages() int {
	n := 0
	for _, m := range v.h.Moments {
		if m.Record != nil && m.Machine == "" && m.Record.Kind == record.Paged &&
			(m.Record.Joint == "" || len(m.Record.Domains) > 0) {
			n++
		}
	}
	return n
}
