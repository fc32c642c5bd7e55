package engine_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/journal"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"

	"github.com/rogpeppe/go-internal/txtar"
)

var makeStore = flag.String("make-store", "", "write a store of this version's format into the file")

// busy is the fleet whose store is kept for later versions. It is part of that store: it does not change.
func busy() fleet.Spec {
	spec := told(10*time.Minute, "ops")
	spec.Size = 6
	copying := rung(fleet.StepSnapshot)
	copying.Timeout, copying.Keep, copying.KeepFor, copying.OnFailure = time.Minute, 2, 500*time.Hour, fleet.OnFailureContinue
	spec.Repair.Steps = []fleet.Step{
		spec.Repair.Steps[0], copying,
		{Kind: fleet.StepRecreate, Timeout: 30 * time.Second, OnDeleteFailure: fleet.DeleteFailureStop, KeepOld: 500 * time.Hour},
	}
	spec.Limits.InRepair = 3
	spec.Limits.Shared = []fleet.SharedLimit{{Scope: fleet.ScopeInstallation, InRepair: 5}}
	spec.Limits.Brake = fleet.BrakePolicy{AtLeast: 5, ReleaseAfter: time.Minute}
	spec.Repair.Attempts = 2
	return spec
}

// busyHosts are those of its world.
var busyHosts = []fleet.HostName{"h1", "h2"}

// TestMakeAStoreOfThisFormat writes down a store as a busy day leaves it, for TestAStoreOfEachFormatIsRead: in the middle of a reboot, with an incident that a
// person was told of, a quarantine, an instance and a copy of disks that are kept, a hold, an ordered size, messages that wait, and an order that nobody took up.
// Run it before a change that raises the format: go test ./internal/engine -run MakeAStoreOfThisFormat -make-store testdata/format-N.txtar
func TestMakeAStoreOfThisFormat(t *testing.T) {
	t.Parallel()
	if *makeStore == "" {
		t.Skip("only on demand")
	}
	spec := busy()
	tell(t, simulated.Options{Hosts: busyHosts, Latency: time.Second}, spec, func(s *story) {
		ops := &memory.Target{}
		s.people(map[fleet.TargetName]*memory.Target{"ops": ops})
		ops.Down(fault.New(fault.Transient, "x", "", errors.New("503 Service Unavailable")))
		s.grown()
		s.holds(fleet.Order{Machine: "web-4"}, 500*time.Hour)
		s.scale(7)
		s.await(5*time.Minute, "the seventh is built", func() bool { return s.healthy(7) })
		s.inject(simulated.Broken{Instance: s.id(3), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}})
		s.await(10*time.Minute, "web-3 is replaced, its disks are copied, and its old instance is kept", func() bool { return s.healthy(3) && len(s.machine(3).Kept) == 1 })
		s.inject(simulated.NextBuilds{Machine: "web-5", Times: 9, Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}})
		s.inject(simulated.Broken{Instance: s.id(5), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByRecreate}})
		s.await(time.Hour, "web-5 is in quarantine", func() bool { return s.machine(5).Quarantine != nil })
		s.inject(simulated.Broken{Instance: s.id(2), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: simulated.ByReboot}})
		s.await(10*time.Minute, "web-2 is about to be rebooted", func() bool {
			r := s.machine(2).Repair
			return r != nil && r.Intent != nil && r.Intent.Op == fleet.OpReboot
		})
		s.kill()
		s.orders(fleet.Order{Kind: fleet.OrderHold, Machine: "web-6", For: 500 * time.Hour, Reason: "nobody took this up"})
		entries, _, err := s.backing.Open(nil).List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		records := s.records()
		oldest := fmt.Sprintf("%s%020d", journal.Prefix("web"), records[len(records)-40].Seq) // of those that are enough
		a := txtar.Archive{Comment: fmt.Appendf(nil, "What TestMakeAStoreOfThisFormat left at %s.\n", time.Now().UTC().Format(time.RFC3339))}
		for _, e := range entries {
			if strings.HasPrefix(e.Key, "evidence/data/") || strings.HasPrefix(e.Key, journal.Prefix("web")) && e.Key < oldest {
				continue // the former are a guest's bytes, and have no format
			}
			if bytes.Contains(e.Value, []byte("\n")) {
				t.Fatalf("%s is no line of text", e.Key)
			}
			a.Files = append(a.Files, txtar.File{Name: e.Key, Data: append(e.Value, '\n')})
		}
		if err := os.WriteFile(*makeStore, txtar.Format(&a), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}
