package command_test

import (
	"testing"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/fence/command"
	"hale/internal/fence/fencetest"
	"hale/internal/program/programtest"
	"hale/internal/secret"
)

func TestCommandsPassTheExam(t *testing.T) {
	t.Parallel()
	fencetest.Run(t, func(t *testing.T) fencetest.Bench {
		t.Helper()
		p := fencetest.NewProgram(t, fencetest.Command)
		b := p.Bench(command.New(command.Options{Name: "own", Host: "h1", Command: []string{p.Path},
			Env: []secret.Named{{Name: "POWER_PASSWORD", Secret: p.Secret()}}}))
		b.Mute = true // its contract has on, off, and that it did not work
		return b
	})
}

// A program that fails with any other code says nothing about the host.
func TestL1AProgramThatFailsIsNotOff(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]fence.Power{
		"0":   fence.PowerOn,
		"4":   fence.PowerOff,
		"1":   fence.PowerUnknown,
		"2":   fence.PowerUnknown,
		"127": fence.PowerUnknown,
	} {
		path := programtest.Script(t, "power", `[ "$HALE_HOST $HALE_ACTION" = "h1 status" ] || exit 99
exit `+code)
		got, err := command.New(command.Options{Name: "own", Host: "h1", Command: []string{path}}).Power(t.Context())
		if got != want || (err != nil) != (want == fence.PowerUnknown) {
			t.Errorf("exit code %s: %s, %v", code, got, err)
		}
	}
	if _, err := command.New(command.Options{
		Command: []string{"/nonexistent"},
	}).Power(t.Context()); !fault.Is(err, fault.NotFound) {
		t.Errorf("no program: %v", err)
	}
}

// A program that cuts access is told so, and passes the exam of those that cut power; it gives back what it took.
func TestCutsPassTheExam(t *testing.T) {
	t.Parallel()
	cut := func(p *fencetest.Program) *command.Controller {
		return command.New(command.Options{Name: "ports", Host: "h1", Command: []string{p.Path}, Cut: true,
			Env: []secret.Named{{Name: "POWER_PASSWORD", Secret: p.Secret()}}})
	}
	fencetest.Run(t, func(t *testing.T) fencetest.Bench {
		t.Helper()
		p := fencetest.NewProgram(t, fencetest.Command)
		b := p.Bench(cut(p))
		b.Mute = true
		return b
	})
	t.Run("back", func(t *testing.T) {
		t.Parallel()
		p := fencetest.NewProgram(t, fencetest.Command)
		if err := cut(p).Uncut(t.Context()); err != nil || !p.On() {
			t.Errorf("it has its access: %t, %v", p.On(), err)
		}
	})
}

func TestACutIsToldToCutAndNotToTurnOff(t *testing.T) {
	t.Parallel()
	path := programtest.Script(t, "ports", `[ "$HALE_HOST $HALE_ACTION" = "h1 cut" ]`)
	for cut, ok := range map[bool]bool{true: true, false: false} {
		if err := command.New(command.Options{
			Name:    "ports",
			Host:    "h1",
			Command: []string{path},
			Cut:     cut,
		}).Off(t.Context()); (err == nil) != ok {
			t.Errorf("cut %t: %v", cut, err)
		}
	}
}
