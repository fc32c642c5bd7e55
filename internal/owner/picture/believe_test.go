package picture_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
)

// An order to believe the world is not offered before the provider was asked what that is like; the others are, and
// nothing is decided again and again for the one that waits.
func TestTheWorldIsBelievedOnceItWasSeen(t *testing.T) {
	t.Parallel()
	now := fleet.Now{Mono: 1, Wall: time.Unix(1, 0)}
	p := picture.New(picture.Options{Spec: spec(), Epoch: 1, FreshID: func() fleet.InstanceID { return "fresh" },
		Aimed: func(int, picture.Aim) {}}, now)
	p.TellOrder(fleet.Order{ID: "1", Kind: fleet.OrderRecover, Fleet: "web", Believe: true})
	p.TellOrder(fleet.Order{ID: "2", Kind: fleet.OrderBrakeOn, Fleet: "web"})
	if o := p.Situation(now).Orders; len(o) != 1 || o[0].ID != "2" {
		t.Errorf("offered is %+v", o)
	}
	p.OrderSettled("2")
	if p.Settled(); p.Dirty() {
		t.Error("it is decided once more though nothing was heard")
	}
	p.SetProvider(fleet.ProviderState{Standing: fleet.ProviderUp})
	if o := p.Situation(now).Orders; len(o) != 1 || o[0].ID != "1" || !p.Dirty() {
		t.Errorf("offered is %+v", o)
	}
}
