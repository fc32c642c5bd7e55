package app

import (
	"errors"
	"fmt"

	"hale/api"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider/simulated"
)

// Ways implements server.Breaking.
func (d *desk) Ways() []api.Breakage {
	var out []api.Breakage
	for _, b := range simulated.Breakages() {
		out = append(out, api.Breakage{Name: b.Name, Does: b.Does})
	}
	return out
}

// Foretell implements server.Breaking.
func (d *desk) Foretell(p fleet.ProviderName, id fleet.InstanceID, way string) (string, error) {
	_, b, err := d.breakage(p, id, way)
	return b.Does, err
}

// Break implements server.Breaking.
func (d *desk) Break(p fleet.ProviderName, id fleet.InstanceID, way string) (string, error) {
	world, b, err := d.breakage(p, id, way)
	if err == nil {
		_, err = world.Inject(b.Of(id))
		if fault.Is(err, fault.NotFound) {
			err = fault.New(fault.Conflict, "app.break", string(id), errors.New("has no instance at its provider"))
		}
	}
	return b.Does, err
}

// breakage finds the way, and the world in which it is to happen.
func (d *desk) breakage(p fleet.ProviderName, id fleet.InstanceID, way string) (
	w *simulated.World, b simulated.Breakage, err error) {
	d.mu.Lock() // a reload changes the adapters
	a := adapterOf(d.site.adapters, p)
	d.mu.Unlock()
	if a.world == nil {
		return nil, b, fault.New(fault.Invalid, "app.break", string(id), fmt.Errorf("is a machine of provider %s, which "+
			"is %s: hale has machines of simulated providers fail, and no others", p, a.config.Type))
	}
	b, err = simulated.BreakageNamed(way)
	return a.world, b, err
}
