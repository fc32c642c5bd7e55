package view

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/record"
	"hale/internal/core/rollout"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/explain"
	"hale/internal/prose/words"
)

// Fleet translates a fleet's status, machines and all.
func Fleet(s published.Fleet) api.Fleet {
	f := FleetAlone(s)
	f.Machines = make([]api.Machine, 0, len(s.Machines))
	for _, v := range Machines(s) {
		f.Machines = append(f.Machines, Machine(s, *v))
	}
	return f
}

// Machines yields the machines that the fleet has by its configuration, or that are still there.
func Machines(s published.Fleet) iter.Seq2[int, *situation.View] {
	return func(yield func(int, *situation.View) bool) {
		for i := range s.Machines {
			if v := &s.Machines[i]; !s.Left(&v.Machine) && !yield(i, v) {
				return
			}
		}
	}
}

// FleetAlone translates a fleet's status without its machines.
func FleetAlone(s published.Fleet) api.Fleet {
	f := api.Fleet{
		Name: string(s.Spec.Name), Mode: string(s.Spec.Mode), Size: s.Spec.Size - s.Whole.Ledger.Beside(),
		Spares: s.Whole.Ledger.Idle(), Failing: s.Tally.Failing, Suspect: s.Tally.Suspect, InRepair: s.Tally.InRepair,
		InBuild: s.Tally.InBuild,
		Acting:  s.Acting == "", NotActing: Reason(s.Acting, s.Detail),
		NotActingSince: s.Idle, FromMemory: s.FromMemory, AsOf: s.AsOf,
		Brake: Brake(s), Vantage: vantage(s), Parents: parents(s), Holds: holds(s),
		Provider: Provider(s),
		Bounds:   sizeBounds(s.Wanted.Sizing),
		Rollout:  rolloutLine(&s), Drifted: len(rollout.Drifts(s.Whole.Ledger, s.Machines, &s.Wanted)),
		Ordered: OrderedSize(s), Plans: []api.Waiting{}, Kept: kept(s),
		Hosts: make([]api.Host, 0, len(s.Hosts)),
		Messages: api.Messages{
			Waiting: s.Post.Waiting, Since: s.Post.Since, Dead: s.Post.Dead, Target: string(s.Post.Target),
			Detail: s.Post.Detail,
		},
	}
	if a := s.Spec.Adopt; a.Selects() && a.Expected != 0 && a.Expected != s.Spec.Size {
		f.Shortfall = prose.Shortfall(s.Spec.Size, a.Expected)
	}
	if p := s.Pending(); !p.Empty() {
		f.Plans = append(f.Plans, Waiting(p))
	}
	f.Older, f.Foreign = older(s.Spec.Name, s.Whole.Older), foreign(s.Spec.Name, s.Whole.Foreign)
	f.Unproven, f.Warnings = unproven(s), Warnings(s)
	if why := s.Unnoted(); why != "" {
		f.Unnoted = Reason(fleet.ReasonPlaceSilent, why)
	}
	for _, h := range s.Hosts {
		f.Hosts = append(f.Hosts, host(h))
	}
	for _, v := range Machines(s) {
		switch {
		case v.Machine.Current.Candidate():
			f.Candidates++
		case v.Machine.Health.Cause == belief.CauseSpareOff && s.Whole.Ledger.IsSpare(v.Machine.Name):
			f.Ready++ // it is started when it is needed
		case v.Machine.Health.Verdict != belief.VerdictHealthy:
		case s.Whole.Ledger.IsSpare(v.Machine.Name):
			f.Ready++
		default:
			f.Healthy++
		}
	}
	return f
}

func host(h fleet.Host) api.Host {
	return api.Host{Name: string(h.Name), Up: h.Up, Rack: h.Place.Rack, Room: h.Place.Room, Zone: h.Place.Zone,
		Storage: h.Place.Storage}
}

func unproven(s published.Fleet) []api.Unproven {
	if s.Whole.Book == nil {
		return nil
	}
	var out []api.Unproven
	for _, t := range s.Whole.Book.Checks {
		if !t.Proven() {
			out = append(out, api.Unproven{Check: string(t.Name), Edited: t.Edited, Since: t.Since, Failing: t.Told(),
				Text: prose.Unproven(t, s.Now.Wall)})
		}
	}
	return out
}

