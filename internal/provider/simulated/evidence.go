package simulated

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"hale/internal/core/fault"
	"hale/internal/provider"
	"hale/internal/sim/world"
)

// Console implements provider.ConsoleReader: a line for each boot, and one for each illness.
func (p *Provider) Console(ctx context.Context, ref provider.Ref, limit int) ([]byte, error) {
	var said []byte
	err := p.readVM(ctx, provider.OpConsole, ref, func(vm *world.VM) world.End {
		said = console(vm)
		return world.Done
	})
	return said[max(0, len(said)-limit):], err
}

// console is what the guest wrote so far.
func console(vm *world.VM) []byte {
	var b bytes.Buffer
	for boot := 1; boot <= vm.Boots; boot++ {
		fmt.Fprintf(&b, "[    0.000000] %s: boot %d\r\n", vm.Name, boot)
	}
	if vm.Lives() {
		fmt.Fprintf(&b, "\r\n%s login: ", vm.Name)
	}
	for _, ill := range vm.Ills() {
		fmt.Fprintf(&b, "\r\n\x1b[31mfailure\x1b[0m: %s\r\n", ill.Symptom)
	}
	return b.Bytes()
}

// Screenshot implements provider.Screenshooter: a small field, white where the guest is healthy.
func (p *Provider) Screenshot(ctx context.Context, ref provider.Ref, limit int) (provider.Image, error) {
	shade := color.Gray{}
	err := p.readVM(ctx, provider.OpScreenshot, ref, func(vm *world.VM) world.End {
		switch {
		case vm.Power != world.Running && vm.Power != world.Paused:
			return world.Conflict
		case vm.Serving():
			shade = color.Gray{Y: 0xff}
		}
		return world.Done
	})
	if err != nil {
		return provider.Image{}, err
	}
	screen := image.NewGray(image.Rect(0, 0, 16, 9))
	for i := range screen.Pix {
		screen.Pix[i] = shade.Y
	}
	var b bytes.Buffer
	if err := png.Encode(&b, screen); err != nil {
		return provider.Image{}, fault.New(fault.Permanent, "simulated.screenshot", string(ref.ID), err)
	}
	if b.Len() > limit {
		return provider.Image{}, fault.New(fault.Invalid, "simulated.screenshot", string(ref.ID),
			errors.New("too large"))
	}
	return provider.Image{Format: "image/png", Data: b.Bytes()}, nil
}
