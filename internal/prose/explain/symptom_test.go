package explain

import (
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/probe"
)

func TestAnAttemptThatFailedSaysByWhatAndWhenTheNextOneFollows(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
	m := belief.Machine{
		Name:    "web-1",
		RetryAt: now.Mono.Add(19 * time.Second),
		Waiting: fleet.ReasonBackoff,
		Incident: &belief.Incident{
			Cause: belief.CauseBuild, Failed: 1, Last: belief.Failure{Why: fleet.ReasonNameTaken,
				Detail: "the name web-1 belongs to VM c2d9"}},
	}
	if got, want := Retry(&m, now),
		"it could not be built: the name web-1 belongs to VM c2d9; next try in 19s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	e := Machine(published.Fleet{State: situation.State{Now: now}}, situation.View{Machine: m})
	if len(e.Person) != 1 || e.Person[0] != "rename or remove the instance that has the name" {
		t.Errorf("a person is told %q", e.Person)
	}
	m.Incident.Last = belief.Failure{}
	if got, want := Retry(&m, now),
		"the last attempt failed, and the next one follows after a pause; next try in 19s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatGetsWellSaysWhichAnswersItLacks(t *testing.T) {
	t.Parallel()
	spec := policy.Spec{
		Checks: []policy.Check{
			{Name: "page", UpAfter: 2},
			{Name: "ping", UpAfter: 1},
			{Name: "ssh", UpAfter: 3, UpIn: 5},
		},
	}
	v := situation.View{
		Checks: []fleet.CheckState{
			{Check: "page", Standing: fleet.StandingDown},
			{Check: "ping", Standing: fleet.StandingUp},
			{Check: "ssh", Standing: fleet.StandingFailing},
		},
	}
	f := published.Fleet{State: situation.State{Spec: spec}, Good: map[probe.ID]int{{Check: "page"}: 1}}
	if got, want := Lacking(&f, v), "check page needs 2 good answers in a row (1 so far), check ssh needs 3 good "+
		"answers of 5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