// Warnings say what does no harm in the fleet yet, and will one day.
func Warnings(s published.Fleet) []string {
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

// Unowned shows what bears the mark of hale and no fleet owns.
func Unowned(all []published.Unowned) []api.Unowned {
	out := make([]api.Unowned, 0, len(all))
	for _, u := range all {
		i := u.Instance
		v := api.Unowned{
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

// Store translates how the store does; nil: well.
func Store(s published.Store) *api.StoreTrouble {
	if s.Trouble == "" && s.Low == "" {
		return nil
	}
	return &api.StoreTrouble{Takes: s.Trouble == "", Reason: Reason(s.Trouble, ""), Detail: s.Detail, Since: s.Since,
		Low: s.Low, LowSince: s.LowAt}
}

// Reason puts a reason into words; the zero Reason for none.
func Reason(r fleet.Reason, detail string) api.Reason {
	if r == "" {
		return api.Reason{}
	}
	return api.Reason{Code: string(r), Text: words.Reason(r), Detail: detail, Advice: words.Advice(r)}
}

// Brake translates a fleet's brake.
func Brake(s published.Fleet) api.Brake {
	is, policy, t := s.Braked()
	b := api.Brake{Engaged: is.On(), Since: is.Since, Limit: guard.BrakeLimit(policy, t.Size), By: is.By,
		Reason: is.Words, Excused: is.Excused, Scope: string(is.Scope), Ends: explain.BrakeEnds(s)}
	if is.Scope != "" {
		b.Failing, b.Size = t.Failing, t.Size
	}
	if b.Since.IsZero() {
		b.Since = is.At
	}
	return b
}

func vantage(s published.Fleet) api.Vantage {
	v := api.Vantage{
		Standing: string(s.Vantage.Standing),
		Since:    wall(s.Now, s.Vantage.Since),
		Detail:   s.Vantage.Detail,
	}
	if d := s.Whole.Doubt; d.Reason != "" {
		v.Doubt, v.DoubtSince = Reason(d.Reason, ""), d.Since
	}
	return v
}

func domain(d fleet.Domain) api.Domain { return api.Domain{Kind: string(d.Kind), Name: d.Name} }

func parents(s published.Fleet) []api.Parent {
	out := make([]api.Parent, 0, len(s.Whole.Parents))
	for _, p := range s.Whole.Parents {
		v := api.Parent{
			ID: p.ID, Domain: domain(p.Domain), Opened: p.Opened, Paged: p.Paged,
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

func holds(s published.Fleet) []api.Hold {
	out := make([]api.Hold, 0, len(s.Whole.Holds))
	for _, h := range s.Whole.Holds {
		out = append(out, api.Hold{
			Name: string(h.Name), Machine: string(h.Machine), Host: string(h.Host), Only: string(h.Only), By: h.By,
			Reason: h.Reason, Given: h.Given, Until: h.Until,
		})
	}
	return out
}

// OrderedSize translates the size that people ordered; nil: the configuration's size holds.
func OrderedSize(s published.Fleet) *api.OrderedSize {
	o, asked := s.Whole.Ledger.LastWord(&s.Wanted), s.Whole.Ledger.Asked(&s.Wanted)
	if o == nil {
		return nil
	}
	return &api.OrderedSize{
		Size: asked, File: o.File, By: o.By, Reason: o.Reason, At: o.At, Order: string(o.Order),
		Text: prose.OrderedSize(o, asked, s.Now.Wall),
	}
}

func kept(s published.Fleet) []api.Kept {
	out := []api.Kept{}
	for i := range s.Machines {
		m := &s.Machines[i].Machine
		for _, k := range m.Kept {
			out = append(out, api.Kept{
				Machine: string(m.Name), Instance: string(k.ID), Generation: uint64(k.Generation), Host: string(k.Host),
				Since: k.Since, Until: k.Until, Orphan: s.Left(m),
			})
		}
	}
	return out
}

// Provider translates how a fleet's provider stands.
func Provider(s published.Fleet) api.Provider {
	p := api.Provider{Name: string(s.Spec.Provider), Standing: string(s.Provider.Standing), Detail: s.Provider.Detail,
		Since: wall(s.Now, s.Provider.Since)}
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

// held translates why a machine waits.
func held(s published.Fleet, v situation.View) api.Reason {
	why := v.Machine.Waiting
	if b := s.Brake; why == fleet.ReasonBrake && b.By != "" {
		return api.Reason{Code: string(why), Text: prose.ByHand(b.By, b.Words), Advice: prose.LetGo(s.Spec.Name)}
	}
	r := Reason(why, "")
	if why == fleet.ReasonBackoff {
		r.Text = explain.Retry(&v.Machine, s.Now)
		if i := v.Machine.Incident; i != nil {
			r.Advice = words.Advice(i.Last.Why)
		}
	}
	switch why {
	case fleet.ReasonElsewhere:
		if c := v.Machine.Elsewhere; c != nil {
			r.Detail = c.String()
		}
	case fleet.ReasonAmnesty:
		r.Detail = explain.AmnestyLeft(s)
	case fleet.ReasonBrake:
		r.Detail = explain.BrakeEnds(s)
	default:
	}
	if why == fleet.ReasonRecovering {
		r.Detail = explain.Lacking(&s, v)
	}
	return r
}

// Machine translates how a machine stands.
func Machine(s published.Fleet, v situation.View) api.Machine {
	b, h := v.Machine, v.Machine.Health
	m := api.Machine{
		Name: string(b.Name), Fleet: string(s.Spec.Name), Alias: b.Alias, Adoption: adoptionOf(b.Current),
		Verdict: string(h.Verdict),
		Cause:   string(h.Cause), Check: string(h.Check), Result: string(h.Result), Text: Verdict(v), Since: h.Since,
		Instance: string(b.Current.ID), Generation: uint64(b.Current.Generation), Certified: b.Current.Certified,
		Host: string(b.Current.Host), Waiting: held(s, v), Checks: make([]api.Check, 0, len(v.Checks)),
	}
	if left := explain.GraceLeft(&b, s.Now); left != "" {
		m.Text = left
		if why := Verdict(v); why != "" {
			m.Text = why + "; " + left
		}
	}
	if beyond := explain.MarkedBeyond(s, v); beyond != "" {
		m.Text = beyond
	}
	if b.Address.IsValid() && !b.Current.None() {
		m.Address = b.Address.String()
	}
	for k, c := range slices.Concat(v.Checks, v.Tells) {
		m.Checks = append(
			m.Checks,
			api.Check{Name: string(c.Check), Standing: string(c.Standing), Result: string(c.Result),
				Detail: c.Detail, Since: wall(s.Now, c.Since), Tells: k >= len(v.Checks)},
		)
	}
	for _, stray := range b.Strays {
		m.Strays = append(m.Strays, string(stray.ID))
	}
	if i := b.Incident; i != nil {
		m.Incident = &api.Incident{ID: i.ID, Cause: string(i.Cause), Opened: i.Opened, Paged: i.Paged, Parent: i.Parent}
		m.NeedsPerson = i.Paged
	}
	if r := b.Repair; r != nil {
		m.Repair = &api.Repair{
			ID: r.ID, Kind: string(r.Kind), Step: string(r.Step), Phase: string(r.Phase), Started: r.Started,
			Text: explain.Work(*r, s.Now),
		}
	}
	m.Leaving = s.Whole.Ledger.Removal(b.Name) != nil
	if q := b.Quarantine; q != nil {
		m.Quarantine = &api.Quarantine{Since: q.Since, Reason: Reason(q.Reason, "")}
		m.NeedsPerson = true
	}
	return m
}

func adoptionOf(i belief.Incarnation) string {
	switch {
	case !i.Adopted:
		return ""
	case i.Candidate():
		return api.AdoptionCandidate
	case i.Irreplaceable:
		return api.AdoptionKept
	}
	return api.AdoptionReplaceable
}

// Verdict says why the machine's verdict is what it is; empty when there is nothing to say.
func Verdict(v situation.View) string {
	h := v.Machine.Health
	detail := ""
	for _, c := range v.Checks {
		if c.Check == h.Check {
			detail = c.Detail
		}
	}
	finding := prose.Finding(h.Check, h.Result, detail)
	if h.Cause == belief.CauseChecks && finding != "" || words.Cause(h.Cause) == "" {
		return finding
	}
	return words.Cause(h.Cause)
}

// Event translates a record and puts it into words.
func Event(r record.Record) api.Event {
	e := api.Event{
		Seq: r.Seq, At: r.At, Fleet: string(r.Fleet), Machine: string(r.Machine), Alias: r.Alias, Kind: string(r.Kind),
		Reason: string(r.Reason), Text: prose.Sentence(r), Verdict: string(r.Verdict), Was: string(r.Was),
		Cause: string(r.Cause), Check: string(r.Check), Result: string(r.Result), Incident: r.Incident,
		Parent: r.Parent, Domain: domain(r.Domain), Repair: r.Repair, Step: string(r.Step), Op: string(r.Op),
		Call: r.Call, Began: r.Began,
		Outcome: string(r.Outcome), Proof: string(r.Proof), Instance: string(r.Instance),
		Generation: uint64(r.Generation), Host: string(r.Host), Provider: string(r.Provider), Detail: r.Detail,
		Failing: r.Failing, Size: r.Size, Limit: r.Limit, Chance: r.Chance, Took: api.Duration(r.Took),
		Order: string(r.Order), Command: string(r.Command), By: r.By, Paged: r.Paged, Target: string(r.Target),
		Message: string(r.Event), Tries: r.Tries, Thinned: r.Thinned, Braker: r.Braker, Joint: r.Joint, Again: r.Again,
	}
	for _, m := range r.Of {
		e.Of = append(e.Of, string(m.Machine))
	}
	for _, d := range r.Domains {
		e.Domains = append(e.Domains, domain(d))
	}
	if r.Address.IsValid() {
		e.Address = r.Address.String()
	}
	return e
}
