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
	_, b, err := d.breakage("app.foretell", p, id, way)
	return b.Does, err
}

// Break implements server.Breaking.
func (d *desk) Break(p fleet.ProviderName, id fleet.InstanceID, way string) (string, error) {
	const op = "app.break"
	world, b, err := d.breakage(op, p, id, way)
	if err != nil {
		return "", err
	}
	if _, err = world.Inject(b.Of(id)); fault.Is(err, fault.NotFound) {
		err = fault.New(fault.Conflict, op, string(id), errors.New("has no instance at its provider"))
	}
	return b.Does, err
}

// breakage finds the way, and the world in which it is to happen.
func (d *desk) breakage(op string, p fleet.ProviderName, id fleet.InstanceID, way string) (
	*simulated.World, simulated.Breakage, error) {
	d.mu.Lock() // a reload changes the adapters
	a := adapterOf(d.site.adapters, p)
	d.mu.Unlock()
	if a.world == nil {
		return nil, simulated.Breakage{}, fault.New(fault.Invalid, op, string(id),
			fmt.Errorf("is a machine of provider %s, which is %s: hale has machines of simulated providers fail, and no "+
				"others", p, a.config.Type))
	}
	for _, b := range simulated.Breakages() {
		if b.Name == way {
			return a.world, b, nil
		}
	}
	return nil, simulated.Breakage{}, fault.New(fault.NotFound, op, way,
		fmt.Errorf("a simulated machine cannot fail in the way %q; hale sim break lists the ways", way))
}
