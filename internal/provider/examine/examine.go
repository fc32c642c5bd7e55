// Package examine asks the program of an exec provider the questions of package providertest, as hale provider test
// does for the program's author.
//
// It promises to ask the questions that hale's own adapters answer. Each is passed, failed or not asked, with the
// reason, and what it built is removed at its end. It does not render anything.
package examine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/external"
	"hale/internal/provider/providertest"
)

// Options say what is examined, and how.
type Options struct {
	External external.Options // Strict and Run are the examination's own
	Template policy.Template  // that boots and gets an address
	// Hooks is a program that makes trouble for the questions that need it; empty: none. See
	// docs/reference/exec-provider.md.
	Hooks    []string
	Patience time.Duration // how long anything may take
	// Only selects questions by their names; nil: all.
	Only *regexp.Regexp
}

// Verdict is how a question ended.
type Verdict string

// The verdicts.
const (
	Passed   Verdict = "passed"
	Failed   Verdict = "failed"
	NotAsked Verdict = "not asked"
)

// Outcome is one question, and how it ended.
type Outcome struct {
	Question string        `json:"question"`
	Verdict  Verdict       `json:"verdict"`
	Why      []string      `json:"why,omitempty"` // what failed, or what it would take to be asked
	Took     time.Duration `json:"took_ns"`
}

// Report is a whole examination.
type Report struct {
	Program   string    `json:"program"` // as it calls itself
	Abilities []string  `json:"abilities"`
	Outcomes  []Outcome `json:"questions"`
}

// Count returns how many questions ended so.
func (r Report) Count(v Verdict) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Verdict == v {
			n++
		}
	}
	return n
}

// Run asks all questions, one after the other, and tells of each as it ends. An error means that the program cannot be
// examined at all.
func Run(ctx context.Context, o Options, tell func(Outcome)) (Report, error) {
	h, err := newHarness(ctx, o)
	if err != nil {
		return Report{}, err
	}
	r := Report{Program: h.said.Name, Abilities: h.said.Abilities}
	note := func(out Outcome) {
		r.Outcomes = append(r.Outcomes, out)
		tell(out)
	}
	for _, c := range providertest.All() {
		switch {
		case o.Only != nil && !o.Only.MatchString(c.Name):
		case !c.Asked(h):
			note(Outcome{Question: c.Name, Verdict: NotAsked, Why: []string{"it takes " + c.Needs}})
		case ctx.Err() != nil:
			return r, ctx.Err()
		default:
			note(ask(ctx, c.Name, func(t providertest.T) { c.Run(t, h) }))
		}
	}
	note(ask(ctx, "nothing is left of all this", h.nothingIsLeft))
	return r, nil
}

func (h *harness) nothingIsLeft(t providertest.T) {
	l, err := h.New(t).List(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range l.Instances {
		if strings.HasPrefix(string(i.Mark.Installation), providertest.Installation) {
			t.Errorf("%s is still there: %s", i.Name, i.ID)
		}
	}
}

// harness is the program with what surrounds it.
type harness struct {
	o     Options
	said  external.Description
	hosts []fleet.HostName
	hooks []string // the words that the hooks know
	deaf  *deafness
}

func newHarness(ctx context.Context, o Options) (*harness, error) {
	h := &harness{o: o, deaf: &deafness{}}
	p, err := h.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	defer func() { _ = p.Close() }() // it always succeeds
	if h.said, err = p.Describe(ctx); err != nil {
		return nil, err
	}
	l, err := p.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, answer := range l.Hosts {
		if answer.Err != nil {
			return nil, fmt.Errorf("host %q must answer: %w", answer.Name, answer.Err)
		}
		h.hosts = append(h.hosts, answer.Name)
	}
	if len(o.Hooks) > 0 {
		words, err := h.hook(ctx, "words")
		if err != nil {
			return nil, err
		}
		h.hooks = strings.Fields(words)
		if i := slices.IndexFunc(h.hooks, func(w string) bool { return !slices.Contains(hookWords(), w) }); i >= 0 {
			return nil, fmt.Errorf("unknown hook %q: the hooks are %q", h.hooks[i], hookWords())
		}
	}
	return h, nil
}

func (h *harness) open() (*external.Provider, error) {
	o := h.o.External
	o.Strict, o.Run = true, h.deaf.run
	return external.New(o)
}

// New implements providertest.Harness.
func (h *harness) New(t providertest.T) provider.Provider {
	p, err := h.open()
	if err == nil {
		_, err = p.Describe(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() }) // it always succeeds
	return p
}

// Hosts implements providertest.Harness.
func (h *harness) Hosts() []fleet.HostName { return h.hosts }

// Template implements providertest.Harness.
func (h *harness) Template() policy.Template { return h.o.Template }

// Patience implements providertest.Harness.
func (h *harness) Patience() time.Duration { return h.o.Patience }

// need is what it takes to be asked about something.
type need struct {
	ability string   // of the program; empty: none
	hooks   []string // all of them
	hosts   int      // at least
}

// needs are by the name of the interface; those without one are always there.
func needs() map[string]need {
	return map[string]need{
		"Watched":      {ability: "watch"},
		"Noting":       {ability: "starts"},
		"Keeper":       {ability: "keep"},
		"Counted":      {ability: "usage"},
		"Rebuilder":    {ability: "rebuild"},
		"Adjusted":     {ability: "adjust"},
		"Killer":       {hooks: []string{"kill"}},
		"Pauser":       {ability: "resume", hooks: []string{"pause"}},
		"Listener":     {ability: "soft-reboot", hooks: []string{"boot", "deafen"}},
		"DiskTeller":   {ability: "rebuild", hooks: []string{"disk-boots"}},
		"Speaker":      {ability: "ping-guest", hooks: []string{"mute"}},
		"Printer":      {ability: "console", hooks: []string{"printed"}},
		"Viewer":       {ability: "screenshot", hooks: []string{"screen"}},
		"CopyTeller":   {ability: "snapshot", hooks: []string{"disk-boots", "copied-boots", "copies"}},
		"Outsider":     {hooks: []string{"stranger", "forget"}},
		"Disconnecter": {hooks: []string{"cut", "mend"}},
		"Freezer":      {hooks: []string{"freeze", "thaw"}},
		"HostFailer":   {hooks: []string{"fail-host", "repair-host"}, hosts: 2},
		"Leaver":       {hooks: []string{"leave", "take-away", "fail-host", "repair-host"}, hosts: 2},
		"Copier":       {hooks: []string{"copy", "forget"}},
	}
}

func hookWords() []string {
	var words []string
	for _, n := range needs() {
		words = append(words, n.hooks...)
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// Can implements providertest.Selective.
func (h *harness) Can(ability string) bool {
	if ability == "Diskless" {
		return !slices.Contains(h.said.Abilities, "disks")
	}
	n := needs()[ability]
	missing := func(hook string) bool { return !slices.Contains(h.hooks, hook) }
	return (n.ability == "" || slices.Contains(h.said.Abilities, n.ability)) &&
		!slices.ContainsFunc(n.hooks, missing) && len(h.hosts) >= n.hosts
}

var errHook = errors.New("a hook failed")
