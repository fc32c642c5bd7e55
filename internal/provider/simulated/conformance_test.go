package simulated_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/provider/simulated"
	"hale/internal/sim/verbs"
)

// harness makes the trouble that the exam asks for in a world.
type harness struct {
	world   *simulated.World
	hosts   []fleet.HostName
	mending map[string]func()
}

func newHarness(o simulated.Options) *harness {
	h := &harness{world: simulated.NewWorld(o), hosts: o.Hosts, mending: map[string]func(){}}
	if len(h.hosts) == 0 {
		h.hosts = []fleet.HostName{""}
	}
	return h
}

func (h *harness) New(t providertest.T) provider.Provider {
	p := h.world.Open("exam")
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func (h *harness) Hosts() []fleet.HostName { return h.hosts }
func (h *harness) Template() policy.Template {
	return policy.Template{Network: "exam", Memory: 256 << 20, CPUs: 1}
}
func (h *harness) Adjusted() policy.Template {
	t := h.Template()
	t.Memory, t.CPUs = 512<<20, 2
	t.Metadata, t.Tags = fleet.MetadataOf(map[string]string{"tier": "gold"}), fleet.TagsOf([]string{"blue"})
	return t
}
func (h *harness) Patience() time.Duration { return 20 * time.Second }
func (h *harness) Watched()                {}
func (h *harness) Noting()                 {}

func (h *harness) inject(t providertest.T, f simulated.Fault) func() {
	lift, err := h.world.Inject(f)
	if err != nil {
		t.Fatal(err)
	}
	return lift
}

func (h *harness) Kill(t providertest.T, id fleet.InstanceID) {
	h.inject(t, simulated.Crash{Instance: id})
}

func (h *harness) Pause(t providertest.T, id fleet.InstanceID) {
	h.inject(t, simulated.Paused{Instance: id})
}

func (h harness) Unrescue(t providertest.T, id fleet.InstanceID) {
	h.inject(t, simulated.Happens{Verb: verbs.IsRepaired, Instance: id})
}

// Boot waits until the guest has booted, and counts its boots.
func (h *harness) Boot(t providertest.T, ref provider.Ref) string {
	return strconv.Itoa(h.life(t, ref).Boots)
}

func (h *harness) DiskBoots(t providertest.T, ref provider.Ref) int { return h.life(t, ref).DiskBoots }

func (h *harness) life(t providertest.T, ref provider.Ref) simulated.Life {
	for waited := time.Duration(0); !h.world.Healthy(ref.ID) && waited < h.Patience(); waited += time.Second {
		time.Sleep(time.Second)
	}
	for _, l := range h.world.Lives() {
		if l.ID == ref.ID {
			return l
		}
	}
	t.Fatalf("%s never was", ref.ID)
	return simulated.Life{}
}

func (h *harness) Printed(t providertest.T, ref provider.Ref) string {
	h.life(t, ref)
	return "boot 1"
}

func (h *harness) CopiedBoots(t providertest.T, name fleet.SnapshotName, _ fleet.Copy) int {
	for _, s := range h.world.Snapshots() {
		if s.SnapshotName == name {
			return s.Boots
		}
	}
	t.Errorf("there is no copy %s", name.ID)
	return 0
}

func (h *harness) Copies(_ providertest.T, name fleet.SnapshotName) int {
	n := 0
	for _, s := range h.world.Snapshots() {
		if s.SnapshotName == name {
			n++
		}
	}
	return n
}

func (h *harness) Screened() policy.Template { return h.Template() }

func (h *harness) Stranger(t providertest.T, host fleet.HostName, name string) provider.Ref {
	ref := provider.Ref{ID: fleet.InstanceID(name + "-of-somebody"), Host: host}
	if err := h.world.Plant(fleet.Instance{ID: ref.ID, Host: host, Name: name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ref.Adopted = true
		p := h.world.Open("somebody")
		defer func() { _ = p.Close() }()
		ctx := context.WithoutCancel(t.Context()) // which has ended by now
		if err := errors.Join(p.PowerOff(ctx, ref), p.Delete(ctx, ref)); err != nil {
			t.Error(err)
		}
	})
	return ref
}

func (h *harness) CopyOf(t providertest.T, ref provider.Ref, name string) provider.Ref {
	theirs := provider.Ref{ID: "copy-of-" + ref.ID, Host: ref.Host}
	if !copies(h.world, ref.ID, theirs.ID, name) {
		t.Fatalf("no copy of %s", ref.ID)
	}
	t.Cleanup(func() { takeAway(h.world, theirs.ID, theirs.Host) })
	return theirs
}

func (h *harness) Deafen(t providertest.T, id fleet.InstanceID) {
	h.inject(t, simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.Hung}})
}

