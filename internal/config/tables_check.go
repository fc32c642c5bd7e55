package config

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/fleet"
)

func checkShape() object[checkDraft] {
	return object[checkDraft]{
		fields: append(wayFields(), []field[checkDraft]{
			or("every", defaultEvery, "The time from one probe to the next.",
				duration(100*time.Millisecond, 24*time.Hour),
				func(c *checkDraft) *at[time.Duration] { return &c.every }),
			may("timeout", "When no answer is a failure; shorter than every.", duration(10*time.Millisecond, time.Hour),
				func(c *checkDraft) *at[time.Duration] { return &c.timeout }).
				said(formatDuration(defaultTimeout) + ", or half of every when that is shorter"),
			or("down_after", defaultDownAfter, "So many failures in a row make the check down.", integer(1, 1000),
				func(c *checkDraft) *at[int] { return &c.downAfter }),
			or("up_after", defaultUpAfter, "So many successes in a row make it up again.", integer(1, 1000),
				func(c *checkDraft) *at[int] { return &c.upAfter }),
			may("down", "Instead of down_after: so many failures within so many results make the check down, as `3 "+
				"in 5`, though they need not follow each other. A look before a repair asks as often, too.",
				shareOfResults(), func(c *checkDraft) *at[share] { return &c.down }),
			may("up", "Instead of up_after: so many successes within so many results make it up again.",
				shareOfResults(),
				func(c *checkDraft) *at[share] { return &c.up }),
			may("not_every", "Times of the day at which its failures count for nothing, as `\"02:00-04:00\"`, and "+
				"until it had the time to speak afresh. It is asked all the same, and its success counts. What the "+
				"provider says counts, too.", list[hoursDraft]{noun: "one time", each: hoursShape()},
				func(c *checkDraft) *at[[]at[hoursDraft]] { return &c.notEvery }),
			may("depends_on", "Checks that explain its failures: while one of them fails, or one on which that "+
				"depends, this one is unknown, and only that one speaks.",
				list[string]{noun: "one check", each: name()},
				func(c *checkDraft) *at[[]at[string]] { return &c.dependsOn }),
		}...),
		later: map[string]string{
			"from": "take it out; checks run where hale runs", "agree": "take it out; checks run where hale runs",
		},
	}
}

// variableNames are those that every shell can name.
var variableNames = keyForm{noun: "the name of a variable", pattern: "^[A-Za-z_][A-Za-z0-9_]*$"}

// What is said of the programs of checks and of run steps.
var placeholdersSaid = "`" + strings.Join(fleet.Placeholders(),
	"`, `") + "` are replaced, and `{meta.KEY}` by what the instance bears under the key. "

const envSaid = "Its environment, beside a PATH: a text, in which the same is replaced, or `{file: PATH}` or `{env: " +
	"NAME}` for what is secret: that is read " +
	"anew each time, and hidden in what the program says."

// share is so many of the last results.
type share struct{ n, of int }

// mostResults is how far back a check can look.
const mostResults = 64

func shareOfResults() scalar[share] {
	return scalar[share]{
		noun: "a number of results", example: "3 in 5", forms: []form{formText}, parse: parseShare,
		format: func(s share) any { return fmt.Sprintf("%d in %d", s.n, s.of) },
		json: schema{Type: "string", Pattern: `^[0-9]+ +in +[0-9]+$`, noun: "number of results",
			bounds: fmt.Sprintf("1 in 1 to %d in %d", mostResults, mostResults)},
	}
}

func parseShare(text string) (share, *flaw) {
	words := strings.Fields(text)
	if len(words) != 3 || words[1] != "in" {
		return share{}, flawf("write for example 3 in 5", "%q is not a number of results", text)
	}
	n, bad := parseInteger(words[0])
	of, bad2 := parseInteger(words[2])
	switch {
	case bad != nil || bad2 != nil:
		return share{}, flawf("write for example 3 in 5", "%q is not a number of results", text)
	case of < 1 || of > mostResults:
		return share{}, flawf(fmt.Sprintf("look back on 1 to %d results", mostResults), "%d is out of range", of)
	case n < 1 || n > of:
		return share{}, flawf(fmt.Sprintf("choose 1 to %d", of), "%d in %d can never be", n, of)
	}
	return share{n, of}, nil
}
