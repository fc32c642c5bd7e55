package netprobe_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/probe"
	"hale/internal/probe/netprobe"
	"hale/internal/probe/probetest"
	"hale/internal/provider"
)

// guests answer for their agents.
type guests struct {
	mu    sync.Mutex
	err   error
	mute  bool // no answer until the asker gives up
	asked []provider.Ref
}

// PingGuest implements provider.GuestPinger.
func (g *guests) PingGuest(ctx context.Context, ref provider.Ref) error {
	g.mu.Lock()
	g.asked = append(g.asked, ref)
	mute, err := g.mute, g.err
	g.mu.Unlock()
	if mute {
		<-ctx.Done()
	}
	return err
}

func (g *guests) set(mute bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mute, g.err = mute, err
}

func (g *guests) last() provider.Ref {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked[len(g.asked)-1]
}

// agentOf is an agent check of an instance without an address.
func agentOf(id fleet.InstanceID, host fleet.HostName) probe.Target {
	return probe.Target{
		ID: probe.ID{Machine: "web-1", Check: "agent"}, Instance: id, Host: host, Epoch: 1,
		Spec: &policy.Check{
			Name: "agent", Kind: policy.CheckAgent, Every: 5 * time.Second, Timeout: 2 * time.Second, DownAfter: 2,
			UpAfter: 1,
		},
	}
}

func saidBy(kind fault.Kind, why string) error {
	return fault.New(kind, "p.ping-guest", "a", errors.New(why))
}

// TestWhatAnAgentsSilenceMeans: only what the provider says of the agent is the machine's failure (L4).
func TestWhatAnAgentsSilenceMeans(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mute bool
		err  error
		want string
	}{
		"it answers": {false, nil, "up, ok: "},
		"it is not connected": {false, saidBy(fault.Conflict, "not connected"),
			"down, timeout: not connected"},
		"it does not answer in time": {true, saidBy(fault.Conflict, "no answer"), "down, timeout: "},
		"there is no channel": {false, saidBy(fault.Unsupported, "no channel"),
			"unknown, unsupported: no channel"},
		"it is on another host": {false, saidBy(fault.NotFound, "no such domain"),
			"unknown, local: the instance is not on the host where hale asked for it"},
		"the provider cannot be heard": {false, saidBy(fault.Transient, "cut"), "unknown, local: cut"},
		"the provider is frozen":       {true, saidBy(fault.Transient, "frozen"), "unknown, local: frozen"},
		"hale may not ask":             {false, saidBy(fault.Unauthorised, "read only"), "unknown, local: read only"},
		"an error that says nothing":   {false, errors.New("odd"), "unknown, local: odd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := &guests{mute: tc.mute, err: tc.err}
				e := start(t, probetest.NewTransport(), netprobe.Options{Agents: g})
				s := e.Look(t.Context(), agentOf("a", "h1"))
				if got := fmt.Sprintf("%s, %s: %s", s.Standing, s.Result, s.Detail); got != tc.want {
					t.Errorf("look says %q, want %q", got, tc.want)
				}
			})
		})
	}
}

func TestAProviderThatCannotAskAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := start(t, probetest.NewTransport(), netprobe.Options{})
		if s := e.Look(t.Context(), agentOf("a", "h1")); s.Standing != fleet.StandingUnknown ||
			s.Result != fleet.ResultUnsupported {
			t.Errorf("look says %+v", s)
		}
	})
}

// TestAnAgentIsAskedWhereItsInstanceIs: probes follow a move and a new instance at once, ignore the address, and are
// not sent without an instance.
func TestAnAgentIsAskedWhereItsInstanceIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &guests{}
		e := start(t, probetest.NewTransport(), netprobe.Options{Agents: g})
		now := func(target probe.Target) probe.Edge {
			e.Set(target)
			time.Sleep(time.Second)
			synctest.Wait()
			return e.Standings()[0]
		}
		if edge := now(agentOf("", "")); edge.Result != fleet.ResultNoAddress || len(g.asked) > 0 {
			t.Errorf("without an instance: %+v", edge)
		}
		for _, where := range []probe.Target{agentOf("a", "h1"), agentOf("a", "h2"), agentOf("b", "h2")} {
			edge := now(where)
			if ref := g.last(); edge.Standing != fleet.StandingUp || ref.ID != where.Instance ||
				ref.Host != where.Host {
				t.Errorf("aimed at %s on %s: asked %+v, %+v", where.Instance, where.Host, ref, edge)
			}
		}
		asked, before := len(g.asked), e.Standings()[0].Seq
		addressed := agentOf("b", "h2")
		addressed.Address = netip.MustParseAddr("10.0.0.9")
		if edge := now(addressed); edge.Seq != before || len(g.asked) > asked+1 {
			t.Errorf("a new address disturbed it: %+v", edge)
		}
		g.set(true, saidBy(fault.Conflict, "no answer"))
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if edge := e.Standings()[0]; edge.Standing != fleet.StandingDown || edge.Result != fleet.ResultTimeout {
			t.Errorf("silent: %+v", edge)
		}
	})
}
