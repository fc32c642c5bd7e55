package decide

import (
	"iter"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/guard"
	"hale/internal/core/situation"
)

// sights returns what is heard, by this fleet and others, in the neighbourhoods in which a machine is silent.
func sights(r *deciding, works []*work) guard.Sights {
	if r.Sit.Brake.On() {
		return nil // nothing disruptive begins
	}
	var silent map[fleet.Neighbourhood]bool
	for _, w := range works {
		if guard.Silent(w.M, w.View, &r.Sit) {
			if silent == nil {
				silent = map[fleet.Neighbourhood]bool{}
			}
			silent[w.M.Current.Neighbourhood()] = true
		}
	}
	if silent == nil {
		return nil
	}
	wanted := func(n fleet.Neighbourhood) bool { return silent[n] }
	all := guard.Sights{}
	all.Hear(r.S.Now, &r.S.Spec, judged(r.S.Machines, works), wanted)
	for _, h := range r.S.Others {
		if wanted(h.Neighbourhood) {
			all.Add(h)
		}
	}
	return all
}

// judged returns all machines as this round judged them.
func judged(all []situation.View, works []*work) iter.Seq2[*belief.Machine, *situation.View] {
	return func(yield func(*belief.Machine, *situation.View) bool) {
		next := 0 // of the works, which are in the machines' order
		for i := range all {
			v := &all[i]
			m := &v.Machine
			if next < len(works) && works[next].Index == i {
				m, v = works[next].M, works[next].View
				next++
			}
			if !yield(m, v) {
				return
			}
		}
	}
}
