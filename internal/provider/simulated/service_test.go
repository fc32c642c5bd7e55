package simulated_test

import (
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/simulated"
)

// What a check of a service asks for, a well machine answers, whatever it wants to hear; an ill one does not.
func TestServicesAnswerAsTheirChecksWant(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		checks := []policy.Check{
			{Name: "login", Kind: policy.CheckSSH, Port: 22},
			{Name: "current", Kind: policy.CheckSSH, Port: 2222,
				SSH: policy.SSHCheck{Banner: "^SSH-2.0-OpenSSH_(9|10)"}},
			{Name: "game", Kind: policy.CheckUDP, Port: 27015, UDP: policy.UDPCheck{Send: []byte("getinfo"),
				Answer: "^info [0-9]+"}},
			{Name: "health", Kind: policy.CheckGRPC, Port: 50051, GRPC: policy.GRPCCheck{Service: "shop.v1.Orders"}},
			{Name: "beat", Kind: policy.CheckHeartbeat},
			{Name: "names", Kind: policy.CheckDNS, Port: 53, DNS: policy.DNSCheck{Name: "www.example.org",
				Type: policy.RecordA}},
			{Name: "stream", Kind: policy.CheckDNS, Port: 53, DNS: policy.DNSCheck{Name: "example.org",
				Type: policy.RecordMX, Answer: []string{"10 a.example.org", "20 b.example.org"}, TCP: true}},
			{Name: "other", Kind: policy.CheckSSH, Port: 2022, SSH: policy.SSHCheck{Banner: "dropbear"}},
		}
		w := simulated.NewWorld(simulated.Options{Checks: checks})
		if err := w.Plant(fleet.Instance{ID: "a", Name: "web-1", Mark: fleet.Mark{Machine: "web-1"}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		i, _ := w.Instance("web-1")
		e := netprobe.New(w, netprobe.Options{})
		ended := make(chan error, 1)
		go func() { ended <- e.Run(t.Context()) }()
		t.Cleanup(func() { <-ended })
		expect := func(when string, wants func(policy.Check) fleet.ResultReason) {
			t.Helper()
			for _, c := range checks {
				c.Every, c.Timeout, c.DownAfter, c.UpAfter = 5*time.Second, time.Second, 1, 1
				got := e.Look(t.Context(), probe.Target{ID: probe.ID{Machine: "web-1", Check: c.Name}, Instance: "a",
					Address: i.Address, Spec: &c})
				if want := wants(c); got.Result != want {
					t.Errorf("%s, %s: %s (%s), want %s", when, c.Name, got.Result, got.Detail, want)
				}
			}
		}
		expect("well", func(policy.Check) fleet.ResultReason { return fleet.ResultOK })
		if _, err := w.Inject(simulated.Broken{Instance: "a",
			Illness: simulated.Illness{Symptom: simulated.HTTPHangs}}); err != nil {
			t.Fatal(err)
		}
		expect("hung", func(policy.Check) fleet.ResultReason { return fleet.ResultTimeout })
	})
}
