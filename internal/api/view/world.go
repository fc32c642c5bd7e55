package view

import (
	"hale/api"
	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// reasonFor puts a reason into words, with advice that can be typed as it stands.
func reasonFor(r fleet.Reason, detail string, f fleet.Name, i fleet.Installation) api.Reason {
	out := Reason(r, detail)
	out.Advice = words.AdviceFor(r, f, i)
	return out
}

func older(name fleet.Name, o *belief.Older) *api.Older {
	if o == nil {
		return nil
	}
	return &api.Older{
		Machine: string(o.Machine), Instance: string(o.Instance), Host: string(o.Host),
		Generation: uint64(o.Generation), Allotted: uint64(o.Allotted), Start: string(o.Start), Since: o.Since,
		Why: reasonFor(fleet.ReasonStoreOlder, prose.Older(o), name, ""),
	}
}

func foreign(name fleet.Name, all []belief.Foreign) []api.Foreign {
	var out []api.Foreign
	for _, f := range all {
		out = append(out, api.Foreign{
			Installation: string(f.Installation), Machine: string(f.Machine), Instance: string(f.Instance),
			Host: string(f.Host), Since: f.Since,
			Why: reasonFor(fleet.ReasonInstallation, prose.Foreign(f), name, f.Installation),
		})
	}
	return out
}

// World reads the marks of the installation on the fleet's instances.
func World(f published.Fleet, by fleet.Installation) api.World {
	w := api.World{Fleet: string(f.Spec.Name), Installation: string(by), Machines: []api.Shown{}, Starts: []string{},
		Silent: []string{}}
	for i := range f.Machines {
		v := &f.Machines[i]
		s, beyond := v.Beyond(by)
		if !beyond {
			continue
		}
		m := api.Shown{
			Machine: string(v.Machine.Name), From: uint64(v.Machine.Generation),
			To: uint64(max(s.Generation, v.Machine.Generation)), Marked: s.Marked, Text: prose.Beyond(&v.Machine, s),
		}
		if s.Serves != nil {
			m.Instance, m.Host, m.Was = string(s.Serves.ID), string(s.Serves.Host), string(v.Machine.Current.ID)
		}
		for _, k := range s.Aside {
			m.Aside = append(m.Aside, string(k.ID))
		}
		w.Machines = append(w.Machines, m)
	}
	if by == f.Installation {
		for _, n := range f.Roll.Unknown {
			w.Starts = append(w.Starts, string(n.Name))
		}
	}
	for _, h := range f.Hosts {
		if !h.Up {
			w.Silent = append(w.Silent, string(h.Name))
		}
	}
	w.Plan = change.ID(w.Fleet, w.Installation, w.Machines, w.Starts, w.Silent)
	return w
}
