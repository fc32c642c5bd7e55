package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/prose"
	"hale/internal/sim"
	"hale/internal/sim/chronicle"
	"hale/internal/trial/scenario"
)

// Options is what is to be compared.
type Options struct {
	Journal Journal
	Policy  *config.Config
	Fleet   fleet.Name // empty: each one that both the journal and the policy have
	// Patience is how soon an untouched machine must have been healthy again to count as never dead.
	Patience time.Duration
	Seed     uint64 // of what the journal leaves to chance: how long boots and calls take
}

// Comparison is what a policy would have done about what was recorded. It is what hale replay --json prints.
type Comparison struct {
	Journal  Journal  `json:"journal"`
	Patience string   `json:"patience"`
	Seed     uint64   `json:"seed"`
	Days     float64  `json:"days"`
	Recorded Tally    `json:"recorded"`
	Replayed Tally    `json:"replayed"`
	Fleets   []string `json:"fleets"`
	// Incidents are all of them, by their beginning.
	Incidents []*Incident `json:"incidents"`
	// NotReplayed is what the journal tells and the replay leaves out, and why.
	NotReplayed []string `json:"not_replayed"`
	Assumptions []string `json:"assumptions"`
}

// Tally counts incidents by what became of them.
type Tally struct {
	Incidents int `json:"incidents"`
	Healed    int `json:"healed"`     // hale acted and the machine was healthy afterwards, the wrong ones among them
	Wrongly   int `json:"wrongly"`    // hale acted on a machine that was not dead, or that a person had stopped
	Missed    int `json:"missed"`     // a failure was neither healed nor anybody told
	Paged     int `json:"paged"`      // a person was told
	LeftAlone int `json:"left_alone"` // rightly: it was not dead, or a person had stopped it
	// Elsewhere are acts on machines that the journal calls well at that time.
	Elsewhere int `json:"elsewhere"`
	// FleetPages told a person of the fleet as a whole, or of its provider.
	FleetPages int `json:"fleet_pages"`
}

// Replayed is what became of an incident under the other policy.
type Replayed struct {
	Became Became   `json:"became"`
	Acts   []string `json:"acts"`
	Held   []string `json:"held"`
	// Seconds is how long the machine was down in the simulated world.
	Seconds int  `json:"seconds"`
	Paged   bool `json:"paged"`
	Unseen  bool `json:"unseen"` // the policy does not call it a failure
}

// Became is what became of an incident.
type Became string

// What can become of an incident.
const (
	Healed    Became = "healed"
	Wrongly   Became = "acted on wrongly"
	Missed    Became = "missed"
	Paged     Became = "paged"
	LeftAlone Became = "rightly left alone"
	NoPlace   Became = "not replayed" // the fleet has no such machine
	Covered   Became = "down already" // an earlier incident of the machine was not over
)

// Assumptions are the rules by which what a journal leaves open is decided.
func Assumptions(patience time.Duration) []string {
	return []string{
		fmt.Sprintf("a machine that a look found alive, or that was healthy again within %s untouched, was not dead: "+
			"to act on it is wrong", prose.Span(patience)),
		"a machine that the provider reported as failed was down, whatever ended the failure",
		"a failure that hale's act ended would have lasted until some act; one that no act of hale's ended is over " +
			"when it was then",
		"a reset that did not help shows a machine that only a rebuild cures; one that was never tried might have " +
			"helped",
		"what failed is taken from the first failing check's answer: silence is a hang, a refusal a dead " +
			"application, a status an application in error",
		"between two records nothing changed; how long boots and calls take is the simulated world's",
	}
}

// Compare replays the journal under the policy.
func Compare(o Options) (Comparison, error) {
	c := Comparison{
		Journal: o.Journal, Patience: o.Patience.String(), Seed: o.Seed,
		Days: o.Journal.To.Sub(o.Journal.From).Hours() / 24, Fleets: []string{}, Incidents: []*Incident{},
		NotReplayed: []string{}, Assumptions: Assumptions(o.Patience),
	}
	pairs, unmatched, err := o.match()
	if err != nil {
		return Comparison{}, err
	}
	c.NotReplayed = append(c.NotReplayed, unmatched...)
	for _, p := range pairs {
		if err := c.replay(o, p); err != nil {
			return Comparison{}, fmt.Errorf("fleet %s: %w", p.recorded, err)
		}
	}
	slices.SortStableFunc(c.Incidents, func(a, b *Incident) int { return a.From.Compare(b.From) })
	return c, nil
}

