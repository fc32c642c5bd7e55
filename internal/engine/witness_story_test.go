package engine_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/engine"
	"hale/internal/engine/poller"
	"hale/internal/probe/netprobe"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
	"hale/internal/state/memory"
)

// house is one host with a machine of each of two fleets, which one hale looks after.
type house struct {
	t      *testing.T
	world  *simulated.World
	engine *engine.Engine
}

func dwell(t *testing.T, tale func(h *house)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{t: t, world: simulated.NewWorld(simulated.Options{
			Hosts: []fleet.HostName{"h1"}, Latency: 50 * time.Millisecond, Ports: []uint16{80},
		})}
		handle := h.world.Open("hale")
		o := engine.Options{
			Store: memory.New(memory.Options{}).Open(nil), Server: "hale", Logger: slog.New(slog.DiscardHandler),
			Sources: []poller.Source{{Name: "lab", Adapter: handle, Watcher: handle, Poll: 5 * time.Second}},
		}
		var asked []*netprobe.Engine
		for _, name := range []fleet.Name{"app", "db"} {
			spec, probes := web(1), netprobe.New(h.world.Vantage("hale"), netprobe.Options{})
			spec.Name = name
			o.Fleets, asked = append(o.Fleets, engine.Fleet{Spec: spec, Probes: probes}), append(asked, probes)
		}
		e, err := engine.New(o)
		if err != nil {
			t.Fatal(err)
		}
		h.engine = e
		defer serve(t, e, handle, asked...)()
		h.await(5*time.Minute, "both stand", h.well)
		time.Sleep(time.Minute)
		tale(h)
	})
}

func (h *house) await(within time.Duration, what string, is func() bool) {
	h.t.Helper()
	for waited := time.Duration(0); !is(); waited += 100 * time.Millisecond {
		if waited > within {
			h.t.Fatalf("after %v still not: %s", within, what)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
	}
}

// each goes through the machines of both fleets.
func (h *house) each(is func(m *belief.Machine) bool) bool {
	n := 0
	for _, f := range h.engine.Status() {
		for i := range f.Machines {
			if is(&f.Machines[i].Machine) {
				n++
			}
		}
	}
	return n == 2
}

func (h *house) well() bool {
	return h.each(func(m *belief.Machine) bool {
		return m.Health.Verdict == belief.VerdictHealthy && m.Repair == nil && m.Incident == nil && m.Current.Certified
	})
}

func (h *house) held() bool {
	return h.each(func(m *belief.Machine) bool { return m.Waiting == fleet.ReasonNoWitness && m.Repair == nil })
}

func (h *house) inject(f simulated.Fault) (lift func()) {
	h.t.Helper()
	lift, err := h.world.Inject(f)
	if err != nil {
		h.t.Fatal(err)
	}
	return lift
}

// ids are the instances, by fleet.
func (h *house) ids() map[fleet.Name]fleet.InstanceID {
	out := map[fleet.Name]fleet.InstanceID{}
	for _, f := range h.engine.Status() {
		out[f.Spec.Name] = f.Machines[0].Machine.Current.ID
	}
	return out
}

// A machine that hangs beside one of another fleet that answers is healed at once: that one bears witness.
func TestL04AnotherFleetBearsWitness(t *testing.T) {
	t.Parallel()
	dwell(t, func(h *house) {
		h.inject(simulated.Broken{Instance: h.ids()["app"], Illness: simulated.Illness{Symptom: simulated.Hung}})
		h.await(30*time.Second, "it fails", func() bool { return !h.well() })
		h.await(time.Minute, "it is healed", h.well)
	})
}

// Both machines of a host are silent, each the only one of its fleet: together they are no proof, though the host
// itself answers.
func TestL04TheSilenceOfAnotherFleetCounts(t *testing.T) {
	t.Parallel()
	dwell(t, func(h *house) {
		ids := h.ids()
		for _, id := range ids {
			h.inject(simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.Hung}})
		}
		h.await(time.Minute, "both are held", h.held)
		time.Sleep(20 * time.Minute)
		if !h.held() {
			t.Error("one was touched")
		}
		h.await(time.Second, "both are as they were", func() bool {
			return h.ids()["app"] == ids["app"] && h.ids()["db"] == ids["db"]
		})
	})
}

// hale alone loses sight of a host: nothing is done to the machines there, and they are well when it sees them again.
func TestL04AHostOutOfSightIsLeftAlone(t *testing.T) {
	t.Parallel()
	dwell(t, func(h *house) {
		lift := h.inject(simulated.OutOfSight{Client: "hale", Host: "h1"})
		h.await(time.Minute, "both are held", h.held)
		time.Sleep(20 * time.Minute)
		if !h.held() {
			t.Error("one was touched")
		}
		lift()
		h.await(time.Minute, "both are well", h.well)
	})
}

// Both machines of a host are silent, and nothing bears witness. The processors of one stand still, as its provider
// counts: it is reset, and why is said. Those of the other spin, which proves nothing: it is left alone.
func TestL04OneThatStandsStillIsDead(t *testing.T) {
	t.Parallel()
	dwell(t, func(h *house) {
		ids := h.ids()
		h.inject(simulated.Broken{Instance: ids["db"], Illness: simulated.Illness{Symptom: simulated.Hung}})
		h.inject(simulated.Broken{Instance: ids["app"], Illness: simulated.Illness{Symptom: simulated.Halted}})
		h.await(time.Minute, "both are held", h.held)
		app := func() (m belief.Machine) {
			for _, f := range h.engine.Status() {
				if f.Spec.Name == "app" {
					m = f.Machines[0].Machine
				}
			}
			return m
		}
		time.Sleep(provider.StillAfter / 2)
		if !h.held() {
			t.Error("one reading was enough")
		}
		h.await(5*time.Minute, "the one is healed", func() bool {
			return app().Health.Verdict == belief.VerdictHealthy && app().Repair == nil
		})
		if h.ids()["app"] != ids["app"] || h.ids()["db"] != ids["db"] {
			t.Error("one was built anew")
		}
	})
}

// hale alone does not see a host, on which both machines work: their counters move, and nothing is done.
func TestL04WhatMovesIsNotDead(t *testing.T) {
	t.Parallel()
	dwell(t, func(h *house) {
		h.inject(simulated.OutOfSight{Client: "hale", Host: "h1"})
		h.await(time.Minute, "both are held", h.held)
		time.Sleep(10 * provider.StillAfter)
		if !h.held() {
			t.Error("one was touched")
		}
	})
}
