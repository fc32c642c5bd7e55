package fleet_test

import (
	"slices"
	"testing"

	"hale/internal/core/fleet"
)

// The whole order, cell by cell: a row is what is known, a column what is demanded.
func TestL1WhichProofMeetsWhichDemand(t *testing.T) {
	t.Parallel()
	demands := []fleet.Proof{"none", "access-cut", "word", "watchdog-expired", "confirmed-off", "host-off",
		"confirmed-deleted"}
	for known, meets := range map[fleet.Proof]string{
		"":                  "+------",
		"nonsense":          "+------",
		"none":              "+------",
		"access-cut":        "++-----",
		"word":              "+++----",
		"watchdog-expired":  "++++---",
		"confirmed-off":     "+++++--",
		"host-off":          "++++++-",
		"confirmed-deleted": "+++++++",
	} {
		for i, demanded := range demands {
			if got := known.Meets(demanded); got != (meets[i] == '+') {
				t.Errorf("%s meets %s: %v", known, demanded, got)
			}
		}
		if known.Meets("nonsense") {
			t.Errorf("%q meets a demand that nobody knows", known)
		}
	}
}

// A proof that meets another one meets all that the other does, and one that does not say off never meets one that
// does.
func TestTheOrderOfProofsIsOne(t *testing.T) {
	t.Parallel()
	for _, g := range fleet.Grades() {
		for _, weaker := range g.Meets {
			for _, w := range weaker.Grade().Meets {
				if !g.Proof.Meets(w) {
					t.Errorf("%s meets %s, which meets %s, and does not itself", g.Proof, weaker, w)
				}
			}
			if weaker.Off() && !g.Off {
				t.Errorf("%s does not say off, and meets %s", g.Proof, weaker)
			}
		}
		if g.Why == "" && g.Proof != fleet.ProofDeleted {
			t.Errorf("nobody says why %s is not worth more", g.Proof)
		}
	}
}

func TestL1WhatLetsAReplacementStart(t *testing.T) {
	t.Parallel()
	off := fleet.Fence{Proof: fleet.ProofConfirmedOff}
	word := fleet.Fence{Proof: fleet.ProofConfirmedOff, Word: true}
	for name, c := range map[string]struct {
		fence  fleet.Fence
		enough []fleet.Proof
	}{
		"seen off":           {off, []fleet.Proof{"confirmed-off", "host-off", "confirmed-deleted"}},
		"or a person's word": {word, []fleet.Proof{"word", "confirmed-off", "host-off", "confirmed-deleted"}},
		"gone":               {fleet.Fence{Proof: fleet.ProofDeleted}, []fleet.Proof{"confirmed-deleted"}},
		"cut is enough": {fleet.Fence{Proof: fleet.ProofAccessCut},
			[]fleet.Proof{"access-cut", "watchdog-expired", "confirmed-off", "host-off", "confirmed-deleted"}},
		"cut, or a word": {fleet.Fence{Proof: fleet.ProofAccessCut, Word: true},
			[]fleet.Proof{"access-cut", "word", "watchdog-expired", "confirmed-off", "host-off", "confirmed-deleted"}},
		"no demand at all": {fleet.Fence{}, []fleet.Proof{"word", "watchdog-expired", "confirmed-off", "host-off",
			"confirmed-deleted"}},
	} {
		for _, g := range fleet.Grades() {
			if got := c.fence.Enough(g.Proof); got != slices.Contains(c.enough, g.Proof) {
				t.Errorf("%s: %s is enough: %v", name, g.Proof, got)
			}
		}
	}
}
