package judge

import (
	"fmt"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
)

// trial is what the judge knows of another template on its way through the fleet: who tries it, and whether it proved
// itself.
type trial struct {
	image  string
	tried  map[string]string // machines with work that began by the order, and the instance that they had
	proven bool
}

// trials are those of each confirmed plan, and the images that need none any more.
type trials struct {
	shown   map[fleet.OrderID]string // the image that a plan is about, as it was shown
	by      map[fleet.OrderID]*trial
	trusted map[string]bool
}

func newTrials(image string) trials {
	return trials{shown: map[fleet.OrderID]string{}, by: map[fleet.OrderID]*trial{},
		trusted: map[string]bool{image: true}}
}

// tries notes that hale begins to build the machine anew from another template. Beyond the number that may try it
// first, none may follow before so many of these were certified, and stand as long as the policy says: by truth,
// whatever hale thinks of them (S56).
func (j *Judge) tries(is *belief.Machine) {
	name, order := string(is.Name), is.Repair.Order
	t := j.trials.by[order]
	if t == nil {
		t = &trial{image: j.trials.shown[order], tried: map[string]string{}}
		j.trials.by[order] = t
	}
	if _, already := t.tried[name]; already {
		return
	}
	first := max(1, j.spec.Update.Pilots)
	if !t.proven && !j.trials.trusted[t.image] && j.under(t) >= first {
		if stand := j.stand(t); stand < first {
			j.Broken("canary", name, fmt.Sprintf("it is built from another template, which %d machines tried before "+
				"it and %d of these proved", len(t.tried), stand))
		}
		t.proven, j.trials.trusted[t.image] = true, true
	}
	t.tried[name] = string(is.Repair.Target.ID)
}

// under counts the machines that try the template, and were not removed since.
func (j *Judge) under(t *trial) int {
	n := 0
	for name := range t.tried {
		if !j.left[name] {
			n++
		}
	}
	return n
}

// stand counts those of them that have a certified new instance, as old as the policy wants it to be.
func (j *Judge) stand(t *trial) int {
	n := 0
	for name, old := range t.tried {
		vm := j.w.Current(name)
		if vm != nil && vm.ID != old && vm.Mark.Certified && j.w.Now()-vm.Born >= j.spec.Update.Soak {
			n++
		}
	}
	return n
}
