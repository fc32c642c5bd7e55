package simulated

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Kind is the provider type simulated.
func Kind() kinds.Provider {
	return kinds.Provider{
		Word: "simulated", Doc: "for machines that exist only inside hale, to try a configuration",
		Usages: policy.Usages(),
		Hosts:  true, Witnesses: true, Tags: true, Moves: true, Rescues: true, Simulated: true,
		Keys: keys.SectionOf("simulated", providerKeys(), compileKeys), Stored: kinds.StoredAs[Settings], Warn: warn,
	}
}

// Settings are what the keys come to.
type Settings struct {
	Behaviour `json:"Simulated"`
}

// Behaviour says how the world behaves.
type Behaviour struct {
	Boot    time.Duration // from power on until the checks are answered
	Latency time.Duration // of each call
	// Machines exist before hale, in the file's order.
	Machines []string
}

// SameAddress implements kinds.Settings.
func (s Settings) SameAddress(_ kinds.Settings, hosts kinds.Hosts) bool { return hosts.Kept() }

// Connect implements kinds.Settings. The world that it makes is the transport.
func (s Settings) Connect(_ context.Context, c kinds.Connection) (kinds.Connected, error) {
	o := Options{
		Boot: s.Boot, Latency: s.Latency, Seed: seed(c.Name), Checks: c.Checks, Places: c.Places(),
		Canaries: c.Canaries,
	}
	for _, h := range c.Hosts {
		o.Hosts = append(o.Hosts, h.Name)
	}
	world := NewWorld(o)
	handle := world.Open("hale")
	return kinds.Connected{Provider: handle, Watcher: handle, Transport: world, Runner: handle.Commands(),
		Hooks: handle.Hooks()}, nil
}

// seed gives each provider an identity of its own, the same whenever hale starts.
func seed(name fleet.ProviderName) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // hash.Hash never fails to write
	return h.Sum64()
}

const defaultBoot = 2 * time.Second

type ownDraft struct {
	boot, latency keys.At[time.Duration]
	machines      keys.At[[]keys.At[string]]
}

func providerKeys() []keys.Field[ownDraft] {
	return []keys.Field[ownDraft]{
		keys.Or("boot", defaultBoot, "Simulated only: the time from power on until the checks are answered.",
			keys.Duration(0, time.Hour), func(p *ownDraft) *keys.At[time.Duration] { return &p.boot }),
		keys.Or("latency", 0, "Simulated only: how long each call takes.",
			keys.Duration(0, time.Minute), func(p *ownDraft) *keys.At[time.Duration] { return &p.latency }),
		keys.May("machines", "Simulated only: names of machines that exist and that hale did not build, to "+
			"try fleets.FLEET.select.",
			keys.List[string]{Noun: "one name", Each: keys.Name()},
			func(p *ownDraft) *keys.At[[]keys.At[string]] { return &p.machines }),
	}
}

func compileKeys(e kinds.Entry, d *ownDraft) kinds.Made {
	s := Settings{Behaviour{Boot: d.boot.Value, Latency: d.latency.Value}}
	for _, m := range d.machines.Value {
		if m.Known() && slices.Contains(s.Machines, m.Value) {
			e.Add(m.Spot, fmt.Sprintf("there is a machine %s already", m.Value), "give each its own name")
		}
		s.Machines = append(s.Machines, m.Value)
	}
	return kinds.Made{Settings: s}
}

// warn names the fleets that give a machine less time than it takes to boot.
func warn(name string, settings kinds.Settings, _ []kinds.Host, fleets []policy.Spec) []string {
	s, _ := settings.(Settings)
	var out []string
	for i := range fleets {
		if f := &fleets[i]; f.Mode == policy.ModeAct && s.Boot > f.Grace {
			out = append(out, fmt.Sprintf("fleets.%s.grace: %s is less than the %s that provider %s takes to "+
				"boot a machine: it is taken for failed, and repaired, before it is up; write more", f.Name,
				keys.FormatDuration(f.Grace), keys.FormatDuration(s.Boot), name))
		}
	}
	return out
}
