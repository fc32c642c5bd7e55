package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider/simulated"
	"hale/internal/sim"
	"hale/internal/sim/load"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// Adopt sets a run up for the configuration's fleet with the index, on its provider.
func Adopt(o *sim.Options, c *config.Config, index int) {
	o.Spec = c.Fleets[index]
	o.Spec.Pools = nil // a balancer of which the file says no more lets a machine go at once
	o.Spec.Checks, o.Spec.Tells = fromOneVantage(o.Spec.Checks), fromOneVantage(o.Spec.Tells)
	if a := o.Spec.Adopt; a.Selects() {
		o.Spec.Size = sim.Strangers(a)
	}
	for _, p := range c.Providers {
		if p.Name != o.Spec.Provider {
			continue
		}
		o.Poll = p.Poll
		if s, ok := p.Settings.(simulated.Settings); ok {
			o.Boot, o.BootMost = max(s.Boot, time.Millisecond), s.Boot
			o.Latency, o.LatencyMost = max(s.Latency, time.Millisecond), s.Latency
		}
		for _, h := range p.Hosts {
			o.Hosts = append(o.Hosts, world.Host{
				Name: string(h.Name), Rack: h.Place.Rack, Room: h.Place.Room, Zone: h.Place.Zone,
				Storage: h.Place.Storage,
				Fence:   tries(c, p.Name, h.Name, false), Cut: tries(c, p.Name, h.Name, true), Delay: h.FenceDelay,
				Heavier: p.FencePriority[o.Spec.Name]})
		}
	}
}

// fromOneVantage are the checks as the simulated world has them: it is seen from hale's server alone.
func fromOneVantage(checks []policy.Check) []policy.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		checks[i].Sight = policy.Sight{}
	}
	return checks
}

// tries is how often a host's power, or its access, may be tried to be cut: whatever the methods are, the simulated
// world has a power controller then, and a switch that cuts both storage and network.
func tries(c *config.Config, p fleet.ProviderName, h fleet.HostName, access bool) int {
	n := 0
	for _, m := range c.FencesOf(p, h) {
		if access == m.Cuts() {
			n += m.Attempts
		}
	}
	return n
}

// world reads one line of the part: "host h1 rack r1 room m1", or a setting and its value.
func (r *reader) world(_ int, text string) error {
	words := strings.Fields(text)
	o := &r.s.Options
	switch {
	case words[0] == "host":
		h, err := parseHost(words)
		if err == nil {
			place(o, h)
		}
		return err
	case words[0] == "home" && len(words) == 3:
		return r.home(words[1], words[2])
	case words[0] == "empty" && len(words) == 1:
		o.Empty = true
		return nil
	case words[0] == "measure" && len(words) == 3:
		return measure(o, words[1], words[2])
	case words[0] == "pool" && len(words) == 3:
		return pooled(o, words[1], words[2])
	case words[0] == "after" && len(words) == 2:
		o.Spec.After = append(o.Spec.After, fleet.Name(words[1]))
		return nil
	case len(words) != 2:
		return fmt.Errorf("%q: write host NAME rack R room M zone Z network N storage S, home MACHINE HOST, empty, "+
			"measure METRIC QUANTITY, pool BALANCER WAIT, after FLEET, or one of %s with its value",
			text, strings.Join(Settings(), ", "))
	}
	return setting(o, words[0], words[1])
}

// home puts a machine on a host at the start. Who says it of one says it of all, in their order.
func (r *reader) home(machine, host string) error {
	o := &r.s.Options
	if n, ok := fleet.MachineName(machine).Ordinal(); !ok || n != len(o.Homes)+1 {
		return fmt.Errorf("home %s: say of every machine where it stands, in their order; next is number %d",
			machine, len(o.Homes)+1)
	}
	o.Homes = append(o.Homes, host)
	return nil
}

// measure says which quantity of the load a metric is.
func measure(o *sim.Options, metric, quantity string) error {
	if !slices.Contains(load.Quantities(), load.Quantity(quantity)) {
		return fmt.Errorf("measure %s %s: a metric can be one of %v", metric, quantity, load.Quantities())
	}
	if o.Burden.Measures == nil {
		o.Burden.Measures = map[fleet.MetricName]load.Quantity{}
	}
	o.Burden.Measures[fleet.MetricName(metric)] = load.Quantity(quantity)
	return nil
}

// pooled puts the fleet behind a load balancer with members, and connections that may take so long to end.
func pooled(o *sim.Options, balancer, wait string) error {
	d, err := time.ParseDuration(wait)
	if err != nil || d < 0 {
		return fmt.Errorf("pool %s %s: write a duration, as 30s", balancer, wait)
	}
	o.Spec.Pools = append(o.Spec.Pools, policy.Pool{Balancer: fleet.BalancerName(balancer), Wait: d})
	return nil
}

