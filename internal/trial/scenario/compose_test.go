package scenario

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// policies are the fleets of all examples, and one that uses every key.
func policies(t *testing.T) []sim.Options {
	t.Helper()
	paths, err := filepath.Glob("../../../examples/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("examples %v, %v", paths, err)
	}
	var all []sim.Options
	for _, path := range paths {
		c, err := config.Load(path, adapters.All())
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Fleets {
			var o sim.Options
			Adopt(&o, c, i)
			all = append(all, o)
		}
	}
	full := sim.Options{
		Spec: exemplar.Fleet(12), Servers: 3, Seed: 7, Poll: 7 * time.Second, Operator: time.Hour, Calm: 2 * time.Hour,
		Boot: 3 * time.Second, BootMost: 9 * time.Second, Latency: time.Millisecond, LatencyMost: time.Millisecond,
		Empty: true,
	}
	full.Spec.SharedFate = policy.SharedFate{Then: policy.FateEvacuate, AtLeast: 0, Wait: time.Hour}
	below := 0.5
	full.Spec.Update = policy.Update{Pilots: 2, Soak: 3 * time.Minute, Batch: policy.Portion{Percent: 25},
		Pause: 10 * time.Second, InService: policy.Portion{Number: 2}, OnFailure: policy.UpdateUndo,
		UndoWithin: 20 * time.Minute, Order: policy.UpdateOldest,
		Query: &policy.UpdateQuery{Metric: policy.OwnMetric, Below: &below, For: 90 * time.Second,
			Own: &policy.Metric{Name: policy.OwnMetric, Kind: policy.MetricCommand,
				Command: policy.Command{Args: []string{"/bin/well"}}, Every: 10 * time.Second, Late: time.Minute,
				Most: math.MaxFloat64}}}
	full.Spec.Repair.OnExternalStop, full.Spec.Repair.ExternalStopHold = policy.ExternalStopHeal, 0
	full.Spec.Repair.Steps[2].OnDeleteFailure = policy.DeleteFailureContinue
	full.Spec.Repair.Steps = slices.Concat([]policy.Step{
		{
			Kind:         fleet.StepRun,
			Timeout:      time.Second,
			VerifyWithin: time.Minute,
			Run: policy.Command{Args: []string{"/bin/a b", "{ip},", "\"c\""},
				Env: []policy.Variable{{Name: "A", Value: "b: {name}"}}, Idempotent: true},
		},
		{Kind: fleet.StepRun, Timeout: time.Second, VerifyWithin: time.Minute,
			Run: policy.Command{Args: []string{"/bin/true"}}, For: []fleet.CheckName{"alive"}},
		{Kind: fleet.StepRebuild, Timeout: time.Second, For: []fleet.CheckName{"page"}},
		{Kind: fleet.StepResume, Timeout: time.Second, VerifyWithin: time.Minute},
		{Kind: fleet.StepReboot, Timeout: time.Second, VerifyWithin: time.Minute, Mode: policy.RebootSoft,
			For: []fleet.CheckName{"page", "provider"}},
	}, full.Spec.Repair.Steps, []policy.Step{
		{Kind: fleet.StepPage, VerifyWithin: time.Minute, For: []fleet.CheckName{"page"}}, {Kind: fleet.StepPage},
		{Kind: fleet.StepQuarantine},
	})
	second := &full.Spec.Checks[1]
	second.DownAfter, second.DownIn, second.UpAfter, second.UpIn = 3, 5, 2, 3
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	full.Spec.Checks[1].DependsOn = []fleet.CheckName{"alive"}
	full.Spec.Checks[1].NotEvery = []policy.Hours{
		{From: 23*time.Hour + 30*time.Minute, To: time.Hour, Zone: berlin,
			Days: policy.Weekdays(0).With(time.Sunday).With(time.Friday)},
		{From: 0, To: 24 * time.Hour, Zone: time.UTC},
	}
	full.Spec.Checks[1].HTTP = policy.HTTPCheck{
		Scheme: "https", Path: "/a?b=\"c\"", Host: "www.example.org", Method: "OPTIONS",
		Headers: []policy.Header{
			{Name: "Authorization", Secret: fleet.Secret{Env: "SECRET"}},
			{Name: "X-A", Value: "b: c"},
		},
		Status: []policy.StatusRange{{First: 200, Last: 200}, {First: 300, Last: 399}}, Body: `"ok": *\d`, Redirects: 2,
		NoConnection: policy.NoConnectionIgnore, TLS: policy.TLSCheck{Days: 14, Insecure: true},
	}
	full.Spec.Checks = append(full.Spec.Checks, services()...)
	return append(all, full)
}

