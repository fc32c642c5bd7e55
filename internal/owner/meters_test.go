package owner_test

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/round"
	"hale/internal/provider"
)

// hold has machine 2 be silent, as long as nothing bears witness, and returns the instances that are asked then.
func (d *driver) hold() []fleet.Instance {
	m := d.View(1).Machine.Clone()
	m.Waiting, m.Health.Verdict = fleet.ReasonNoWitness, belief.VerdictUnhealthy
	m.Incident = &belief.Incident{ID: "web-2/1"}
	d.Adopt(round.Decided{Index: 1, Belief: m})
	return d.Meters(d.at())
}

// What reads the same twice, with a pause between, stands still. What moves does not. What cannot be read is read again
// later.
func TestL04WhatReadsTheSameTwiceStandsStill(t *testing.T) {
	t.Parallel()
	d := drive(t, nil)
	read := func(said provider.Meter, err error) {
		t.Helper()
		asked := d.at().Mono
		if ask := d.hold(); len(ask) != 1 || len(d.Meters(d.at())) != 0 {
			t.Fatalf("%v are asked, and then %v", ask, d.Meters(d.at()))
		}
		d.TellMeter("id-2", asked-1, said, nil, d.at()) // to another question
		d.TellMeter("id-2", asked, said, err, d.at())
	}
	for _, step := range []struct {
		said   provider.Meter
		err    error
		wait   time.Duration
		stands bool
	}{
		{said: "7", wait: provider.StillAfter},
		{said: "8", wait: provider.StillAfter},
		{said: "8", wait: provider.StillAfter, stands: true},
		{said: "8", wait: provider.StillAfter, stands: true},
		{err: fault.New(fault.Transient, "", "", nil), wait: time.Minute},
		{said: "8", wait: provider.StillAfter},
		{said: "8", wait: provider.StillAfter, stands: true},
		{err: fault.New(fault.Unsupported, "", "", nil), wait: time.Hour},
	} {
		read(step.said, step.err)
		if stands := d.Stood("id-2") != nil; stands != step.stands {
			t.Errorf("%+v: it stands still: %v", step, stands)
		}
		if d.now += step.wait - 1; len(d.Meters(d.at())) != 0 {
			t.Errorf("%+v: it is asked too soon", step)
		}
		d.now++
	}
}
