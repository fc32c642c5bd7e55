package engine_test

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/journal"

	"github.com/rogpeppe/go-internal/txtar"
)

var makeStore = flag.String("make-store", "", "write a store of this version's format into the file")

// busy is the fleet in the store that is kept for later versions. It is part of that store: it does not change.
func busy() policy.Spec {
	spec := told(10*time.Minute, "ops")
	spec.Size = 6
	copying := rung(fleet.StepSnapshot)
	copying.Timeout, copying.Keep, copying.KeepFor, copying.OnFailure = time.Minute, 2, 500*time.Hour,
		policy.OnFailureContinue
	spec.Repair.Steps = []policy.Step{
		spec.Repair.Steps[0], copying,
		{Kind: fleet.StepRecreate, Timeout: 30 * time.Second, OnDeleteFailure: policy.DeleteFailureStop,
			KeepOld: 500 * time.Hour},
	}
	spec.Limits.InRepair = 3
	spec.Limits.Shared = []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 5}}
	spec.Limits.Brake = policy.Brake{AtLeast: 5, ReleaseAfter: time.Minute}
	spec.Repair.Attempts = 2
	return spec
}

// busyHosts are those of its world.
var busyHosts = []fleet.HostName{"h1", "h2"}

// A store as a busy day leaves it is read whole by the next hale, and healing goes on from it. Before a change that
// raises the format, the store is written down for TestAStoreOfEachFormatIsRead: go test ./internal/engine -run
// AStoreOfTodayIsRead -make-store testdata/format-N.txtar
func TestAStoreOfTodayIsRead(t *testing.T) {
	t.Parallel()
	var entries []state.Entry
	tell(t, simulated.Options{Hosts: busyHosts, Latency: time.Second}, busy(), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": down()})
		entries = s.busyDay()
	})
	if *makeStore != "" {
		writeStore(t, *makeStore, entries)
	}
	tell(t, simulated.Options{Hosts: busyHosts}, busy(), func(s *story) {
		ops := down()
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		s.inherit(entries)
		s.goesOn(ops, entries)
	})
}

// busyDay returns the store of a hale that was killed in the middle of a reboot, with an incident that a person was
// told of, a quarantine, an instance and a copy of disks that are kept, a hold, an ordered size, messages that wait,
// and an order that nobody took up.
func (s *story) busyDay() []state.Entry {
	s.grown()
	s.holds(fleet.Order{Machine: "web-4"}, 500*time.Hour)
	s.scale(7)
	s.await(5*time.Minute, "the seventh is built", func() bool { return s.healthy(7) })
	ill := simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}
	s.inject(simulated.Broken{Instance: s.id(3), Illness: ill})
	s.await(10*time.Minute, "web-3 is replaced, and its old instance is kept",
		func() bool { return s.healthy(3) && len(s.machine(3).Kept) == 1 })
	s.inject(simulated.NextBuilds{Machine: "web-5", Times: 9, Illness: ill})
	s.inject(simulated.Broken{Instance: s.id(5), Illness: ill})
	s.await(time.Hour, "web-5 is in quarantine", func() bool { return s.machine(5).Quarantine != nil })
	s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByReboot}})
	s.await(10*time.Minute, "web-2 is about to be rebooted", func() bool {
		r := s.machine(2).Repair
		return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpReboot
	})
	s.kill()
	s.orders(fleet.Order{Kind: fleet.OrderHold, Machine: "web-6", For: 500 * time.Hour, Reason: "nobody took this up"})
	return s.stored()
}

// writeStore writes a store down, without the bytes of evidence, which have no format, and with the last records only.
func writeStore(t *testing.T, file string, entries []state.Entry) {
	t.Helper()
	const records = 40
	var journaled []string
	for _, e := range entries {
		if strings.HasPrefix(e.Key, journal.Prefix("web")) {
			journaled = append(journaled, e.Key)
		}
	}
	old := journaled[:max(0, len(journaled)-records)]
	a := txtar.Archive{Comment: []byte("What TestAStoreOfTodayIsRead left.\n")}
	for _, e := range entries {
		switch {
		case strings.HasPrefix(e.Key, "evidence/data/"), slices.Contains(old, e.Key):
		case bytes.Contains(e.Value, []byte("\n")):
			t.Fatalf("%s is no line of text", e.Key)
		default:
			a.Files = append(a.Files, txtar.File{Name: e.Key, Data: append(e.Value, '\n')})
		}
	}
	if err := os.WriteFile(file, txtar.Format(&a), 0o644); err != nil {
		t.Fatal(err)
	}
}
