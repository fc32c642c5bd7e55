package steer

import (
	"slices"
	"testing"

	"hale/api"
)

func TestAPlanThatWaitsNamesTheCommandThatConfirmsIt(t *testing.T) {
	t.Parallel()
	shrink := api.Waiting{ID: "web-1f3a", Subject: "fleet web", From: 3, To: 2,
		Remove: []api.Touched{{Machine: "web-3", Instance: "5d0c"}}}
	blocked := shrink
	blocked.Blocked = api.Reason{Code: "keeps-disk", Text: "a disk would be lost", Advice: "see disks"}
	const confirm = "  to do it: hale apply --confirm web-1f3a"
	for name, c := range map[string]struct {
		plan api.Waiting
		wait bool
		want bool
	}{
		"it waits":                      {plan: shrink, wait: true, want: true},
		"a file that was only compared": {plan: shrink},
		"it cannot be confirmed":        {plan: blocked, wait: true},
	} {
		lines := sheet{}.changes(api.Changes{Plans: []api.Waiting{c.plan}}, "", c.wait)
		if got := slices.Contains(lines, confirm); got != c.want {
			t.Errorf("%s: the command that confirms it is said: %v, want %v, in %q", name, got, c.want, lines)
		}
	}
}
