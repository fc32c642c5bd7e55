package providertest

import (
	"bytes"
	"context"
	"image/png"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// Printer is a harness with a provider.ConsoleReader, and guests that write to their consoles when they have booted.
type Printer interface {
	// Printed returns something that the guest has written by now, once it has booted.
	Printed(t T, ref provider.Ref) string
}

// Viewer is a harness with a provider.Screenshooter.
type Viewer interface {
	// Screened returns a template like Harness.Template for instances with a screen.
	Screened() policy.Template
}

// consoleLimit is more than a guest of the exam writes.
const consoleLimit = 1 << 20

func consoleIsRead(t T, h Harness) {
	e := begin(t, h)
	order, able := e.built(1), has[provider.ConsoleReader](e)
	want := ability[Printer](t, h).Printed(t, order.Ref)
	stranger := provider.Ref{ID: order.ID, Host: order.Host} // to read takes no mark
	var said []byte
	e.await("what the guest wrote", func() (string, bool) {
		var err error
		said, err = able.Console(e.ctx(), stranger, consoleLimit)
		return string(said), err == nil && strings.Contains(string(said), want)
	})
	e.untouched(order)
	end, err := able.Console(e.ctx(), order.Ref, 7)
	e.do("the console's end", err)
	if len(end) > 7 || len(end) == 0 {
		t.Errorf("asked for 7 bytes at most: %q", end)
	}
	e.off(order.Ref)
	last, err := able.Console(e.ctx(), order.Ref, consoleLimit)
	e.do("the console of an instance that is off", err)
	if !bytes.Contains(last, []byte(want)) {
		t.Errorf("when it is off, what it wrote is %q", last)
	}
	end, err = able.Console(e.ctx(), order.Ref, 7)
	e.do("its end", err)
	if !bytes.HasSuffix(last, end) {
		t.Errorf("%q is not the end of %q", end, last)
	}
	e.do("start", e.p.Start(e.ctx(), order.Ref))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	if again, err := able.Console(e.ctx(), order.Ref, consoleLimit); err != nil ||
		!bytes.Contains(again, []byte(want)) {
		t.Errorf("a start wiped what was written before: %q, %v", again, err)
	}
	_, err = able.Console(e.ctx(), e.order(2).Ref, consoleLimit)
	e.refused("the console of an absent instance", err, fault.NotFound)
}

func screenIsShown(t T, h Harness) {
	e := begin(t, h)
	able, order := has[provider.Screenshooter](e), e.order(1)
	order.Template = ability[Viewer](t, h).Screened()
	e.do("create", e.p.Create(e.ctx(), order))
	e.awaitPower(order.Ref, fleet.PowerRunning)
	var shot provider.Image
	e.await("a screen", func() (string, bool) {
		var err error
		shot, err = able.Screenshot(e.ctx(), provider.Ref{ID: order.ID, Host: order.Host}, fleet.ScreenshotLimit)
		if err != nil {
			return err.Error(), false
		}
		return shot.Format, true
	})
	e.same("format", "image/png", shot.Format)
	if _, err := png.Decode(bytes.NewReader(shot.Data)); err != nil || len(shot.Data) > fleet.ScreenshotLimit {
		t.Errorf("%d bytes that are no picture: %v", len(shot.Data), err)
	}
	e.untouched(order)
	_, err := able.Screenshot(e.ctx(), order.Ref, 10)
	e.refused("a screenshot of ten bytes", err, fault.Invalid)
	e.off(order.Ref)
	_, err = able.Screenshot(e.ctx(), order.Ref, fleet.ScreenshotLimit)
	e.refused("a screenshot of an instance that is off", err, fault.Conflict)
	_, err = able.Screenshot(e.ctx(), e.order(2).Ref, fleet.ScreenshotLimit)
	e.refused("a screenshot of an absent instance", err, fault.NotFound)
}

// frozenEvidence: a frozen provider must not hold up evidence.
func frozenEvidence(t T, h Harness) {
	e := begin(t, h)
	order, console, screen := e.built(1), has[provider.ConsoleReader](e), has[provider.Screenshooter](e)
	e.frozen(
		func(ctx context.Context) {
			_, err := console.Console(ctx, order.Ref, consoleLimit)
			e.refused("the console", err, fault.Transient)
		},
		func(ctx context.Context) {
			_, err := screen.Screenshot(ctx, order.Ref, consoleLimit)
			e.refused("a screenshot", err, fault.Transient)
		},
	)
}
