package decide

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// noteReboot counts the reboot of a host that took the machine along. It uses up none of the machine's attempts, so
// that hale starts it again however often that happens.
func noteReboot(r *deciding, w *work) {
	if !w.TakenAlong {
		return
	}
	was := &w.View.Machine
	began := was.Incident.Opened
	if w.M.Repair != nil { // it goes on: hale had started the machine before, and the host had been back
		began = r.S.Now.Wall.Add(-r.S.Now.Mono.Sub(was.Repair.Since))
	}
	all, host := r.Sit.Whole.Reboots, w.M.Current.Host
	at := slices.IndexFunc(all, func(h belief.HostReboots) bool { return h.Host == host })
	switch {
	case at >= 0:
		all = slices.Clone(all)
		all[at] = all[at].Take(began, r.S.Now)
	case len(all) < belief.MostRebooting:
		all = append(slices.Clip(all), belief.HostReboots{Host: host}.Take(began, r.S.Now))
	}
	r.Sit.Whole.Reboots = all
}

// tellReboots tells a person once of each host that reboots more often than a machine may fail, since hale alone would
// start its machines for ever (L8), and says when the host has stood for as long as attempts count.
func tellReboots(r *deciding) {
	policy, all := &r.S.Spec.Repair, r.Sit.Whole.Reboots
	if len(all) == 0 {
		return
	}
	r.Sit.Whole.Reboots = nil
	for _, h := range all {
		h.At = h.Lately(policy.AttemptsIn, r.S.Now)
		rec := record.Record{
			Reason: fleet.ReasonHostReboots, Host: h.Host, Took: policy.AttemptsIn, Size: len(h.At),
			Domain: fleet.Domain{Kind: fleet.DomainHost, Name: string(h.Host)},
		}
		switch {
		case len(h.At) == 0 && h.Paged:
			rec.Kind, rec.Paged = record.HostStands, true
			r.Record(rec)
		case policy.Attempts > 0 && len(h.At) > policy.Attempts && !h.Paged:
			rec.Kind, h.Paged = record.Paged, true
			r.Record(rec)
		}
		if len(h.At) > 0 {
			r.Sit.Whole.Reboots = append(r.Sit.Whole.Reboots, h)
		}
	}
}
