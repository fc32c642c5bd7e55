package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Fence is one way to cut the power of hosts, or their access to storage or network.
type Fence struct {
	Name     string
	Kind     string // a word of kinds.All
	Attempts int
	Timeout  time.Duration // of one attempt
	Settle   time.Duration // for how long the controller must say off
	Test     time.Duration // from one test to the next
	// Settings are what the kind's own keys come to.
	Settings kinds.Fencing
}

// Cuts reports whether it leaves hosts their power, and cuts their access.
func (f *Fence) Cuts() bool {
	_, cuts := f.Settings.(kinds.Cutting)
	return cuts
}

// cut says what it cuts hosts from.
func (f *Fence) cut() kinds.Access {
	if c, cuts := f.Settings.(kinds.Cutting); cuts {
		return c.Cuts()
	}
	return ""
}

// tells reports whether it can tell one host from another.
func (f *Fence) tells() bool { return f.Settings != nil && f.Settings.TellsHosts() }

// methodDraft is one entry of fences.
type methodDraft struct {
	own                   keys.Own // what the kinds bring
	attempts              keys.At[int]
	timeout, settle, test keys.At[time.Duration]
}

// The defaults of what fences hosts.
const (
	defaultFenceAttempts = 2
	defaultFenceTimeout  = 15 * time.Second
	defaultFenceSettle   = 2 * time.Second
	defaultFenceTest     = time.Hour
)

// maxFenceTimeout is as long as a lease covers a call that harms.
const maxFenceTimeout = 15 * time.Second

func methodShape(all kinds.All) keys.Object[methodDraft] {
	ways := keys.Within(kinds.WayFields(all.Fences, "A method has one of"), func(m *methodDraft) *keys.Own { return &m.own })
	return keys.Object[methodDraft]{
		Fields: append(ways,
			keys.Or("attempts", defaultFenceAttempts, "How often it is tried before the host's next method is. A "+
				"wrong password is not tried again.", keys.Integer(1, 10),
				func(m *methodDraft) *keys.At[int] { return &m.attempts }),
			keys.Or("timeout", defaultFenceTimeout, "The limit of one attempt, from the first question to the proof; "+
				"one question or order may take a third of it.",
				keys.Duration(3*time.Second, maxFenceTimeout),
				func(m *methodDraft) *keys.At[time.Duration] { return &m.timeout }),
			keys.Or("settle", defaultFenceSettle, "For how long the controller must say off: a host in the middle of "+
				"somebody's power cycle is off for a moment, too.",
				keys.Duration(time.Second, 10*time.Second),
				func(m *methodDraft) *keys.At[time.Duration] { return &m.settle }),
			keys.Or("test", defaultFenceTest, "How often hale asks the controller how its host stands, so that a "+
				"broken one is found before it is needed. It changes nothing.",
				keys.Duration(time.Minute, 30*24*time.Hour),
				func(m *methodDraft) *keys.At[time.Duration] { return &m.test }),
		),
		Later: map[string]string{
			"watchdog": "nothing proves from outside that a host honours its watchdog: name a power controller",
			"yields":   "take it out: what a method proves is that the host is off",
		},
	}
}

// compileFences judges the entries of fences.
func compileFences(drafts []keys.Named[methodDraft], all kinds.All, f *keys.Finder) []Fence {
	var out []Fence
	for _, n := range drafts {
		d := n.Value
		m := Fence{Name: n.Name, Attempts: d.attempts.Value, Timeout: d.timeout.Value, Settle: d.settle.Value,
			Test: d.test.Value}
		words, settings := kinds.TakeWays(all.Fences, &d.own, f)
		m.Kind, m.Settings = cmp.Or(words...), settings
		switch {
		case len(words) == 0 && n.OK:
			f.Add(n.Spot, "does not say how", "add one of "+kinds.WayExamples(all.Fences))
		case len(words) > 1:
			f.Add(n.Spot, fmt.Sprintf("is both %s and %s", words[0], words[1]),
				"make it two methods, and name both for the host")
		}
		if d.settle.Known() && d.timeout.Known() && d.settle.Value*2 > d.timeout.Value {
			f.Add(d.settle.Spot, fmt.Sprintf("%s leaves no time to turn off within %s",
				keys.FormatDuration(d.settle.Value),
				keys.FormatDuration(d.timeout.Value)),
				"lower settle, or raise timeout to twice as much at least")
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Fence) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// FencesOf returns the methods of a host, in the order in which they are tried.
func (c *Config) FencesOf(p fleet.ProviderName, host fleet.HostName) []Fence {
	var out []Fence
	for _, provider := range c.Providers {
		for _, h := range provider.Hosts {
			if provider.Name != p || h.Name != host {
				continue
			}
			for _, name := range h.Fence {
				i := slices.IndexFunc(c.Fences, func(f Fence) bool { return f.Name == name })
				if i >= 0 {
					out = append(out, c.Fences[i])
				}
			}
		}
	}
	return out
}
