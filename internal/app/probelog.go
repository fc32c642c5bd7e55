package app

import (
	"errors"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// ProbeLog has each probe of the machine's checks told to each until stop is called. A reload that has the fleet probed
// otherwise ends it without a word.
func (d *desk) ProbeLog(machine fleet.MachineName, each func(probe.Single)) (stop func(), err error) {
	d.mu.Lock() // a reload changes the watches
	w := d.site.watches[machine.Fleet()]
	d.mu.Unlock()
	if w == nil {
		return nil, fault.New(fault.NotFound, "app.probe-log", string(machine), errors.New("its fleet is not probed"))
	}
	logger, ok := w.prober.(probe.Logger)
	if !ok {
		return nil, fault.New(fault.Unsupported, "app.probe-log", string(machine), nil)
	}
	return logger.Log(machine, each), nil
}
