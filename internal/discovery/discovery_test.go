package discovery_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/discovery"
	"hale/internal/owner/published"
)

// seen is a fleet of machines that are all well, as its owner publishes it.
func seen(name fleet.Name, machines int) published.Fleet {
	var f published.Fleet
	f.Spec.Name, f.Spec.Mode, f.Spec.Provider = name, policy.ModeAct, "lab"
	f.Provider.Standing, f.Lease = fleet.ProviderUp, time.Minute
	f.Now, f.SteadyAt = fleet.Now{Mono: 2}, 1
	for n := 1; n <= machines; n++ {
		m := belief.Machine{Name: name.Machine(n), Address: netip.AddrFrom4([4]byte{10, 0, 0, byte(n)})}
		m.Current = belief.Incarnation{ID: "i-1", Certified: true, Host: "h1"}
		m.Health.Verdict = belief.VerdictHealthy
		f.Machines = append(f.Machines, situation.View{Machine: m})
	}
	return f
}

func names(all []discovery.Machine) string {
	var out []string
	for _, m := range all {
		out = append(out, string(m.Machine))
	}
	return strings.Join(out, " ")
}

// TestOnlyThoseThatSurelyDoNotServeAreMissing: what hale does not know of changes nothing.
func TestOnlyThoseThatSurelyDoNotServeAreMissing(t *testing.T) {
	t.Parallel()
	f := seen("web", 11)
	turn := func(n int, change func(m *belief.Machine)) { change(&f.Machines[n-1].Machine) }
	turn(2, func(m *belief.Machine) {
		m.Health = belief.Health{Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks}
	})
	turn(3, func(m *belief.Machine) { m.Health.Verdict = belief.VerdictSuspect })
	turn(4, func(m *belief.Machine) { m.Health.Verdict = belief.VerdictUnknown })
	turn(5, func(m *belief.Machine) { m.Health.Verdict, m.Current.Certified = belief.VerdictStarting, false })
	turn(6, func(m *belief.Machine) { m.Repair = &belief.Repair{Kind: belief.RepairHeal} })
	turn(7, func(m *belief.Machine) { m.Repair = &belief.Repair{Kind: belief.RepairRemove} })
	turn(8, func(m *belief.Machine) { m.Address = netip.Addr{} })
	turn(9, func(m *belief.Machine) { m.Current = belief.Incarnation{} })
	for want, c := range map[string]discovery.Choice{
		"web-1 web-3 web-4 web-10 web-11":                         {Serving: true},
		"web-1 web-2 web-3 web-4 web-5 web-6 web-7 web-10 web-11": {},
	} {
		if all, known := discovery.List([]published.Fleet{f}, c); !known || names(all) != want {
			t.Errorf("%+v: %s, and not %s", c, names(all), want)
		}
	}
}

// TestThereIsNoListOfWhatIsNotKnown: rather none than an empty one.
func TestThereIsNoListOfWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	lost, young, doubting := seen("web", 3), seen("web", 0), seen("web", 3)
	lost.Lease, young.SteadyAt, doubting.Whole.Doubt.Reason = 0, 100, fleet.ReasonVantageIsolated
	for name, c := range map[string]struct {
		fleets []published.Fleet
		choice discovery.Choice
		known  bool
	}{
		"all is well":           {[]published.Fleet{seen("web", 3)}, discovery.Choice{Sure: true}, true},
		"there is no fleet yet": {nil, discovery.Choice{}, false},
		"one of two is not there": {[]published.Fleet{seen("web", 3)},
			discovery.Choice{Fleets: []fleet.Name{"web", "db"}}, false},
		"another server looks after it": {[]published.Fleet{seen("db", 1), lost}, discovery.Choice{}, false},
		"another server does, of no concern": {[]published.Fleet{seen("db", 1), lost},
			discovery.Choice{Fleets: []fleet.Name{"db"}}, true},
		"its machines are not read yet":    {[]published.Fleet{young}, discovery.Choice{}, false},
		"hale doubts its sight":            {[]published.Fleet{doubting}, discovery.Choice{}, true},
		"hale doubts it, and must be sure": {[]published.Fleet{doubting}, discovery.Choice{Sure: true}, false},
	} {
		if all, known := discovery.List(c.fleets, c.choice); known != c.known {
			t.Errorf("%s: %v, %v", name, all, known)
		}
	}
}

// TestAZoneKeepsItsSerialUntilItDiffers, and then it gets a greater one, also when the clock was set back.
func TestAZoneKeepsItsSerialUntilItDiffers(t *testing.T) {
	t.Parallel()
	z := discovery.Zone{Origin: "vms.example.org.", Server: "ns1.example.org.", Mail: "hostmaster.example.org.",
		TTL: 30 * time.Second}
	now := time.Unix(1_800_000_000, 0)
	all, _ := discovery.List([]published.Fleet{seen("web", 2)}, discovery.Choice{})
	first := z.Write(all, nil, now)
	if again := z.Write(all, first, now.Add(time.Hour)); !bytes.Equal(again, first) {
		t.Errorf("without a change it became\n%s", again)
	}
	next := string(z.Write(all[:1], first, now.Add(-time.Hour)))
	if !strings.Contains(next, "\t1800000001 ; serial") || strings.Contains(next, "web-2") ||
		!strings.Contains(next, "web IN A 10.0.0.1") {
		t.Errorf("with a change it became\n%s", next)
	}
}
