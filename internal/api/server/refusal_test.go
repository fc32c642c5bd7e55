package server

import (
	"testing"
	"time"

	"hale/api"
	"hale/internal/api/view"
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
)

func TestAnOrderRefusedUnderAPersonsBrakeSaysWhoPutItOn(t *testing.T) {
	t.Parallel()
	f := published.Fleet{State: situation.State{Spec: policy.Spec{Name: "web"}}}
	f.Now.Wall = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	f.Brake = belief.Brake{By: "maria", Words: "disk swap", At: f.Now.Wall.Add(-2 * time.Hour)}
	s := &Server{}
	s.opts.Status = func() []published.Fleet { return []published.Fleet{f} }
	got := s.refusal(fleet.ReasonBrake, "web")
	want := api.Reason{
		Code: "brake", Text: "maria put the brake on (disk swap) 2h00m ago",
		Advice: "hale brake off web lets repairs begin again; nothing else does",
	}
	if got != want {
		t.Errorf("%+v", got)
	}
	f.Brake = belief.Brake{}
	if got := s.refusal(fleet.ReasonBrake, "web"); got != view.Reason(fleet.ReasonBrake, "") {
		t.Errorf("the brake of its own: %+v", got)
	}
}

// hale orders says it later, too, when the brake may be off.
func TestARefusedOrderOfThePastNamesWhoPutTheBrakeOn(t *testing.T) {
	t.Parallel()
	told := toldOf([]record.Record{
		{Fleet: "web", Machine: "web-2", Kind: record.Order, Order: "1", Command: fleet.OrderHeal, By: "bob",
			Reason: fleet.ReasonBrake, Braker: "maria"},
		{Fleet: "web", Machine: "web-3", Kind: record.Order, Order: "2", Command: fleet.OrderHeal, By: "bob",
			Reason: fleet.ReasonBrake},
	})
	if got, want := told[0].Text, "refused: maria put the brake on"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const advice = "hale brake off web lets repairs begin again; nothing else does"
	if got := told[0].Refused.Advice; got != advice {
		t.Errorf("the advice is %q, want %q", got, advice)
	}
	if got, want := told[1].Text, "refused: too many machines fail at once, so the brake is on"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
