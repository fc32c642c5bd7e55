package repair

import (
	"slices"

	"hale/internal/core/fleet"
)

// occupied reports whether an instance with the machine's mark, beside the one that is replaced, may hold on to its
// kept disks: no two may ever write to them.
func (w *Chart) occupied() bool { return w.M.Volumes != nil && w.Rivalled() }

// Rivalled reports whether another instance with the machine's mark may run, beside its own and the one that is
// replaced; whichever installation of hale marked it.
func (w *Chart) Rivalled() bool { return w.RivalledBeside("") }

// RivalledBeside is the same for a machine that is about to have the instance.
func (w *Chart) RivalledBeside(id fleet.InstanceID) bool {
	mayRun := func(p fleet.Power) bool { return p != fleet.PowerOff && p != fleet.PowerGone }
	return slices.ContainsFunc(w.M.Strays,
		func(s fleet.Stray) bool { return s.ID != id && mayRun(w.View.Sighting(s.ID).Instance.Power) }) ||
		slices.ContainsFunc(w.View.Seen, func(s fleet.Sighting) bool {
			return s.Instance.ID != id && !w.Away(s.Instance.ID) && mayRun(s.Instance.Power) &&
				(IsStray(w.M, &s.Instance, w.Installation) || w.isForeign(&s.Instance))
		})
}

// StartsBeside reports whether the machine does not run, and another instance with its mark may: whatever sets the
// machine going would make two of it (L1).
func (w *Chart) StartsBeside() bool {
	c := w.M.Health.Cause
	return c.Stopped() && c != fleet.CauseGone && !w.M.Current.None() && w.Rivalled()
}

// isForeign reports whether another installation of hale marked the instance as this very machine's.
func (w *Chart) isForeign(i *fleet.Instance) bool {
	return i.Mark.Machine == w.M.Name && i.Mark.Installation != "" && i.Mark.Installation != w.Installation &&
		i.ID != w.M.Current.ID
}

// bind writes down where the kept disks of the instance lie that is about to be ordered, before it is.
func (w *Chart) bind(host fleet.HostName) {
	if w.M.Volumes == nil && !w.Situation.Spec.Template.HasAttached() {
		return
	}
	i := slices.IndexFunc(w.Situation.Hosts, func(h fleet.Host) bool { return h.Name == host })
	if i >= 0 {
		w.M.Volumes = w.M.Volumes.At(w.Situation.Hosts[i])
	}
}

// stands: an instance with all of its kept disks was there.
func (w *Chart) stands() { w.M.Volumes = w.M.Volumes.With(&w.Situation.Spec.Template) }

// unbind: the create surely had no effect, so that the first instance with kept disks may be built elsewhere.
func (w *Chart) unbind() {
	if w.M.Volumes.Unused() {
		w.M.Volumes = nil
	}
}

// made returns the kept disks that earlier instances had.
func (w *Chart) made() []string {
	if w.M.Volumes == nil {
		return nil
	}
	return w.M.Volumes.Made
}
