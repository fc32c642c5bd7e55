package bubble

import (
	"fmt"

	"hale/internal/core/fleet"
	"hale/internal/sim"
	"hale/internal/sim/world"
)

// passerBy is a machine that the fleet does not select.
const passerBy = fleet.InstanceID("somebody-else")

// plantStrangers gives the fleet machines that existed before hale, and one beside them that is none of its business,
// as the simulator does.
func (r *room) plantStrangers() {
	r.t.Helper()
	r.must(r.world.Plant(fleet.Instance{ID: passerBy, Name: string(passerBy), Host: r.home(1)}))
	for n := 1; n <= r.spec.Size; n++ {
		name, sel := r.spec.Name.Machine(n), r.spec.Adopt.Select
		r.truth(func(t *world.World) {
			t.Plant(world.Status{
				ID: fmt.Sprintf("planted-%d", n), Name: sim.StrangerName(sel, n, r.spec.Size), Host: string(r.home(n)),
				Metadata: string(sel.Metadata), Tags: string(fleet.TagsOf(sel.Tags)),
				Mark: world.Mark{Installation: "nobody", Machine: string(name), Generation: 1, Unmarked: true},
			})
		})
	}
}

// instance returns the machine's instance as it truly is: of one that existed before, the one that was there from the
// beginning, until hale has built another.
func (r *room) instance(name fleet.MachineName) (i fleet.Instance, ok bool) {
	var id string
	r.truth(func(t *world.World) {
		if vm := t.Current(string(name)); vm != nil {
			id = vm.ID
		}
	})
	return r.world.Guest(fleet.InstanceID(id))
}