// place adds a host, or says more about one that the configuration names.
func place(o *sim.Options, h world.Host) {
	if i := slices.IndexFunc(o.Hosts, func(known world.Host) bool { return known.Name == h.Name }); i >= 0 {
		k := &o.Hosts[i]
		k.Rack, k.Room, k.Zone = cmp.Or(h.Rack, k.Rack), cmp.Or(h.Room, k.Room), cmp.Or(h.Zone, k.Zone)
		k.Network, k.Storage = cmp.Or(h.Network, k.Network), cmp.Or(h.Storage, k.Storage)
		k.Fence, k.Cut, k.Delay = cmp.Or(h.Fence, k.Fence), cmp.Or(h.Cut, k.Cut), cmp.Or(h.Delay, k.Delay)
		k.Beside = cmp.Or(h.Beside, k.Beside)
		return
	}
	o.Hosts = append(o.Hosts, h)
}

// A set takes a setting's value over, or says what is wrong with it.
type set func(o *sim.Options, value string) error

// settings lists what can be set, besides hosts and empty.
func settings() map[string]set {
	return map[string]set{
		"servers":  number(1, 9, func(o *sim.Options, n uint64) { o.Servers = int(n) }), //nolint:gosec // at most 9
		"seed":     number(0, 1<<63, func(o *sim.Options, n uint64) { o.Seed = n }),
		"run":      span(func(o *sim.Options, d time.Duration) { o.Horizon = d }),
		"calm":     span(func(o *sim.Options, d time.Duration) { o.Calm = d }),
		"boot":     stretch(func(o *sim.Options, least, most time.Duration) { o.Boot, o.BootMost = least, most }),
		"latency":  stretch(func(o *sim.Options, least, most time.Duration) { o.Latency, o.LatencyMost = least, most }),
		"operator": span(func(o *sim.Options, d time.Duration) { o.Operator = d }),
		"capacity": amount(func(o *sim.Options, units float64) { o.Burden.Capacity = units }),
	}
}

// Settings lists the names of what the world part can set, sorted.
func Settings() []string { return slices.Sorted(maps.Keys(settings())) }

func setting(o *sim.Options, key, value string) error {
	apply, ok := settings()[key]
	if !ok {
		return fmt.Errorf("there is no setting %q: write host, empty, or one of %s",
			key, strings.Join(Settings(), ", "))
	}
	if err := apply(o, value); err != nil {
		return fmt.Errorf("%s %s: %w", key, value, err)
	}
	return nil
}

func number(least, most uint64, take func(*sim.Options, uint64)) set {
	return func(o *sim.Options, value string) error {
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil || n < least || n > most {
			return fmt.Errorf("write a whole number from %d to %d", least, most)
		}
		take(o, n)
		return nil
	}
}

func amount(take func(*sim.Options, float64)) set {
	return func(o *sim.Options, value string) error {
		units, err := verbs.ParseAmount(value)
		if err == nil && units == 0 {
			err = errors.New("write more than 0")
		}
		take(o, units)
		return err
	}
}

func span(take func(*sim.Options, time.Duration)) set {
	return func(o *sim.Options, value string) error {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return errors.New("write a duration, as 30s or 1h30m")
		}
		take(o, d)
		return nil
	}
}

// stretch reads a duration, or a range of them as 20s..40s, from which each one is drawn.
func stretch(take func(o *sim.Options, least, most time.Duration)) set {
	return func(o *sim.Options, value string) error {
		first, last, ranged := strings.Cut(value, "..")
		if !ranged {
			last = first
		}
		least, err := time.ParseDuration(first)
		most, err2 := time.ParseDuration(last)
		if err != nil || err2 != nil || least <= 0 || most < least {
			return errors.New("write a duration, as 30s or 1h30m, or a range of them, as 20s..40s")
		}
		take(o, least, most)
		return nil
	}
}

// mostFences bounds the tries to cut a host's power, and the machines of other fleets on it.
const mostFences = 100

func parseHost(words []string) (world.Host, error) {
	var h world.Host
	into := map[string]*string{
		"host": &h.Name, "rack": &h.Rack, "room": &h.Room, "zone": &h.Zone, "network": &h.Network,
		"storage": &h.Storage,
	}
	counts := map[string]*int{"fence": &h.Fence, "cut": &h.Cut, "beside": &h.Beside}
	for i := 0; i < len(words); i += 2 {
		if n := counts[words[i]]; n != nil && i+1 < len(words) {
			var err error
			if *n, err = strconv.Atoi(words[i+1]); err != nil || *n < 0 || *n > mostFences {
				what := "how often that can be tried"
				if words[i] == "beside" {
					what = "how many machines of other fleets stand there"
				}
				return h, fmt.Errorf("%s %s: say %s, 0 to %d", words[i], words[i+1], what, mostFences)
			}
			continue
		}
		if words[i] == "fence_delay" && i+1 < len(words) {
			var err error
			if h.Delay, err = time.ParseDuration(words[i+1]); err != nil || h.Delay < 0 {
				return h, fmt.Errorf("fence_delay %s: write a duration, as 15s", words[i+1])
			}
			continue
		}
		what, ok := into[words[i]]
		if !ok {
			return h, fmt.Errorf("a host has a rack, room, zone, network and storage, but no %q", words[i])
		}
		if i+1 == len(words) {
			return h, fmt.Errorf("the name of the %s is missing: write pairs, as host h1 rack r1", words[i])
		}
		*what = words[i+1]
	}
	return h, nil
}
