package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hale/api"
)

// changing is a call that changes something, for hale to be killed in the middle of it.
type changing struct {
	before func(k *killing, try string) // what must be so for it; nil: nothing
	call   func(ctx context.Context, k *killing, try string) error
	effect func(k *killing, try string) int // how often it took effect; nil: it leaves nothing to count
}

// changes are the calls that change something, and what is to be seen of each. A take-over takes another installation,
// and a retry of messages takes ones that were given up: those are made in the tests of package server.
var changes = map[string]changing{
	"a hold": {nil, order(api.OrderRequest{Kind: "hold", Subjects: []string{"web-1"}, For: api.Duration(time.Hour)}),
		func(k *killing, try string) int {
			k.await("it is in force", func(s api.Status) bool {
				held := s.Fleets[0].Holds
				return len(held) == 1 && held[0].Reason == try
			})
			return k.orders(try)
		}},
	"a hold with a name": {nil,
		func(ctx context.Context, k *killing, try string) error {
			_, err := k.client.PutHold(ctx, "power", api.HoldWish{Subject: "web-1", Reason: try, For: "1h"},
				api.HoldChange{Wait: 10 * time.Second})
			return err
		},
		func(k *killing, try string) int {
			is, err := k.client.Hold(k.Context(), "power")
			if err != nil || is.Reason != try || len(is.Parts) != 1 || is.Parts[0].State != api.HoldHeld {
				k.Errorf("it is %+v, %v", is, err)
			}
			return k.orders(try)
		}},
	"a name released": {
		func(k *killing, try string) {
			_, err := k.client.PutHold(k.Context(), "power",
				api.HoldWish{Subject: "web", Reason: "before " + try, For: "1h"},
				api.HoldChange{New: true, Wait: 10 * time.Second})
			k.must(err)
		},
		func(ctx context.Context, k *killing, _ string) error {
			_, err := k.client.DeleteHold(ctx, "power", api.HoldChange{Wait: 10 * time.Second})
			return err
		},
		func(k *killing, try string) int {
			_, err := k.client.Hold(k.Context(), "power")
			var p api.Problem
			if !errors.As(err, &p) || p.Code != api.CodeUnknownHold {
				k.Errorf("it is there still: %v", err)
			}
			return k.orders("before "+try) - 1 // that placed it, and that released it
		}},
	"the brake": {nil, order(api.OrderRequest{Kind: "brake-on", Subjects: []string{"web"}}), (*killing).orders},
	"a size":    {nil, order(api.OrderRequest{Kind: "scale", Subjects: []string{"web"}, Size: 3}), (*killing).orders},
	"a plan":    {(*killing).plans, confirm, (*killing).orders},
	"a host turned off": {(*killing).powered,
		func(ctx context.Context, k *killing, try string) error {
			_, err := k.client.FenceOff(ctx, api.FenceOffRequest{Subject: "h1", Force: true, Reason: try})
			return err
		},
		func(k *killing, _ string) int { return k.lines("off") }},
	"a test message": {
		func(k *killing, _ string) { k.must(os.RemoveAll(k.path("told"))) },
		func(ctx context.Context, k *killing, _ string) error {
			_, err := k.client.Test(ctx, "pager")
			return err
		},
		func(k *killing, _ string) int { return k.lines("told") }},
	"a token": {nil,
		func(ctx context.Context, k *killing, try string) error {
			_, err := k.client.MakeToken(ctx, api.TokenRequest{Name: try, Person: "ana", Role: "viewer",
				For: api.Duration(time.Hour)})
			return err
		},
		func(k *killing, try string) int {
			all, err := k.client.Tokens(k.Context())
			k.must(err)
			n := 0
			for _, t := range all.Tokens {
				if t.Name == try {
					n++
				}
			}
			return n
		}},
	"a token revoked": {
		func(k *killing, try string) {
			made, err := k.client.MakeToken(k.Context(), api.TokenRequest{Name: try, Person: "ana", Role: "viewer",
				For: api.Duration(time.Hour)})
			k.must(err)
			k.token = made.ID
		},
		func(ctx context.Context, k *killing, _ string) error {
			_, err := k.client.Revoke(ctx, k.token)
			return err
		},
		func(k *killing, _ string) int {
			all, err := k.client.Tokens(k.Context())
			k.must(err)
			if slices.ContainsFunc(all.Tokens, func(t api.Token) bool { return t.ID == k.token }) {
				return 0
			}
			return 1
		}},
	"a test of fences": {(*killing).powered, func(ctx context.Context, k *killing, _ string) error {
		_, err := k.client.TestFences(ctx, api.FenceRequest{Subjects: []string{"h1"}})
		return err
	}, nil},
	"a reload": {nil, func(ctx context.Context, k *killing, _ string) error {
		_, err := k.client.Reload(ctx)
		return err
	}, nil},
	"a simulated failure": {
		func(k *killing, _ string) {
			k.await("web-2 is there", func(s api.Status) bool { return k.healthy(s) == s.Fleets[0].Size })
		},
		func(ctx context.Context, k *killing, _ string) error {
			_, err := k.client.Break(ctx, api.BreakOrder{Machine: "web-2", Way: "hang"})
			return err
		}, nil},
}

