package e2e

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/fence"
	"hale/internal/fence/fencetest"
	"hale/internal/testbed/lab"
	"hale/internal/testbed/lab/bmc"
)

// envFences is how often each way to fail is tried of each power controller.
const envFences = "E2E_FENCES"

// Two ways that are none of the controller's.
const alreadyOff fencetest.Fault = "it is off already"

// Limits of one attempt; a question or an order may take a third. What is proven is proven sooner: this machine does
// other things, too.
const (
	enough  = 45 * time.Second // where a lost answer takes its whole third
	inVain  = 15 * time.Second // where no proof is to be had
	atWorst = patience         // where nothing is waited for to its end
)

// trouble is a way to fail, and what must come of it.
type trouble struct {
	fault  fencetest.Fault
	limit  time.Duration
	proven bool // off, and said to be so
	fooled bool // on, and said to be off: what no method can find out by itself
	orders int
	// why there is no proof; empty: as the part says it
	why fault.Kind
}

var troubles = []trouble{
	{fault: fencetest.Works, limit: atWorst, proven: true, orders: 1},
	{fault: alreadyOff, limit: atWorst, proven: true},
	{fault: fencetest.WrongPassword, limit: atWorst},
	{fault: fencetest.Dead, limit: inVain, why: fault.Transient},
	{fault: fencetest.Late, limit: atWorst, proven: true, orders: 1},
	{fault: fencetest.Ignores, limit: inVain, orders: 1, why: fault.Permanent},
	{fault: lies, limit: atWorst, fooled: true},
	{fault: fencetest.AnswerLost, limit: enough, proven: true, orders: 1},
	{fault: fencetest.Slow, limit: atWorst, proven: true, orders: 1},
}

// TestFencesProveWhatTheySay has real power controllers before real machines turn them off while they fail in every
// way, and prints what comes of it.
func TestFencesProveWhatTheySay(t *testing.T) {
	t.Parallel()
	times := rounds(t, envFences, 1)
	guest, err := lab.BuildGuest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(t.Context(), lab.Options{Guest: guest, Subnet: netip.MustParsePrefix("10.95.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	tab := &table{cells: map[string]map[fencetest.Fault]*cell{}}
	t.Cleanup(func() {
		t.Logf("what came of it in %d rounds:\n%s", times, tab)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, build := range map[string]func(p *plug) part{
		"redfish":                  func(p *plug) part { return redfishPart(p, false) },
		"fence_redfish":            func(p *plug) part { return redfishPart(p, true) },
		"ipmi":                     func(p *plug) part { return ipmiPart(p, false) },
		"fence_ipmilan":            func(p *plug) part { return ipmiPart(p, true) },
		"ipmi of go-ipmi":          func(p *plug) part { return goIPMIPart(p, false) },
		"fence_ipmilan at go-ipmi": func(p *plug) part { return goIPMIPart(p, true) }, "command": commandPart,
		"fence_virsh": virshPart, "fence_virt": virtPart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlug(t, l, strings.ReplaceAll(name, " ", "-"))
			made := build(p)
			for range times {
				for _, way := range troubles {
					if !slices.Contains(made.lacks, way.fault) {
						p.try(made, way, tab)
					}
				}
			}
		})
	}
}

// try fences the plug once with the trouble, and compares the method's word with the truth.
func (p *plug) try(with part, way trouble, tab *table) {
	p.Helper()
	p.must(with.fail(fencetest.Works))
	start := bmc.On
	if way.fault == alreadyOff {
		start = bmc.Off
	}
	p.must(p.Set(start))
	p.must(with.fail(way.fault))
	done, err := p.fence(with, way)
	on, truth := p.On()
	p.must(truth)
	tab.add(with.name, way.fault, done.Took, claim(err, on))
	for _, wrong := range way.against(done, err, on, with.refuses) {
		p.Errorf("%s, %s: %s (%+v, %v)", with.name, name(way.fault), wrong, done, err)
	}
	p.must(with.fail(fencetest.Works))
}

// fence makes one attempt. One that was to be heard in vain and was not heard at all, since the machine is busy, is
// made again with more time.
func (p *plug) fence(with part, way trouble) (fence.Done, error) {
	m := fence.Method{
		Name: p.domain, Controller: with.speaker, Yields: fleet.ProofHostOff, Attempts: 1, Timeout: way.limit,
		Settle: fence.DefaultSettle, Poll: fence.DefaultPoll,
	}
	if way.fault == fencetest.WrongPassword {
		m.Controller = with.stolid
	}
	done, err := fence.Attempt(p.Context(), m)
	if way.fault == fencetest.Ignores && fault.Is(err, fault.Transient) {
		m.Timeout = atWorst
		done, err = fence.Attempt(p.Context(), m)
	}
	return done, err
}

// against lists what should not have come of it: the method's word against the truth, and against what must be found
// out.
func (w trouble) against(done fence.Done, err error, on bool, refuses fault.Kind) (wrong []string) {
	note := func(bad bool, what string) {
		if bad {
			wrong = append(wrong, what)
		}
	}
	why := w.why
	if w.fault == fencetest.WrongPassword {
		why = refuses
	}
	note(err == nil && on && !w.fooled, "L1: it is on, and said to be off")
	note(on == w.proven, "the machine is not as it should be after that")
	note((err == nil) != (w.proven || w.fooled), "it is said to be off, or not, and should not be")
	note(err != nil && fault.KindOf(err) != why, "the wrong reason; wanted "+string(why))
	note(done.Orders != w.orders, "so many orders; wanted "+strconv.Itoa(w.orders))
	return wrong
}

func name(f fencetest.Fault) string {
	if f == fencetest.Works {
		return "it works"
	}
	return string(f)
}

// table is what came of all tries.
type table struct {
	mu    sync.Mutex
	cells map[string]map[fencetest.Fault]*cell
}

type cell struct {
	said string
	took []time.Duration
}

// claim says what a method said, and whether it is true.
func claim(err error, on bool) string {
	switch {
	case err != nil:
		return "none (" + string(fault.KindOf(err)) + ")"
	case on:
		return string(fleet.ProofHostOff) + ", wrongly,"
	}
	return string(fleet.ProofHostOff)
}

func (t *table) add(method string, f fencetest.Fault, took time.Duration, said string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cells[method] == nil {
		t.cells[method] = map[fencetest.Fault]*cell{}
	}
	c := t.cells[method][f]
	if c == nil {
		c = &cell{said: said}
		t.cells[method][f] = c
	}
	if !slices.Contains(strings.Split(c.said, " or "), said) {
		c.said += " or " + said
	}
	c.took = append(c.took, took)
}

// String renders the table as documents show it: the grade of the proof, p50 and the longest time to it.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	methods := slices.Sorted(maps.Keys(t.cells))
	var b strings.Builder
	b.WriteString("| what happens | " + strings.Join(methods, " | ") + " |\n|---" +
		strings.Repeat("|---", len(methods)) + "|\n")
	for _, way := range troubles {
		b.WriteString("| " + name(way.fault))
		for _, m := range methods {
			b.WriteString(" | " + t.cells[m][way.fault].String())
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// String renders what came of one way to fail; nothing, if it was not tried.
func (c *cell) String() string {
	if c == nil {
		return ""
	}
	slices.Sort(c.took)
	return fmt.Sprintf("%s %.1f, %.1f s", c.said, c.took[len(c.took)/2].Seconds(), c.took[len(c.took)-1].Seconds())
}