func (h *harness) Counts() []policy.Usage { return []policy.Usage{policy.UsageCPU, policy.UsageMemory} }

func (h *harness) Halt(t providertest.T, id fleet.InstanceID) {
	h.inject(t, simulated.Broken{Instance: id, Illness: simulated.Illness{Symptom: simulated.Halted}})
}

// Mute hangs the guest: its agent lives as long as it does.
func (h *harness) Mute(t providertest.T, id fleet.InstanceID) { h.Deafen(t, id) }

func (h *harness) Disconnect(t providertest.T) { h.mending["cut"] = h.inject(t, simulated.Outage{}) }
func (h *harness) Reconnect(providertest.T)    { h.mending["cut"]() }

func (h *harness) Freeze(t providertest.T) {
	h.mending["frozen"] = h.inject(t, simulated.Calls{Effect: simulated.Hangs})
}
func (h *harness) Thaw(providertest.T) { h.mending["frozen"]() }

func (h *harness) LoseAnswers(t providertest.T, _ int) <-chan struct{} {
	var mend []func()
	for _, op := range []fleet.Op{"", provider.OpNoteStart, provider.OpForgetStart} {
		mend = append(mend, h.inject(t, simulated.Calls{Op: op, Effect: simulated.HangsAfter}))
	}
	h.mending["unheard"] = func() {
		for _, m := range mend {
			m()
		}
	}
	return nil
}
func (h *harness) OneOrder()                  {}
func (h *harness) HearAnswers(providertest.T) { h.mending["unheard"]() }

// several is a harness with several hosts.
type several struct{ *harness }

func (h several) FailHost(t providertest.T, host fleet.HostName) {
	h.mending["host"] = h.inject(t, simulated.HostUnreachable{Host: host})
}
func (h several) RepairHost(providertest.T, fleet.HostName) { h.mending["host"]() }

func (h several) LeaveBehind(t providertest.T, ref provider.Ref, host fleet.HostName) {
	if !stays(h.world, ref.ID, host) {
		t.Fatalf("%s does not stay on %s", ref.ID, host)
	}
}

func (h several) TakeAway(_ providertest.T, id fleet.InstanceID, host fleet.HostName) {
	takeAway(h.world, id, host)
}

func TestExam(t *testing.T) {
	t.Parallel()
	worlds := map[string]func() providertest.Harness{
		"one host": func() providertest.Harness { return newHarness(simulated.Options{}) },
		"two slow hosts": func() providertest.Harness {
			return several{newHarness(simulated.Options{Hosts: []fleet.HostName{"h1", "h2"},
				Latency: 70 * time.Millisecond})}
		},
	}
	for name, world := range worlds {
		for _, c := range providertest.Cases(world()) {
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					h := world()
					c.Run(t, h)
				})
			})
		}
	}
}

// TestExamLeavesNothing covers the suite itself: it removes whatever it built.
func TestExamLeavesNothing(t *testing.T) {
	t.Parallel()
	var h several
	for _, c := range providertest.Cases(several{newHarness(simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}})}) {
		t.Run(c.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h = several{newHarness(simulated.Options{Hosts: []fleet.HostName{"h1", "h2"}})}
				c.Run(t, h)
			})
			for _, life := range h.world.Lives() {
				if life.Removed.IsZero() {
					t.Errorf("%s is still there", life.Name)
				}
			}
		})
	}
}
