package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/fault"
	"hale/internal/fence"
	"hale/internal/fence/fencetest"
	"hale/internal/fleet"
	"hale/internal/lab"
	"hale/internal/lab/bmc"
)

// envFences is how often each way to fail is tried of each power controller.
const envFences = "E2E_FENCES"

// Two ways that are none of the controller's.
const alreadyOff fencetest.Fault = "it is off already"

// inVain is how long it is tried where no proof is to be had.
const inVain = moment

// trouble is a way to fail, and what must come of it.
type trouble struct {
	fault  fencetest.Fault
	proven bool // off, and said to be so
	fooled bool // on, and said to be off: what no method can find out by itself
}

var troubles = []trouble{
	{fault: fencetest.Works, proven: true},
	{fault: alreadyOff, proven: true},
	{fault: fencetest.WrongPassword},
	{fault: fencetest.Dead},
	{fault: fencetest.Late, proven: true},
	{fault: fencetest.Ignores},
	{fault: lies, fooled: true},
	{fault: fencetest.AnswerLost, proven: true},
	{fault: fencetest.Slow, proven: true},
}

// TestFencesProveWhatTheySay has real power controllers before real machines turn them off while they fail in every way, and prints what comes of it.
func TestFencesProveWhatTheySay(t *testing.T) {
	t.Parallel()
	rounds := 1
	if text := os.Getenv(envFences); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("%s: %q is no number of rounds", envFences, text)
		}
		rounds = n
	}
	guest, err := lab.BuildGuest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := lab.Start(t.Context(), lab.Options{Guest: guest, Subnet: netip.MustParsePrefix("10.94.0.0/16")})
	if err != nil {
		t.Fatal(err)
	}
	tab := &table{cells: map[string]map[fencetest.Fault]*cell{}}
	t.Cleanup(func() {
		t.Logf("what came of it in %d rounds:\n%s", rounds, tab)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, make := range map[string]func(p *plug) part{
		"redfish": func(p *plug) part { return redfishPart(p, false) }, "fence_redfish": func(p *plug) part { return redfishPart(p, true) },
		"ipmi": func(p *plug) part { return ipmiPart(p, false) }, "fence_ipmilan": func(p *plug) part { return ipmiPart(p, true) },
		"command": commandPart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlug(t, l, name)
			made := make(p)
			for range rounds {
				for _, way := range troubles {
					p.try(made, way, tab)
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
	limit := patience // this machine does other things, too; what is proven is proven sooner
	if !way.proven {
		limit = inVain
	}
	m := fence.Method{Name: p.domain, Controller: with.speaker, Yields: fleet.ProofHostOff, Attempts: 1, Timeout: limit,
		Settle: fence.DefaultSettle, Poll: fence.DefaultPoll}
	if way.fault == fencetest.WrongPassword {
		m.Controller = with.stolid
	}
	done, err := fence.Attempt(p.Context(), m)
	on, truth := p.On()
	p.must(truth)
	tab.add(with.name, way.fault, done, err)
	switch {
	case err == nil && on && !way.fooled:
		p.Errorf("L1: %s, %s: on, and said to be off (%+v)", with.name, name(way.fault), done)
	case (err == nil) != (way.proven || way.fooled):
		p.Errorf("%s, %s: %+v, %v; wanted proof: %t", with.name, name(way.fault), done, err, way.proven)
	case way.fault == alreadyOff && done.Orders != 0:
		p.Errorf("%s: what was off was ordered off", with.name)
	}
	p.must(with.fail(fencetest.Works))
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

func (t *table) add(method string, f fencetest.Fault, done fence.Done, err error) {
	said := "host-off"
	if err != nil {
		said = "none: " + string(fault.KindOf(err))
	}
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
	if !strings.Contains(c.said, said) {
		c.said += " or " + said
	}
	c.took = append(c.took, done.Took)
}

// String renders the table as documents show it.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	b.WriteString("| method | what happens | proof | p50 | max |\n|---|---|---|---|---|\n")
	methods := make([]string, 0, len(t.cells))
	for m := range t.cells {
		methods = append(methods, m)
	}
	slices.Sort(methods)
	for _, m := range methods {
		for _, way := range troubles {
			c := t.cells[m][way.fault]
			if c == nil {
				continue
			}
			slices.Sort(c.took)
			fmt.Fprintf(&b, "| %s | %s | %s | %.1f s | %.1f s |\n", m, name(way.fault), c.said, c.took[len(c.took)/2].Seconds(), c.took[len(c.took)-1].Seconds())
		}
	}
	return b.String()
}
