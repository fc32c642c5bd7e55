package chart

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// Occupied reports whether an instance with the machine's mark, beside the one that is replaced, may hold on to its
// kept disks: no two may ever write to them.
func (c *Chart) Occupied() bool { return c.M.Volumes != nil && c.Rivalled() }

// Rivalled reports whether another instance with the machine's mark may run, beside its own and the one that is
// replaced; whichever installation of hale marked it.
func (c *Chart) Rivalled() bool { return c.RivalledBeside("") }

// RivalledBeside is the same for a machine that is about to have the instance.
func (c *Chart) RivalledBeside(id fleet.InstanceID) bool {
	return slices.ContainsFunc(c.M.Strays,
		func(s belief.Stray) bool { return s.ID != id && mayRun(c.View.Sighting(s.ID).Instance.Power) }) ||
		slices.ContainsFunc(c.View.Seen, func(s fleet.Sighting) bool {
			return s.Instance.ID != id && c.isRival(&s.Instance)
		})
}

// Replaced reports whether the machine's own instance is gone, and another finished instance with its mark may run, or
// rests.
func (c *Chart) Replaced() bool {
	return c.isVacant() && slices.ContainsFunc(c.View.Seen, func(s fleet.Sighting) bool {
		return c.isRival(&s.Instance) && !c.IsRemnant(s.Instance)
	}) || c.DeputyRests()
}

// DeputyRests reports whether the machine's own instance is gone, and a person stopped a finished one that bears its
// mark too. They will start it again, as any machine that they stopped (L10): whatever is built meanwhile would be a
// second one then (L1). Beside an instance of the machine's own it is only what a person turned off of two.
func (c *Chart) DeputyRests() bool {
	return c.isVacant() && slices.ContainsFunc(c.M.Strays, func(s belief.Stray) bool {
		i := c.View.Sighting(s.ID).Instance
		return i.Power == fleet.PowerOff && (i.Stop == fleet.StopExternal || i.Stop == fleet.StopShutdown) &&
			!c.IsRemnant(i)
	})
}

// isVacant reports whether the machine has no instance of its own.
func (c *Chart) isVacant() bool { return c.M.Current.None() || c.M.Health.Cause == belief.CauseGone }

func mayRun(p fleet.Power) bool { return p != fleet.PowerOff && p != fleet.PowerGone }

// isRival reports whether the instance bears the machine's mark beside its own, and may run.
func (c *Chart) isRival(i *fleet.Instance) bool {
	return !c.Away(i.ID) && mayRun(i.Power) && (IsStray(c.M, i, c.Installation) || c.isForeign(i))
}

// StartsBeside reports whether the machine does not run, and another instance with its mark may: whatever sets the
// machine going would make two of it (L1).
func (c *Chart) StartsBeside() bool {
	cause := c.M.Health.Cause
	return cause.Stopped() && cause != belief.CauseGone && !c.M.Current.None() && c.Rivalled()
}

// isForeign reports whether another installation of hale marked the instance as this very machine's.
func (c *Chart) isForeign(i *fleet.Instance) bool {
	return i.Mark.Machine == c.M.Name && i.Mark.Installation != "" && i.Mark.Installation != c.Installation &&
		i.ID != c.M.Current.ID
}

// Bind writes down where the kept disks of the instance lie that is about to be ordered, before it is.
func (c *Chart) Bind(host fleet.HostName) {
	if c.M.Volumes == nil && !c.Situation.Spec.Template.HasAttached() {
		return
	}
	i := slices.IndexFunc(c.Situation.Hosts, func(h fleet.Host) bool { return h.Name == host })
	if i >= 0 {
		c.M.Volumes = c.M.Volumes.At(c.Situation.Hosts[i])
	}
}

// Stands notes that an instance with all of its kept disks was there.
func (c *Chart) Stands() { c.M.Volumes = c.M.Volumes.With(&c.Situation.Spec.Template) }

// Unbind notes that the create surely had no effect, so that the first instance with kept disks may be built elsewhere.
func (c *Chart) Unbind() {
	if c.M.Volumes.Unused() {
		c.M.Volumes = nil
	}
}

// Made returns the kept disks that earlier instances had.
func (c *Chart) Made() []string {
	if c.M.Volumes == nil {
		return nil
	}
	return c.M.Volumes.Made
}
