package prose

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// TestNoSentenceIsBroken tells every kind with every reason, bare and furnished: whatever is recorded can be read.
func TestNoSentenceIsBroken(t *testing.T) {
	t.Parallel()
	furnished := record.Record{
		Fleet: "web", Machine: "web-2", Verdict: belief.VerdictUnhealthy, Cause: belief.CauseChecks, Check: "page",
		Result: fleet.ResultRefused, Incident: "web-2/1", Repair: "web-2/r1", Step: fleet.StepReboot,
		Op:      fleet.OpReboot,
		Outcome: fleet.OutcomeDone, Proof: fleet.ProofConfirmedOff, Instance: "3f2a1b2c-9e5e", Generation: 2,
		Host:     "h1",
		Provider: "lab", Detail: "detail", Failing: 1, Size: 3, Limit: 2, Took: time.Second, Chance: 1e-9,
		Scope: policy.ScopeRack, Order: "o1", Command: fleet.OrderHold, By: "alice", Parent: "web/p1",
		Domain: fleet.Domain{Kind: fleet.DomainRack, Name: "r1"},
		Target: "ops", Event: policy.NotifyPage, Tries: 3, Snapshot: "r3", Bytes: 3 << 20,
		Hook: "leave/drain", Word: fleet.HookDone,
	}
	meagre := furnished
	meagre.Cause, meagre.Check, meagre.Result, meagre.Host, meagre.Took = "", "", "", "", 0
	meagre.Scope = ""
	meagre.Order, meagre.Command, meagre.By = "", "", ""
	meagre.Parent, meagre.Domain, meagre.Chance = "", fleet.Domain{}, 0
	for _, kind := range record.Kinds() {
		if _, ok := sentences[kind]; !ok {
			t.Errorf("a record %q has no sentence", kind)
		}
		for _, why := range words.Reasons() {
			for _, r := range []record.Record{furnished, meagre} {
				r.Kind, r.Reason = kind, why
				if s := Sentence(r); !readable(s) {
					t.Errorf("%s because of %s: %q", kind, why, s)
				}
			}
		}
	}
}

// readable reports whether a sentence has no trace of what was left out.
func readable(s string) bool {
	broken := []string{"%!", "  ", "()", ": :", "::", " ,", ", ,", "( ", " )", "\n"}
	return s != "" && s == strings.TrimSpace(s) && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, ".") &&
		!slices.ContainsFunc(broken, func(b string) bool { return strings.Contains(s, b) })
}