func order(q api.OrderRequest) func(context.Context, *killing, string) error {
	q.Wait = api.Duration(10 * time.Second)
	return func(ctx context.Context, k *killing, try string) error {
		q.Reason = try
		_, err := k.client.Order(ctx, q)
		return err
	}
}

func confirm(ctx context.Context, k *killing, try string) error {
	_, err := k.client.Confirm(ctx, k.plan, api.Confirmation{Reason: try, Wait: api.Duration(10 * time.Second)})
	return err
}

// killing is a hale with two simulated machines, which is killed again and again.
type killing struct {
	*ending
	plan  string // that waits
	token string // that is to be revoked
}

// TestKilledInTheMiddleOfACall kills hale at a random moment of each call that changes something, starts it anew, and
// has the call asked again with its key: it took effect once. HALE_KILLS is how often each is tried.
func TestKilledInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	times := 2
	if said := os.Getenv("HALE_KILLS"); said != "" {
		var err error
		if times, err = strconv.Atoi(said); err != nil {
			t.Fatalf("HALE_KILLS=%s: %v; write how often", said, err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			k := &killing{ending: &ending{T: t, fleets: 1, dice: rand.New(rand.NewPCG(seed, uint64(len(name))))}}
			k.begin()
			k.start()
			k.await("all are healthy", func(s api.Status) bool { return k.healthy(s) == 2 })
			for i := range times {
				k.try(c, fmt.Sprintf("%s, try %d", name, i))
			}
		})
	}
}

// begin makes a hale that knows nothing.
func (k *killing) begin() {
	dir, err := os.MkdirTemp("", "hale-kills-")
	k.must(err)
	k.dir, k.client = dir, api.Dial(filepath.Join(dir, "sock"))
	k.Cleanup(func() {
		k.client.Close()
		k.must(os.RemoveAll(dir))
	})
	k.must(os.WriteFile(k.path("power"), []byte(`#!/bin/sh
D=$(dirname "$0")
if [ "$HALE_ACTION" = off ]; then echo off >> "$D/off"; exit 0; fi
[ -e "$D/off" ] && exit 4
exit 0
`), 0o700))
	k.must(os.WriteFile(k.path("hale.yaml"), fmt.Appendf(nil, `
providers: {lab: {type: simulated, boot: 0s, hosts: [{name: h1, fence: [own]}]}}
fences: {own: {command: {command: [%q]}}}
notify: {pager: {command: {command: [/bin/sh, -c, "cat >> %s; echo >> %[2]s"]}}}
fleets: {web: {provider: lab, size: 2, checks: {page: {http: {}, every: 200ms, timeout: 100ms}}}}
`, k.path("power"), k.path("told")), 0o600))
}

// try makes the call, has hale killed meanwhile, and asks again until it is answered.
func (k *killing) try(c changing, try string) {
	k.Helper()
	if c.before != nil {
		c.before(k, try)
	}
	key := fmt.Sprintf("%032x", k.dice.Uint64())
	ctx := api.WithKey(k.Context(), key)
	asked := make(chan error, 1)
	go func() { asked <- c.call(ctx, k, try) }() // ends soon after hale is there again; awaited below
	moment := time.Duration(k.dice.ExpFloat64() * float64(8*time.Millisecond))
	<-time.After(moment)
	k.must(k.hale.Process.Signal(syscall.SIGKILL))
	<-k.ended
	k.start()
	first := <-asked
	k.await("it knows its machines", func(s api.Status) bool { return len(s.Fleets[0].Machines) >= 2 })
	again := c.call(ctx, k, try)
	var p api.Problem
	half := errors.As(again, &p) && p.Code == api.CodeHalfDone
	if again != nil && !half {
		k.Errorf("%s, killed after %v: asked again it is answered: %v (and before: %v)", try, moment, again, first)
	}
	if c.effect == nil {
		return
	}
	if n := c.effect(k, try); n != 1 && (n != 0 || !half) {
		k.Errorf("%s, killed after %v: it took effect %d times (%v, %v)", try, moment, n, first, again)
	}
}

// orders counts those with the reason.
func (k *killing) orders(reason string) int {
	k.Helper()
	given, err := k.client.Given(k.Context(), api.GivenQuery{})
	k.must(err)
	n := 0
	for _, g := range given.Orders {
		if g.Reason == reason {
			n++
		}
	}
	return n
}

// lines counts those of the file.
func (k *killing) lines(name string) int {
	k.Helper()
	text, err := os.ReadFile(k.path(name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		k.Fatal(err)
	}
	return len(strings.Fields(strings.ReplaceAll(string(text), " ", "")))
}

// plans has a plan wait.
func (k *killing) plans(try string) {
	k.Helper()
	for i, size := range []int{3, 2} {
		k.must(order(api.OrderRequest{Kind: "scale", Subjects: []string{"web"}, Size: size})(
			k.Context(), k, fmt.Sprintf("before %s, %d", try, i)))
	}
	k.await("a plan waits", func(api.Status) bool {
		waits, err := k.client.Plans(k.Context())
		if err != nil || len(waits.Plans) != 1 {
			return false
		}
		k.plan = waits.Plans[0].ID
		return true
	})
}

// powered has the host on.
func (k *killing) powered(string) {
	k.Helper()
	k.must(os.RemoveAll(k.path("off")))
	k.await("the host has its method", func(s api.Status) bool {
		return k.healthy(s) == 2 && len(s.Fleets[0].Hosts) == 1
	})
}
