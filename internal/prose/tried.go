package prose

import (
	"fmt"
	"slices"
	"strings"

	"hale/internal/core/belief"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// tried says of a machine that was given to a person how often hale tried, and what: a line for each attempt in the
// story.
func tried(r record.Record, story []record.Record) []string {
	at := slices.IndexFunc(story, func(s record.Record) bool { return s.Kind == record.Quarantined })
	if at < 0 || story[at].Tries == 0 {
		return nil
	}
	lines := []string{times(story[at].Tries) + ", and none of that made it healthy for good"}
	attempts := attemptsIn(story[:at])
	if n := story[at].Tries - len(attempts); n > 0 {
		lines = append(lines, fmt.Sprintf("%s before this: hale events %s", times(n), r.Machine))
	}
	return append(lines, attempts...)
}

// attemptsIn lists what was tried in each attempt, and why it failed.
func attemptsIn(story []record.Record) []string {
	var attempts [][]string
	for _, s := range story {
		switch kind := belief.RepairKind(s.Reason); {
		case s.Kind == record.RepairStarted && (kind == belief.RepairHeal || kind == belief.RepairBuild):
			attempts = append(attempts, nil)
		case s.Kind == record.StepFailed && len(attempts) > 0:
			last := &attempts[len(attempts)-1]
			*last = append(*last, Because(stepName(s), Aside(words.Reason(s.Reason), s.Detail)))
		}
	}
	lines := make([]string, 0, len(attempts))
	for _, steps := range attempts {
		if len(steps) == 0 {
			steps = []string{"no step ended"}
		}
		lines = append(lines, strings.Join(steps, "; "))
	}
	return lines
}