// services are checks of every other kind, sorted by name.
func services() []policy.Check {
	service := func(name fleet.CheckName, kind policy.CheckKind, port int) policy.Check {
		return policy.Check{
			Name: name, Kind: kind, Port: port, Every: 10 * time.Second, Timeout: 2 * time.Second, DownAfter: 3,
			UpAfter: 2,
		}
	}
	login, directory := service("service-a", policy.CheckSSH, 2222), service("service-b", policy.CheckTLS, 636)
	login.SSH.Banner = `"OpenSSH_(9|10)\.`
	directory.Certificate = policy.CertificateCheck{
		Host:     "ldap.example.org",
		TLSCheck: policy.TLSCheck{Days: 14, Insecure: true},
	}
	game, names := service("service-c", policy.CheckUDP, 27015), service("service-d", policy.CheckDNS, 53)
	game.UDP = policy.UDPCheck{Send: []byte("\xff\x00getinfo\n"), Answer: `^\xff"info`}
	names.DNS = policy.DNSCheck{
		Name:   "www.example.org",
		Type:   policy.RecordTXT,
		Answer: []string{"v=spf1 -all", `a "b"`},
		TCP:    true,
	}
	orders := service("service-e", policy.CheckGRPC, 50051)
	orders.GRPC = policy.GRPCCheck{
		Service: "shop.v1.Orders",
		Host:    "orders.example.org",
		Secure:  true,
		TLS:     policy.TLSCheck{Days: 14, Insecure: true},
	}
	beat := service("service-f", policy.CheckHeartbeat, 0)
	beat.Every, beat.Timeout, beat.Heartbeat.Token = 30*time.Second, 10*time.Second, fleet.Secret{Env: "BEAT"}
	return []policy.Check{login, directory, game, names, orders, beat}
}

// TestARunSurvivesBeingWrittenDown: what a file says of policy, world and events is what was played.
func TestARunSurvivesBeingWrittenDown(t *testing.T) {
	t.Parallel()
	for _, o := range policies(t) {
		o.Hosts = exemplar.Town(3, 1, 2)
		for n := range o.Spec.Size {
			o.Homes = append(o.Homes, o.Hosts[n%3].Name)
		}
		o.Horizon = 2 * 24 * time.Hour
		o.Plan = script.Forecast{
			Seed:    3,
			Kinds:   script.FirstKinds(),
			Horizon: o.Horizon,
		}.Draw(
			o.Spec,
			o.Hosts,
			o.Servers,
		)
		file := Compose("A run.", o)
		s, err := Parse("f.txt", file)
		if err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		want, got := o, s.Options
		for _, c := range []*sim.Options{&want, &got} {
			// a machine is not built from anything here, and a step that has no use for a time has none
			c.Spec.Template = policy.Template{Disks: c.Spec.Template.Disks}
			c.Spec.Notify.To, c.Spec.History = nil, 0             // a run sends no messages, and keeps no journal
			c.Spec.Limits.Shared, c.Spec.Limits.Brakes = nil, nil // it shares none
			c.Spec.Pools = nil                                    // its balancer lets go at once
			c.Servers, c.Calm, c.Poll = max(c.Servers, 1), max(c.Calm, time.Minute), max(c.Poll, sim.DefaultPoll)
			for i := range c.Spec.Repair.Steps {
				if c.Spec.Repair.Steps[i].Kind == fleet.StepRecreate {
					c.Spec.Repair.Steps[i].VerifyWithin = 0
				}
			}
		}
		unexported := cmpopts.IgnoreUnexported(sim.Options{})
		ignore := cmpopts.IgnoreFields(sim.Options{}, "Boot", "BootMost", "Latency", "LatencyMost")
		zones := cmp.Comparer(func(a, b *time.Location) bool { return a.String() == b.String() })
		if diff := cmp.Diff(want, got, ignore, unexported, zones, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: (-played +written)\n%s\n%s", o.Spec.Name, diff, file)
		}
	}
}

func TestAFilePlaysTheRunAgainLineForLine(t *testing.T) {
	t.Parallel()
	for _, o := range policies(t) {
		o.Hosts, o.Horizon, o.Calm = exemplar.Town(4, 2, 1), 2*24*time.Hour, time.Hour
		o.Spec.Template, o.Spec.Pools = policy.Template{Disks: o.Spec.Template.Disks}, nil
		o.Plan = script.Forecast{Seed: 3, Kinds: script.FirstKinds(), Horizon: o.Horizon,
			MachineGap: 24 * time.Hour}.Draw(o.Spec, o.Hosts, o.Servers)
		var played bytes.Buffer
		o.Trace = &played
		if _, err := sim.Run(o); err != nil {
			t.Fatal(err)
		}
		s, err := Parse("f.txt", Compose("A run.", o))
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Play()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(played.Bytes(), again.Trace) {
			t.Errorf("%s: the trace is another one (%d and %d bytes)", o.Spec.Name, played.Len(), len(again.Trace))
		}
	}
}
