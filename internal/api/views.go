package api

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/engine"
	"hale/internal/prose"
)

// viewFleet translates a fleet's status.
func viewFleet(s engine.FleetStatus) Fleet {
	f := Fleet{
		Name: string(s.Spec.Name), Mode: string(s.Spec.Mode), Size: s.Spec.Size,
		Failing: s.Tally.Failing, Suspect: s.Tally.Suspect, InRepair: s.Tally.InRepair, InBuild: s.Tally.InBuild,
		Acting: s.Acting == "", NotActing: ViewReason(s.Acting, s.Detail),
		NotActingSince: s.Idle, FromMemory: s.FromMemory, AsOf: s.AsOf,
		Brake: ViewBrake(s), Vantage: viewVantage(s), Parents: viewParents(s), Holds: viewHolds(s),
		Provider: ViewProvider(s),
		Ordered:  ViewOrderedSize(s), Plans: []Waiting{}, Kept: viewKept(s),
		Hosts: make([]Host, 0, len(s.Hosts)), Machines: make([]Machine, 0, len(s.Machines)),
		Messages: Messages{
			Waiting: s.Post.Waiting, Since: s.Post.Since, Dead: s.Post.Dead, Target: string(s.Post.Target),
			Detail: s.Post.Detail,
		},
	}
	if a := s.Spec.Adopt; a.Selects() && a.Expected != 0 && a.Expected != s.Spec.Size {
		f.Shortfall = prose.Shortfall(s.Spec.Size, a.Expected)
	}
	if p := s.Pending(); !p.Empty() {
		f.Plans = append(f.Plans, ViewWaiting(p))
	}
	f.Older, f.Foreign = viewOlder(s.Spec.Name, s.Whole.Older), viewForeign(s.Spec.Name, s.Whole.Foreign)
	f.Unproven, f.Warnings = viewUnproven(s), ViewWarnings(s)
	if why := s.Unnoted(); why != "" {
		f.Unnoted = ViewReason(fleet.ReasonPlaceSilent, why)
	}
	for _, h := range s.Hosts {
		f.Hosts = append(f.Hosts, Host{Name: string(h.Name), Up: h.Up,
			Rack: h.Place.Rack, Room: h.Place.Room, Zone: h.Place.Zone, Storage: h.Place.Storage})
	}
	for _, v := range s.Machines {
		if left(&s.Spec, &v.Machine) {
			continue
		}
		m := viewMachine(s, v)
		switch {
		case v.Machine.Current.Candidate():
			f.Candidates++
		case m.Verdict == string(fleet.VerdictHealthy):
			f.Healthy++
		}
		f.Machines = append(f.Machines, m)
	}
	return f
}

func viewUnproven(s engine.FleetStatus) []Unproven {
	if s.Whole.Book == nil {
		return nil
	}
	var out []Unproven
	for _, t := range s.Whole.Book.Checks {
		if !t.Proven() {
			out = append(out, Unproven{Check: string(t.Name), Edited: t.Edited, Since: t.Since, Failing: t.Told(),
				Text: prose.Unproven(t, s.At.Wall)})
		}
	}
	return out
}

