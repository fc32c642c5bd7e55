package situation

import (
	"cmp"
	"slices"

	"hale/internal/core/fleet"
)

// Shown is what the provider shows of a machine, by the marks of one installation of hale.
type Shown struct {
	// Generation is the highest that was ever marked, as far as is seen; 0: nothing bears a mark.
	Generation fleet.Generation
	// Serves is the instance that is most likely to be the machine's: the certified one that runs, else the one that
	// runs and was built when the store knew nothing of it, else the certified one that was built last. What runs may
	// serve, certified or not, so nothing that is off takes its place. Nil: there is none.
	Serves *fleet.Instance
	// Aside are those that were replaced and put aside, and are off, in the order of their generations.
	Aside []*fleet.Instance
	// Marked is how many instances bear the machine's mark.
	Marked int
}

// Shown reads the marks of the installation in what is seen. It points into the view.
func (v *View) Shown(by fleet.Installation) Shown {
	var out Shown
	for k := range v.Seen {
		i := &v.Seen[k].Instance
		if !i.Marked(v.Machine.Name, by) {
			continue
		}
		out.Marked++
		out.Generation = max(out.Generation, i.Mark.Generation)
		switch {
		case i.Mark.Kept && i.Power == fleet.PowerOff:
			out.Aside = append(out.Aside, i)
		case !i.Mark.Kept && v.mayServe(i) && (out.Serves == nil || truer(i, out.Serves)):
			out.Serves = i
		}
	}
	slices.SortStableFunc(out.Aside, func(a, b *fleet.Instance) int {
		return cmp.Compare(a.Mark.Generation,
			b.Mark.Generation)
	})
	return out
}

// Beyond returns what is shown of the machine by the installation's marks and is not believed of it, and whether
// anything is: a higher generation, another instance that serves or the machine's own that was finished since, others
// that were put aside. It points into the view.
func (v *View) Beyond(by fleet.Installation) (Shown, bool) {
	out, m := v.Shown(by), &v.Machine
	if i := out.Serves; i != nil && i.ID == m.Current.ID && (m.Current.Certified || !i.Mark.Certified) {
		out.Serves = nil
	}
	out.Aside = slices.DeleteFunc(out.Aside, func(i *fleet.Instance) bool { return m.KeptAt(i.ID) >= 0 })
	return out, out.Generation > m.Generation || out.Serves != nil || len(out.Aside) > 0
}

// mayServe reports whether the instance may be the machine's: it is certified, or believed to be it, or runs with a
// generation that the store never gave out. An unfinished one of a generation that it did give out is a remnant.
func (v *View) mayServe(i *fleet.Instance) bool {
	unheard := i.Power == fleet.PowerRunning && i.Mark.Generation > v.Machine.Generation
	return i.Mark.Certified || i.ID == v.Machine.Current.ID || unheard
}

// truer reports whether the instance is more likely than the other to be the one that serves: it runs, is certified, or
// was built later.
func truer(i, other *fleet.Instance) bool {
	if runs := i.Power == fleet.PowerRunning; runs != (other.Power == fleet.PowerRunning) {
		return runs
	}
	if i.Mark.Certified != other.Mark.Certified {
		return i.Mark.Certified
	}
	return i.Mark.Generation > other.Mark.Generation
}
