package fleets

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/config/times"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

func checkShape(all kinds.All) keys.Object[checkDraft] {
	ways := keys.Within(kinds.WayFields(all.CheckWays(), "A check asks in one way: one of"),
		func(d *checkDraft) *keys.Own { return &d.own })
	return keys.Object[checkDraft]{
		Fields: append(ways, []keys.Field[checkDraft]{
			keys.Or("every", defaultEvery, "The time from one probe to the next.",
				keys.Duration(100*time.Millisecond, 24*time.Hour),
				func(c *checkDraft) *keys.At[time.Duration] { return &c.every }),
			keys.May("timeout", "When no answer is a failure; shorter than every.",
				keys.Duration(10*time.Millisecond, time.Hour),
				func(c *checkDraft) *keys.At[time.Duration] { return &c.timeout }).
				Said(keys.FormatDuration(defaultTimeout) + ", or half of every when that is shorter"),
			keys.Or("down_after", defaultDownAfter, "So many failures in a row make the check down.",
				keys.Integer(1, 1000),
				func(c *checkDraft) *keys.At[int] { return &c.downAfter }),
			keys.Or("up_after", defaultUpAfter, "So many successes in a row make it up again.", keys.Integer(1, 1000),
				func(c *checkDraft) *keys.At[int] { return &c.upAfter }),
			keys.May("down", "Instead of down_after: so many failures within so many results make the check down, as "+
				"`3 in 5`, though they need not follow each other. A look before a repair asks as often, too.",
				shareOfResults(), func(c *checkDraft) *keys.At[share] { return &c.down }),
			keys.May("up", "Instead of up_after: so many successes within so many results make it up again.",
				shareOfResults(),
				func(c *checkDraft) *keys.At[share] { return &c.up }),
			keys.May("not_every", "Times of the day at which its failures count for nothing, as `\"02:00-04:00\"`, "+
				"and until it had the time to speak afresh. It is asked all the same, and its success counts. What "+
				"the provider says counts, too.", keys.List[times.Hours]{Noun: "one time", Each: times.HoursShape()},
				func(c *checkDraft) *keys.At[[]keys.At[times.Hours]] { return &c.notEvery }),
			keys.May("depends_on", "Checks that explain its failures: while one of them fails, or one on which that "+
				"depends, this one is unknown, and only that one speaks.",
				keys.List[string]{Noun: "one check", Each: keys.Name()},
				func(c *checkDraft) *keys.At[[]keys.At[string]] { return &c.dependsOn }),
			keys.Or("then", thenHeal, "What follows when the check is down. `heal`: it may make the machine unhealthy "+
				"(unhealthy_when). `tell`: people are told, as of a disk that is nearly full (`warnings` in "+
				"notify.TARGET.events), and nothing else follows: to judge and to repair the machine, hale does not "+
				"look at the check.", keys.Choice(nil, thenHeal, thenTell),
				func(c *checkDraft) *keys.At[checkThen] { return &c.then }),
			keys.Or("vantages", 1, "From how many vantages it is asked: hale's server is one, satellites and "+
				"servers that stand by are the others. Only over the network, and with no secret in it. "+
				"See docs/guide/vantages.md.",
				keys.Integer(1, policy.MostVantages), func(c *checkDraft) *keys.At[int] { return &c.vantages }),
			keys.May("agree", "So many of the vantages must say that the machine is down, each now, for the check to "+
				"be down; and so many must find it in the look before a repair.", keys.Integer(1, policy.MostVantages),
				func(c *checkDraft) *keys.At[int] { return &c.agree }).Said("more than half of them"),
		}...),
		Later: map[string]string{"from": "write vantages: 3, to have satellites ask, too"},
	}
}

// share is so many of the last results.
type share struct{ n, of int }

// mostResults is how far back a check can look.
const mostResults = 64

func shareOfResults() keys.Scalar[share] {
	return keys.Scalar[share]{
		Noun: "a number of results", Example: "3 in 5", Forms: []keys.Form{keys.FormText}, Parse: parseShare,
		Format: func(s share) any { return fmt.Sprintf("%d in %d", s.n, s.of) },
		JSON: keys.Schema{Type: "string", Pattern: `^[0-9]+ +in +[0-9]+$`, Noun: "number of results",
			Bounds: fmt.Sprintf("1 in 1 to %d in %d", mostResults, mostResults)},
	}
}

func parseShare(text string) (share, *keys.Flaw) {
	words := strings.Fields(text)
	if len(words) != 3 || words[1] != "in" {
		return share{}, keys.Flawf("write for example 3 in 5", "%q is not a number of results", text)
	}
	n, bad := keys.ParseInteger(words[0])
	of, bad2 := keys.ParseInteger(words[2])
	switch {
	case bad != nil || bad2 != nil:
		return share{}, keys.Flawf("write for example 3 in 5", "%q is not a number of results", text)
	case of < 1 || of > mostResults:
		return share{}, keys.Flawf(fmt.Sprintf("look back on 1 to %d results", mostResults), "%d is out of range", of)
	case n < 1 || n > of:
		return share{}, keys.Flawf(fmt.Sprintf("choose 1 to %d", of), "%d in %d can never be", n, of)
	}
	return share{n, of}, nil
}
