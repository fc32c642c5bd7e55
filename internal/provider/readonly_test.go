package provider_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/simulated"
)

// plain is a provider with nothing beyond what every one has.
type plain struct{ provider.Provider }

func TestReadOnlyHasEyesButNoHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		world := simulated.NewWorld(simulated.Options{})
		if err := world.Plant(fleet.Instance{ID: "i-1", Name: "web-1"}); err != nil {
			t.Fatal(err)
		}
		p := provider.ReadOnly(world.Open("test"))
		ref := provider.Ref{ID: "i-1"}
		for op, call := range map[string]func(context.Context) error{
			"start":     func(ctx context.Context) error { return p.Start(ctx, ref) },
			"reboot":    func(ctx context.Context) error { return p.Reboot(ctx, ref) },
			"power off": func(ctx context.Context) error { return p.PowerOff(ctx, ref) },
			"create": func(ctx context.Context) error {
				return p.Create(ctx, provider.Blueprint{Ref: provider.Ref{ID: "i-2"}, Name: "x"})
			},
			"delete":  func(ctx context.Context) error { return p.Delete(ctx, ref) },
			"certify": func(ctx context.Context) error { return p.Certify(ctx, ref) },
		} {
			if err := call(t.Context()); !fault.Is(err, fault.Unsupported) {
				t.Errorf("%s: got %v", op, err)
			}
		}
		l, err := p.List(t.Context())
		if err != nil || len(l.Instances) != 1 || l.Instances[0].Power != fleet.PowerRunning {
			t.Errorf("the world is not as it was: %+v, %v", l, err)
		}
		if i, err := p.Get(t.Context(), ref); err != nil || i.Name != "web-1" {
			t.Errorf("got %+v, %v", i, err)
		}
		eyesAreOpen(t, p, ref)
		if lacks := provider.Cannot(p); len(lacks) != 0 {
			t.Errorf("with hands it could do everything, and is said to lack %v", lacks)
		}
		if lacks, bare := provider.Cannot(provider.ReadOnly(plain{
			p,
		})), provider.Cannot(plain{p}); !slices.Equal(lacks, bare) ||
			len(lacks) == 0 {
			t.Errorf("a plain provider is said to lack %v, and lacks %v", lacks, bare)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := p.List(t.Context()); err == nil {
			t.Error("it was closed, and the provider behind it was not")
		}
	})
}

// eyesAreOpen: what only reads passes, and what the provider behind does not have is unsupported.
func eyesAreOpen(t *testing.T, p provider.Provider, ref provider.Ref) {
	t.Helper()
	for _, a := range provider.Abilities() {
		if a.Of(p) != a.Reads() {
			t.Errorf("%s: has it: %v", a.Name, a.Of(p))
		}
	}
	if said, err := p.(provider.ConsoleReader).Console(t.Context(), ref, 10); err != nil || len(said) == 0 {
		t.Errorf("the console says %q, %v", said, err)
	}
	if shot, err := p.(provider.Screenshooter).Screenshot(t.Context(), ref, fleet.ScreenshotLimit); err != nil ||
		len(shot.Data) == 0 {
		t.Errorf("the screen shows %d bytes, %v", len(shot.Data), err)
	}
	if err := p.(provider.GuestPinger).PingGuest(t.Context(), ref); err != nil {
		t.Errorf("the agent: %v", err)
	}
	if noted, err := p.(provider.StartReader).Starts(t.Context(), "hale"); err != nil || len(noted) != 1 {
		t.Errorf("of starts it says %v, %v", noted, err)
	}
	bare := provider.ReadOnly(plain{p})
	_, nerr := bare.(provider.StartReader).Starts(t.Context(), "hale")
	_, cerr := bare.(provider.ConsoleReader).Console(t.Context(), ref, 10)
	_, serr := bare.(provider.Screenshooter).Screenshot(t.Context(), ref, 10)
	for _, err := range []error{cerr, serr, nerr, bare.(provider.GuestPinger).PingGuest(t.Context(), ref)} {
		if !fault.Is(err, fault.Unsupported) {
			t.Errorf("of a plain provider: %v", err)
		}
	}
}
