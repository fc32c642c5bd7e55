package simulated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// Console implements provider.ConsoleReader: a line for each boot, and one for each illness.
func (p *Provider) Console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	var said []byte
	err := p.read(ctx, OpConsole, ref, func(now time.Time) error {
		g, err := p.world.at(ref)
		if err != nil {
			return err
		}
		said = g.console(now)
		return nil
	})
	return said[max(0, len(said)-limit):], err
}

// console is what the guest wrote so far.
func (g *guest) console(now time.Time) []byte {
	var b bytes.Buffer
	for boot := 1; boot <= g.life.Boots; boot++ {
		fmt.Fprintf(&b, "[    0.000000] %s: boot %d\r\n", g.name, boot)
	}
	if g.power == fleet.PowerRunning && !now.Before(g.bootsAt) && !g.has(NeverBoots) {
		fmt.Fprintf(&b, "\r\n%s login: ", g.name)
	}
	for _, ill := range g.ills {
		fmt.Fprintf(&b, "\r\n\x1b[31mfailure\x1b[0m: %s\r\n", ill.Symptom)
	}
	return b.Bytes()
}

// Screenshot implements provider.Screenshooter: a small field, white where the guest is healthy.
func (p *Provider) Screenshot(ctx context.Context, ref provider.Ref, limit int) (provider.Picture, error) {
	shade := color.Gray{}
	err := p.read(ctx, OpScreenshot, ref, func(now time.Time) error {
		g, err := p.world.at(ref)
		switch {
		case err != nil:
			return err
		case !g.on():
			return conflict(ref, fmt.Errorf("it is %s", g.power))
		case g.healthy(now):
			shade = color.Gray{Y: 0xff}
		}
		return nil
	})
	if err != nil {
		return provider.Picture{}, err
	}
	screen := image.NewGray(image.Rect(0, 0, 16, 9))
	for i := range screen.Pix {
		screen.Pix[i] = shade.Y
	}
	var b bytes.Buffer
	if err := png.Encode(&b, screen); err != nil {
		return provider.Picture{}, fault.New(fault.Permanent, "simulated.screenshot", string(ref.ID), err)
	}
	if b.Len() > limit {
		return provider.Picture{}, fault.New(fault.Invalid, "simulated.screenshot", string(ref.ID), errors.New("too large"))
	}
	return provider.Picture{Format: "image/png", Data: b.Bytes()}, nil
}
