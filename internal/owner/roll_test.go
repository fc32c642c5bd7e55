package owner_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
	"hale/internal/owner"
)

// notes are what a roll is driven with: hosts that keep notes, and a store.
type notes struct {
	owner.Roll
	on    map[fleet.HostName][]fleet.StartName
	known []fleet.StartName
	asked []owner.Want
	full  error // why the store takes nothing
	deaf  error // why no host takes a note
}

// sends takes the roll through a pass for a call, and says why that may not be sent.
func (n *notes) sends(op fleet.Op, host fleet.HostName) string {
	a := situation.Action{Host: host, Intent: belief.Intent{Op: op}}
	for want := n.Begin(owner.Pass{Call: &a, Rolled: true}); want != owner.WantNothing; want = n.answer(want) {
		n.asked = append(n.asked, want)
	}
	return n.Permit()
}

func (n *notes) answer(want owner.Want) owner.Want {
	switch want {
	case owner.WantNotes:
		return n.Read(maps.Clone(n.on), nil)
	case owner.WantKnown:
		return n.Learn(slices.Values(n.known), nil)
	case owner.WantName:
		return n.Named("1-own", nil)
	case owner.WantAnother:
		return n.Named("2-own", nil)
	case owner.WantStored:
		return n.Stored(n.full)
	case owner.WantNoted:
		for host := range n.on {
			if n.deaf == nil {
				n.on[host] = append(n.on[host], n.Own)
			}
		}
		return n.Noted(n.deaf)
	case owner.WantPruned, owner.WantNothing:
	}
	return owner.WantNothing
}

func TestL01AStartIsStoredThenNotedThenLookedFor(t *testing.T) {
	t.Parallel()
	n := &notes{on: map[fleet.HostName][]fleet.StartName{"h1": nil, "h2": nil}}
	want := []owner.Want{
		owner.WantNotes, owner.WantName, owner.WantStored, owner.WantNoted, owner.WantNotes, owner.WantPruned,
	}
	if why := n.sends(fleet.OpCreate, "h1"); why != "" || !slices.Equal(n.asked, want) {
		t.Errorf("it is not sent: %s; asked: %v", why, n.asked)
	}
	n.asked = nil
	if why := n.sends(fleet.OpCreate, "h2"); why != "" || !slices.Equal(n.asked, want[:1]) {
		t.Errorf("the next one is not sent: %s; asked: %v", why, n.asked)
	}
}

// TestL01WhatCannotBeNotedDestroysNothing has the store, or the hosts, take no note. Where one host has it, that is
// enough.
func TestL01WhatCannotBeNotedDestroysNothing(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]*notes{
		"a full store": {full: errors.New("no space")}, "deaf hosts": {deaf: errors.New("no answer")},
	} {
		n.on = map[fleet.HostName][]fleet.StartName{"h1": nil}
		if why := n.sends(fleet.OpDelete, "h1"); !strings.HasPrefix(why, string(fleet.ReasonPlaceSilent)) {
			t.Errorf("%s: a delete is held by %q", name, why)
		}
		if why := n.sends(fleet.OpStart, "h1"); why != "" {
			t.Errorf("%s: a start is held by %q", name, why)
		}
		n.known = []fleet.StartName{"1-own"}
		n.on = map[fleet.HostName][]fleet.StartName{"h1": n.known, "h2": nil}
		if why := n.sends(fleet.OpDelete, "h1"); why != "" {
			t.Errorf("%s, and one host has the note: a delete is held by %q", name, why)
		}
	}
}

// TestL01AnUnknownStartHoldsEverything until the store knows it, by itself or by a person's word: then this start is
// another one.
func TestL01AnUnknownStartHoldsEverything(t *testing.T) {
	t.Parallel()
	n := &notes{on: map[fleet.HostName][]fleet.StartName{"h1": {"7-other"}}}
	for _, op := range []fleet.Op{fleet.OpStart, fleet.OpCreate} {
		if why := n.sends(op, "h1"); !strings.HasPrefix(why, string(fleet.ReasonStoreOlder)) {
			t.Errorf("%s is held by %q", op, why)
		}
	}
	n.known = []fleet.StartName{"7-other"}
	if why := n.sends(fleet.OpCreate, "h1"); why != "" || n.Own != "1-own" {
		t.Errorf("held by %q; this is %s", why, n.Own)
	}
	n.on["h1"] = append(n.on["h1"], "8-other")
	n.Believe([]fleet.StartName{"8-other"})
	if why := n.sends(fleet.OpCreate, "h1"); why != "" || n.Own != "2-own" {
		t.Errorf("held by %q; this is %s", why, n.Own)
	}
}