// pair is a fleet of the journal, and the index of the policy's fleet that meets its incidents.
type pair struct {
	recorded fleet.Name
	index    int
}

// match finds the policy's fleet for each of the journal's: the one of the same name, or the only one for the only one.
func (o Options) match() (pairs []pair, unmatched []string, err error) {
	recorded, of := o.Journal.Fleets(), o.Policy.Fleets
	if o.Fleet != "" {
		if !slices.Contains(recorded, o.Fleet) {
			return nil, nil, fmt.Errorf("the journal tells of no fleet %q; it tells of %s", o.Fleet, list(recorded))
		}
		recorded = []fleet.Name{o.Fleet}
	}
	var names []fleet.Name
	for _, f := range of {
		names = append(names, f.Name)
	}
	for _, name := range recorded {
		switch i := slices.Index(names, name); {
		case i >= 0:
			pairs = append(pairs, pair{name, i})
		case len(recorded) == 1 && len(of) == 1:
			pairs = append(pairs, pair{name, 0})
		default:
			unmatched = append(unmatched, fmt.Sprintf("fleet %s: the policy has no fleet of that name", name))
		}
	}
	if len(pairs) == 0 {
		return nil, nil, fmt.Errorf("the policy has fleets %s, and the journal tells of %s: none is the same",
			list(names), list(recorded))
	}
	return pairs, unmatched, nil
}

func list(names []fleet.Name) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return strings.Join(words, ", ")
}

// replay plays one fleet.
func (c *Comparison) replay(o Options, p pair) error {
	h := tell(o.Journal.events[p.recorded], o.Patience)
	options := sim.Options{Servers: 1, Seed: o.Seed, History: &chronicle.History{}}
	scenario.Adopt(&options, o.Policy, p.index)
	plan := newPlan(h, options.Spec, o.Journal.From, o.Journal.To)
	plan.run(&options)
	if _, err := sim.Run(options); err != nil {
		return err
	}
	v := verdicts{plan: plan, h: options.History, name: options.Spec.Name}
	v.judge(h.incidents)
	c.Fleets = append(c.Fleets, string(p.recorded))
	c.Incidents = append(c.Incidents, h.incidents...)
	for _, u := range plan.unfit {
		c.NotReplayed = append(c.NotReplayed, fmt.Sprintf("fleet %s: %s", p.recorded, u))
	}
	if n := h.left["verdict unknown"]; n > 0 {
		c.NotReplayed = append(c.NotReplayed,
			fmt.Sprintf("fleet %s: %d times it was not known how a machine was; unknown is not dead", p.recorded, n))
	}
	for _, i := range h.incidents {
		c.Recorded.record(i)
		c.Replayed.replay(i)
	}
	c.Recorded.FleetPages += h.pages
	c.Replayed.FleetPages += v.pages()
	c.Replayed.Elsewhere += v.elsewhere
	return nil
}

// record counts what was done then. It does not say which of its acts were wrong: what would have been without them is
// not known.
func (t *Tally) record(i *Incident) {
	t.Incidents++
	r := i.Recorded
	switch acted := len(r.Acts) > 0; {
	case r.Healed:
		t.Healed++
	case i.Nature == Failure && !r.Paged && !acted:
		t.Missed++
	case i.Nature != Failure && !acted:
		t.LeftAlone++
	}
	if r.Paged {
		t.Paged++
	}
}

// replay counts what would have been done.
func (t *Tally) replay(i *Incident) {
	t.Incidents++
	switch i.Replayed.Became {
	case Healed:
		t.Healed++
	case Wrongly:
		t.Healed++
		t.Wrongly++
	case Missed:
		t.Missed++
	case LeftAlone:
		t.LeftAlone++
	case Paged, NoPlace, Covered:
	}
	if i.Replayed.Paged {
		t.Paged++
	}
}
