package examine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/secret"
)

// deafness lets programs run to their ends, also past their caller's deadline, and loses their answers.
type deafness struct{ on atomic.Bool }

func (d *deafness) run(ctx context.Context, p program.Process) (int, error) {
	if !d.on.Load() {
		return program.Run(ctx, p)
	}
	p.Output = io.Discard
	return program.Run(context.WithoutCancel(ctx), p)
}

// LoseAnswers implements providertest.AnswerLoser.
func (h *harness) LoseAnswers(providertest.T, int) <-chan struct{} {
	h.deaf.on.Store(true)
	return nil
}

// OneOrder implements providertest.OneOrder: a call is one program.
func (h *harness) OneOrder() {}

// HearAnswers implements providertest.AnswerLoser.
func (h *harness) HearAnswers(providertest.T) { h.deaf.on.Store(false) }

// Interrupted implements providertest.Interrupted.
func (h *harness) Interrupted() {}

// Diskless implements providertest.Diskless.
func (h *harness) Diskless() {}

// Watched implements providertest.Watched.
func (h *harness) Watched() {}

// Noting implements providertest.Noting.
func (h *harness) Noting() {}

// Counts implements providertest.Counted: a program need not tell anything in particular.
func (h *harness) Counts() []policy.Usage { return nil }

// hook runs the hooks program with a word and its arguments, in the environment of the provider's program, and returns
// what it prints.
func (h *harness) hook(ctx context.Context, args ...string) (string, error) {
	env, _, err := secret.Environment(ctx, h.o.External.Env)
	if err != nil {
		return "", err
	}
	var out, said bytes.Buffer
	code, err := program.Run(ctx, program.Process{Args: slices.Concat(h.o.Hooks, args), Env: env, Output: &out,
		Errors: &said})
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w: %s", errHook, strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// must runs a hook, and waits no longer than the examination's patience. It works in cleanups, too.
func (h *harness) must(t providertest.T, args ...string) string {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), h.o.Patience)
	defer cancel()
	said, err := h.hook(ctx, args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func (h *harness) number(t providertest.T, args ...string) int {
	said := h.must(t, args...)
	n, err := strconv.Atoi(said)
	if err != nil {
		t.Fatalf("%v: %s says %q, which is no number", errHook, args[0], said)
	}
	return n
}

// Kill implements providertest.Killer.
func (h *harness) Kill(t providertest.T, id fleet.InstanceID) { h.must(t, "kill", string(id)) }

// Pause implements providertest.Pauser.
func (h *harness) Pause(t providertest.T, id fleet.InstanceID) { h.must(t, "pause", string(id)) }

// Boot implements providertest.Listener.
func (h *harness) Boot(t providertest.T, ref provider.Ref) string {
	return h.must(t, "boot", string(ref.ID))
}

// Deafen implements providertest.Listener.
func (h *harness) Deafen(t providertest.T, id fleet.InstanceID) { h.must(t, "deafen", string(id)) }

// DiskBoots implements providertest.DiskTeller.
func (h *harness) DiskBoots(t providertest.T, ref provider.Ref) int {
	return h.number(t, "disk-boots", string(ref.ID))
}

// Mute implements providertest.Speaker.
func (h *harness) Mute(t providertest.T, id fleet.InstanceID) { h.must(t, "mute", string(id)) }

// Printed implements providertest.Printer.
func (h *harness) Printed(t providertest.T, ref provider.Ref) string {
	return h.must(t, "printed", string(ref.ID))
}

// Screened implements providertest.Viewer.
func (h *harness) Screened() policy.Template { return h.o.Template }

// Adjusted implements providertest.Adjusted.
func (h *harness) Adjusted() policy.Template {
	t := h.o.Template
	t.Memory, t.CPUs = t.Memory+adjustedBy, t.CPUs+1
	t.Metadata = t.Metadata.With(fleet.MetadataOf(map[string]string{"hale-exam": "adjusted"}))
	return t
}

// adjustedBy is how much more memory an instance is given, in bytes.
const adjustedBy = 64 << 20

// CopiedBoots implements providertest.CopyTeller.
func (h *harness) CopiedBoots(t providertest.T, _ fleet.SnapshotName, c fleet.Copy) int {
	return h.number(t, "copied-boots", c.Where)
}

// Copies implements providertest.CopyTeller.
func (h *harness) Copies(t providertest.T, n fleet.SnapshotName) int {
	return h.number(t, "copies", string(n.Installation), string(n.Machine), string(n.ID))
}

// Stranger implements providertest.Outsider.
func (h *harness) Stranger(t providertest.T, host fleet.HostName, name string) provider.Ref {
	id := h.must(t, "stranger", name, string(host))
	t.Cleanup(func() { h.must(t, "forget", id) })
	return provider.Ref{ID: fleet.InstanceID(id), Host: host}
}

// Disconnect implements providertest.Disconnecter.
func (h *harness) Disconnect(t providertest.T) { h.must(t, "cut") }

// Reconnect implements providertest.Disconnecter.
func (h *harness) Reconnect(t providertest.T) { h.must(t, "mend") }

// Freeze implements providertest.Freezer.
func (h *harness) Freeze(t providertest.T) { h.must(t, "freeze") }

// Thaw implements providertest.Freezer.
func (h *harness) Thaw(t providertest.T) { h.must(t, "thaw") }

// FailHost implements providertest.HostFailer.
func (h *harness) FailHost(t providertest.T, host fleet.HostName) {
	h.must(t, "fail-host", string(host))
}

// RepairHost implements providertest.HostFailer.
func (h *harness) RepairHost(t providertest.T, host fleet.HostName) {
	h.must(t, "repair-host", string(host))
}

// LeaveBehind implements providertest.Leaver.
func (h *harness) LeaveBehind(t providertest.T, ref provider.Ref, host fleet.HostName) {
	h.must(t, "leave", string(ref.ID), string(host))
}

// TakeAway implements providertest.Leaver.
func (h *harness) TakeAway(t providertest.T, id fleet.InstanceID, host fleet.HostName) {
	h.must(t, "take-away", string(id), string(host))
}

// CopyOf implements providertest.Copier.
func (h *harness) CopyOf(t providertest.T, ref provider.Ref, name string) provider.Ref {
	id := h.must(t, "copy", string(ref.ID), name)
	t.Cleanup(func() { h.must(t, "forget", id) })
	return provider.Ref{ID: fleet.InstanceID(id), Host: ref.Host}
}