// ViewWarnings say what does no harm in the fleet yet, and will one day.
func ViewWarnings(s engine.FleetStatus) []string {
	var names []string
	for i := range s.Machines {
		v := &s.Machines[i]
		if c := v.Machine.Current; c.Adopted && v.Sighting(c.ID).Instance.Transient {
			names = append(names, cmp.Or(v.Machine.Alias, string(v.Machine.Name)))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{prose.Transient(names)}
}

func viewUnowned(all []engine.Unowned) []Unowned {
	out := make([]Unowned, 0, len(all))
	for _, u := range all {
		i := u.Instance
		v := Unowned{
			Provider: string(u.Provider), Name: i.Name, Instance: string(i.ID), Host: string(i.Host),
			Power: string(i.Power), Fleet: string(i.Mark.Fleet), Machine: string(i.Mark.Machine),
			Generation: uint64(i.Mark.Generation), Since: u.Since,
		}
		if u.Foreign {
			v.Installation = string(i.Mark.Installation)
		}
		out = append(out, v)
	}
	return out
}

// viewStore translates how the store does; nil: well.
func viewStore(s engine.StoreStatus) *StoreTrouble {
	if s.Trouble == "" && s.Low == "" {
		return nil
	}
	return &StoreTrouble{Takes: s.Trouble == "", Reason: ViewReason(s.Trouble, ""), Detail: s.Detail, Since: s.Since,
		Low: s.Low, LowSince: s.LowAt}
}

// ViewReason puts a reason into words; the zero Reason for none.
func ViewReason(r fleet.Reason, detail string) Reason {
	if r == "" {
		return Reason{}
	}
	return Reason{Code: string(r), Text: prose.Reason(r), Detail: detail, Advice: prose.Advice(r)}
}

// ViewBrake translates a fleet's brake.
func ViewBrake(s engine.FleetStatus) Brake {
	is, policy, t := s.Braked()
	b := Brake{Engaged: is.On(), Since: is.Since, Limit: guard.BrakeLimit(policy, t.Size), By: is.By,
		Reason: is.Words, Excused: is.Excused, Scope: string(is.Scope), Ends: prose.BrakeEnds(s)}
	if is.Scope != "" {
		b.Failing, b.Size = t.Failing, t.Size
	}
	if b.Since.IsZero() {
		b.Since = is.At
	}
	return b
}

func viewVantage(s engine.FleetStatus) Vantage {
	v := Vantage{Standing: string(s.Vantage.Standing), Since: wall(s.At, s.Vantage.Since), Detail: s.Vantage.Detail}
	if d := s.Whole.Doubt; d.Reason != "" {
		v.Doubt, v.DoubtSince = ViewReason(d.Reason, ""), d.Since
	}
	return v
}

func viewDomain(d fleet.Domain) Domain { return Domain{Kind: string(d.Kind), Name: d.Name} }

func viewParents(s engine.FleetStatus) []Parent {
	out := make([]Parent, 0, len(s.Whole.Parents))
	for _, p := range s.Whole.Parents {
		v := Parent{
			ID: p.ID, Domain: viewDomain(p.Domain), Opened: p.Opened, Paged: p.Paged,
			Then: string(s.Spec.SharedFate.Then), Failing: p.Failing, Members: p.Members, Chance: p.Chance,
			Children: []string{}, Text: prose.Parent(p),
		}
		for _, m := range s.Machines {
			if i := m.Machine.Incident; i != nil && i.Parent == p.ID {
				v.Children = append(v.Children, string(m.Machine.Name))
			}
		}
		out = append(out, v)
	}
	return out
}

func viewHolds(s engine.FleetStatus) []Hold {
	out := make([]Hold, 0, len(s.Whole.Holds))
	for _, h := range s.Whole.Holds {
		out = append(out, Hold{
			Machine: string(h.Machine), Host: string(h.Host), By: h.By, Reason: h.Reason, Given: h.Given,
			Until: h.Until,
		})
	}
	return out
}

// ViewOrderedSize translates the size that people ordered; nil: the configuration's size holds.
func ViewOrderedSize(s engine.FleetStatus) *OrderedSize {
	l := s.Whole.Ledger
	asked := l.Asked(&s.Wanted)
	if asked == s.Wanted.Size || s.Wanted.Adopt.Selects() {
		return nil
	}
	o := l.Ordered
	return &OrderedSize{
		Size: asked, File: o.File, By: o.By, Reason: o.Reason, At: o.At, Order: string(o.Order),
		Text: prose.OrderedSize(o, asked, s.At.Wall),
	}
}

func viewKept(s engine.FleetStatus) []Kept {
	out := []Kept{}
	for i := range s.Machines {
		m := &s.Machines[i].Machine
		for _, k := range m.Kept {
			out = append(out, Kept{
				Machine: string(m.Name), Instance: string(k.ID), Generation: uint64(k.Generation), Host: string(k.Host),
				Since: k.Since, Until: k.Until, Orphan: left(&s.Spec, m),
			})
		}
	}
	return out
}

// ViewProvider translates how a fleet's provider stands.
func ViewProvider(s engine.FleetStatus) Provider {
	p := Provider{Name: string(s.Spec.Provider), Standing: string(s.Provider.Standing), Detail: s.Provider.Detail,
		Since: wall(s.At, s.Provider.Since)}
	if p.Standing == "" {
		p.Standing = string(fleet.ProviderUnknown)
	}
	return p
}

// wall turns a moment of the owner's clock into wall time; zero when it is not set.
func wall(now fleet.Now, at fleet.Instant) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return now.Wall.Add(at.Sub(now.Mono))
}

// viewHeld translates why a machine waits.
func viewHeld(s engine.FleetStatus, v fleet.View) Reason {
	why := v.Machine.Waiting
	if b := s.Brake; why == fleet.ReasonBrake && b.By != "" {
		return Reason{Code: string(why), Text: prose.ByHand(b.By, b.Words), Advice: prose.LetGo(s.Spec.Name)}
	}
	r := ViewReason(why, "")
	if why == fleet.ReasonBackoff {
		r.Text = prose.Retry(&v.Machine, s.At)
		if i := v.Machine.Incident; i != nil {
			r.Advice = prose.Advice(i.Last.Why)
		}
	}
	switch why {
	case fleet.ReasonElsewhere:
		if c := v.Machine.Elsewhere; c != nil {
			r.Detail = c.String()
		}
	case fleet.ReasonAmnesty:
		r.Detail = prose.AmnestyLeft(s)
	case fleet.ReasonBrake:
		r.Detail = prose.BrakeEnds(s)
	default:
	}
	if why == fleet.ReasonRecovering {
		r.Detail = prose.Lacking(&s, v)
	}
	return r
}

func viewMachine(s engine.FleetStatus, v fleet.View) Machine {
	b, h := v.Machine, v.Machine.Health
	m := Machine{
		Name: string(b.Name), Alias: b.Alias, Adoption: adoptionOf(b.Current), Verdict: string(h.Verdict),
		Cause: string(h.Cause), Check: string(h.Check), Result: string(h.Result), Text: VerdictText(v), Since: h.Since,
		Instance: string(b.Current.ID), Generation: uint64(b.Current.Generation), Certified: b.Current.Certified,
		Host: string(b.Current.Host), Waiting: viewHeld(s, v), Checks: make([]Check, 0, len(v.Checks)),
	}
	if left := prose.GraceLeft(&b, s.At); left != "" {
		m.Text = left
		if why := VerdictText(v); why != "" {
			m.Text = why + "; " + left
		}
	}
	if beyond := prose.MarkedBeyond(s, v); beyond != "" {
		m.Text = beyond
	}
	if b.Address.IsValid() && !b.Current.None() {
		m.Address = b.Address.String()
	}
	for k, c := range slices.Concat(v.Checks, v.Tells) {
		m.Checks = append(m.Checks, Check{Name: string(c.Check), Standing: string(c.Standing), Result: string(c.Result),
			Detail: c.Detail, Since: wall(s.At, c.Since), Tells: k >= len(v.Checks)})
	}
	for _, stray := range b.Strays {
		m.Strays = append(m.Strays, string(stray.ID))
	}
	if i := b.Incident; i != nil {
		m.Incident = &Incident{ID: i.ID, Cause: string(i.Cause), Opened: i.Opened, Paged: i.Paged, Parent: i.Parent}
		m.NeedsPerson = i.Paged
	}
	if r := b.Repair; r != nil {
		m.Repair = &Repair{
			ID: r.ID, Kind: string(r.Kind), Step: string(r.Step), Phase: string(r.Phase), Started: r.Started,
			Text: prose.Work(*r, s.At),
		}
	}
	m.Leaving = s.Whole.Ledger.Removal(b.Name) != nil
	if q := b.Quarantine; q != nil {
		m.Quarantine = &Quarantine{Since: q.Since, Reason: ViewReason(q.Reason, "")}
		m.NeedsPerson = true
	}
	return m
}

// What an instance that hale did not build is to hale.
const (
	AdoptionCandidate   = "candidate"   // it is watched, and not touched
	AdoptionKept        = "kept"        // it is looked after, and never destroyed
	AdoptionReplaceable = "replaceable" // it may be replaced
)

func adoptionOf(i fleet.Incarnation) string {
	switch {
	case !i.Adopted:
		return ""
	case i.Candidate():
		return AdoptionCandidate
	case i.Irreplaceable:
		return AdoptionKept
	}
	return AdoptionReplaceable
}

// VerdictText says why the machine's verdict is what it is; empty when there is nothing to say.
func VerdictText(v fleet.View) string {
	h := v.Machine.Health
	detail := ""
	for _, c := range v.Checks {
		if c.Check == h.Check {
			detail = c.Detail
		}
	}
	finding := prose.Finding(h.Check, h.Result, detail)
	if h.Cause == fleet.CauseChecks && finding != "" || prose.Cause(h.Cause) == "" {
		return finding
	}
	return prose.Cause(h.Cause)
}

// ViewEvent translates a record and puts it into words.
func ViewEvent(r fleet.Record) Event {
	e := Event{
		Seq: r.Seq, At: r.At, Fleet: string(r.Fleet), Machine: string(r.Machine), Alias: r.Alias, Kind: string(r.Kind),
		Reason: string(r.Reason), Text: prose.Sentence(r), Verdict: string(r.Verdict), Was: string(r.Was),
		Cause: string(r.Cause), Check: string(r.Check), Result: string(r.Result), Incident: r.Incident,
		Parent: r.Parent, Domain: viewDomain(r.Domain), Repair: r.Repair, Step: string(r.Step), Op: string(r.Op),
		Outcome: string(r.Outcome), Proof: string(r.Proof), Instance: string(r.Instance),
		Generation: uint64(r.Generation), Host: string(r.Host), Provider: string(r.Provider), Detail: r.Detail,
		Failing: r.Failing, Size: r.Size, Limit: r.Limit, Chance: r.Chance, TookNS: int64(r.Took),
		Order: string(r.Order), Command: string(r.Command), By: r.By, Paged: r.Paged, Target: string(r.Target),
		Message: string(r.Event), Tries: r.Tries, Thinned: r.Thinned, Braker: r.Braker, Joint: r.Joint, Again: r.Again,
	}
	for _, m := range r.Of {
		e.Of = append(e.Of, string(m.Machine))
	}
	for _, d := range r.Domains {
		e.Domains = append(e.Domains, viewDomain(d))
	}
	if r.Address.IsValid() {
		e.Address = r.Address.String()
	}
	return e
}

// left reports whether the machine has gone by a person's order: nothing is there, and nothing is to be.
func left(spec *fleet.Spec, m *fleet.Machine) bool {
	return guard.Surplus(m, spec) && m.Current.None() && m.Repair == nil && len(m.Strays) == 0
}
