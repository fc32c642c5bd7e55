package vsphere_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/vsphere"
	"hale/internal/secret"
	"hale/internal/testbed/vcsim"
)

// order is for a machine of the fleet web, with a disk that outlives it.
func (b bench) order(ordinal int) provider.Blueprint {
	machine := fleet.Name("web").Machine(ordinal)
	template := b.Template()
	template.Disks = append(template.Disks, policy.Disk{Name: "data", Size: 8 << 20})
	id := fleet.InstanceID(uuid.NewString())
	return provider.Blueprint{
		Ref: provider.Ref{ID: id, Host: b.Hosts()[ordinal%3], Mark: fleet.Mark{
			Installation: "i1",
			Fleet:        "web",
			Machine:      machine,
			Generation:   1,
			Built:        time.Now().UTC().Truncate(time.Second),
			Instance:     id,
		}},
		Name: string(machine), Template: template,
	}
}

// next is the order of the machine's next instance.
func next(o provider.Blueprint) provider.Blueprint {
	o.ID = fleet.InstanceID(uuid.NewString())
	o.Mark.Instance = o.ID
	o.Mark.Generation++
	return o
}

func refused(t *testing.T, what string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: got %v (kind %q), want kind %q", what, err, fault.KindOf(err), kind)
	}
}

// built is a vCenter with a handle on it, and an instance that runs there.
func built(t *testing.T) (bench, *vsphere.Provider, provider.Blueprint) {
	t.Helper()
	b := newBench(t)
	p := b.handle(t, func(*vsphere.Options) {})
	o := b.order(1)
	must(t, p.Create(t.Context(), o))
	return b, p, o
}

// soon ends when a call that lost its answer has waited long enough.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func off(t *testing.T, p provider.Provider, ref provider.Ref) {
	t.Helper()
	must(t, p.PowerOff(t.Context(), ref))
}

func apart(o *vsphere.Options) { o.AntiAffinity = true }

// S58: whichever order of a create takes effect without an answer, there is one instance or none, the next one gets the
// same disk, and nothing is left over.
func TestAnAnswerLostAtAnyStepOfACreateLeavesNoSecondInstance(t *testing.T) {
	t.Parallel()
	steps := []string{
		"CloneVM_Task", "MakeDirectory", "CreateVirtualDisk_Task", "ReconfigVM_Task",
		"ReconfigureComputeResource_Task", "PowerOnVM_Task",
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.handle(t, apart)
			neighbour := b.order(1)
			neighbour.Template.Disks = neighbour.Template.Disks[:1]
			must(t, p.Create(t.Context(), neighbour))

			lost := b.order(2)
			b.SilenceAfter(step)
			refused(t, "create", p.Create(soon(t), lost), fault.UnknownOutcome)
			b.VCenter.Thaw()
			awaitThere(t, p, lost.Ref)
			refused(t, "the same again", p.Create(t.Context(), lost), fault.Conflict)
			refused(t, "the next one", p.Create(t.Context(), next(lost)), fault.Conflict)
			if diff := cmp.Diff(map[string]int{"web-1": 1, "web-2": 1}, b.Machines()); diff != "" {
				t.Errorf("machines: %s", diff)
			}
			off(t, p, lost.Ref)
			must(t, p.Delete(t.Context(), lost.Ref))
			after := next(next(lost))
			must(t, p.Create(t.Context(), after))
			if diff := cmp.Diff([]string{"web-2.data.vmdk"}, b.Files(t, "hale-disks")); diff != "" {
				t.Errorf("kept disks: %s", diff)
			}
			if diff := cmp.Diff(map[string]int{"web-1": 1, "web-2": 1}, b.Machines()); diff != "" {
				t.Errorf("machines in the end: %s", diff)
			}
			must(t, p.Start(t.Context(), after.Ref))
		})
	}
}

func awaitThere(t *testing.T, p provider.Provider, ref provider.Ref) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		_, err := p.Get(t.Context(), ref)
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A delete that lost an answer, at any step, can be sent again, and the machine's disk is there for the next
// instance.
func TestADeleteWithoutAnAnswerNeverTakesTheKeptDiskAlong(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"ReconfigVM_Task", "Destroy_Task"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.New(t)
			o := b.order(1)
			must(t, p.Create(t.Context(), o))
			off(t, p, o.Ref)
			b.SilenceAfter(step)
			refused(t, "delete", p.Delete(soon(t), o.Ref), fault.UnknownOutcome)
			b.VCenter.Thaw()
			must(t, p.Delete(t.Context(), o.Ref))
			if len(b.Machines()) != 0 {
				t.Errorf("there still is %v", b.Machines())
			}
			after := next(o)
			after.Made = []string{"data"}
			must(t, p.Create(t.Context(), after))
		})
	}
}

// A create that vCenter refuses half-way leaves nothing: no machine, and no disk that it made itself.
func TestARefusedCreateIsUndone(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"CreateVirtualDisk_Task", "ReconfigVM_Task", "PowerOnVM_Task"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.New(t)
			b.Refuse(step, &types.InsufficientMemoryResourcesFault{})
			refused(t, "create", p.Create(t.Context(), b.order(1)), fault.Quota)
			if got, disks := b.Machines(), b.Files(t, "hale-disks"); len(got) != 0 || len(disks) != 0 {
				t.Errorf("left are %v and %v", got, disks)
			}
			must(t, p.Create(t.Context(), b.order(1)))
		})
	}
}

// A change that rests on an old look is refused, and does not overwrite another client's change.
func TestAChangeMeanwhileIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	b.Before("ReconfigVM_Task", func() {
		b.Do(t, string(o.ID), func(ctx context.Context, vm *object.VirtualMachine) (*object.Task, error) {
			return vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: "a note"})
		})
	})
	refused(t, "certify", p.Certify(t.Context(), o.Ref), fault.Transient)
	seen, err := p.Get(t.Context(), o.Ref)
	must(t, err)
	if seen.Mark != o.Mark {
		t.Errorf("the mark is %+v", seen.Mark)
	}
	must(t, p.Certify(t.Context(), o.Ref))
}

// vCenter forgets sessions: a question is asked again after a login, and an order follows a question.
func TestAForgottenSessionIsRenewed(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	for _, call := range []func() error{
		func() error { _, err := p.List(t.Context()); return err },
		func() error { _, err := p.Get(t.Context(), o.Ref); return err },
		func() error { return p.Certify(t.Context(), o.Ref) },
		func() error { return p.PowerOff(t.Context(), o.Ref) },
	} {
		before := b.Calls("Login")
		b.EndSessions(t)
		must(t, call())
		if n := b.Calls("Login") - before; n != 1 {
			t.Errorf("%d logins", n)
		}
	}
}

// hale refuses a certificate without a trusted issuer, and the password is in no error.
func TestAnUntrustedServerGetsNoPassword(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	sum := sha256.Sum256(b.Certificate().Raw)
	right := strings.ToUpper(strings.Join(strings.Fields(fmt.Sprintf("% x", sum[:])), ":"))
	for name, c := range map[string]struct {
		change func(o *vsphere.Options)
		kind   fault.Kind
	}{
		"no trusted issuer": {func(o *vsphere.Options) { o.Roots = nil }, fault.Transient},
		"a thumbprint":      {func(o *vsphere.Options) { o.Roots, o.Thumbprint = nil, right }, ""},
		"another one": {
			func(o *vsphere.Options) { o.Roots, o.Thumbprint = nil, "00"+right[2:] },
			fault.Transient,
		},
		"said otherwise": {func(o *vsphere.Options) { o.Roots, o.Unverified = nil, true }, ""},
		"no file": {
			func(o *vsphere.Options) { o.Password, _ = secret.File("/nowhere/at/all") },
			fault.Unauthorised,
		},
		"no such place":     {func(o *vsphere.Options) { o.Cluster = "elsewhere" }, fault.Invalid},
		"as it ought to be": {func(*vsphere.Options) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := b.handle(t, c.change)
			_, err := p.Get(t.Context(), b.order(1).Ref)
			if c.kind == "" {
				refused(t, "get", err, fault.NotFound) // there is none
				return
			}
			refused(t, "get", err, c.kind)
			if strings.Contains(fmt.Sprint(err), vcsim.Password) {
				t.Errorf("the password is in %v", err)
			}
		})
	}
}

// A person's clone of a machine of hale's carries everything, the mark as well; it is the person's.
func TestAPersonsCloneIsAStranger(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.New(t)
	o := b.order(1)
	o.Template.Disks = o.Template.Disks[:1]
	must(t, p.Create(t.Context(), o))
	clone := provider.Ref{ID: fleet.InstanceID(b.Clone(t, o.Name, "copy", string(o.Host))), Host: o.Host, Mark: o.Mark}
	if b.Extra(t, string(clone.ID), "hale.mark") == "" {
		t.Fatal("the clone bears nothing")
	}
	seen, err := p.Get(t.Context(), clone)
	must(t, err)
	if seen.Mark != (fleet.Mark{}) {
		t.Errorf("it is taken for %+v", seen.Mark)
	}
	refused(t, "power off", p.PowerOff(t.Context(), clone), fault.Conflict)
	clone.Mark, clone.Adopted = fleet.Mark{}, true
	must(t, p.PowerOff(t.Context(), clone))
}

// S48: what vCenter cannot read is not gone, whatever its index says.
func TestAMachineThatVCenterCannotReadIsNotGone(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	id := string(o.ID)
	b.Set(t, id, "summary.config.instanceUuid", "")
	b.Set(t, id, "runtime.connectionState", types.VirtualMachineConnectionStateInaccessible)
	b.Set(t, id, "config.instanceUuid", "")
	_, err := p.Get(t.Context(), o.Ref)
	refused(t, "get", err, fault.Transient)
	refused(t, "delete", p.Delete(t.Context(), o.Ref), fault.Transient)
	_, err = p.Get(t.Context(), b.order(2).Ref)
	refused(t, "get of another machine", err, fault.NotFound)
}

// hale leaves two machines with one id to a person.
func TestAnIDThatTwoHaveIsNotTouched(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	b.Set(t, b.Clone(t, o.Name, "copy", string(o.Host)), "config.instanceUuid", string(o.ID))
	refused(t, "power off", p.PowerOff(t.Context(), o.Ref), fault.Permanent)
}

// A host in maintenance is no place once it has no machine; what is built there all the same is built on another host
// of its cluster.
func TestAHostInMaintenanceIsNoPlace(t *testing.T) {
	t.Parallel()
	b, p, o := built(t)
	empty := b.VCenter.Hosts()[2]
	b.Maintain(empty)
	b.Maintain(string(o.Host))
	l, err := p.List(t.Context())
	must(t, err)
	var names []fleet.HostName
	for _, h := range l.Hosts {
		names = append(names, h.Name)
		if h.Disabled != (h.Name == o.Host) {
			t.Errorf("host %s is in maintenance: %t", h.Name, h.Disabled)
		}
	}
	if slices.Contains(names, fleet.HostName(empty)) || !slices.Contains(names, o.Host) {
		t.Errorf("the hosts are %v", names)
	}
	there := b.order(2)
	there.Host = o.Host
	must(t, p.Create(t.Context(), there))
	seen, err := p.Get(t.Context(), there.Ref)
	must(t, err)
	if seen.Host != b.Hosts()[0] || seen.Power != fleet.PowerRunning {
		t.Errorf("it is %+v", seen)
	}
}

// A listing says where machines stand, and what they bear.
func TestAListingSaysWhereMachinesStandAndWhatTheyBear(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.handle(t, func(o *vsphere.Options) {
		o.Places = map[fleet.HostName]fleet.Place{b.Hosts()[1]: {Rack: "r1"}}
	})
	o := b.order(1)
	o.Template.Metadata = fleet.MetadataOf(map[string]string{"role": "db"})
	must(t, p.Create(t.Context(), o))
	l, err := p.List(t.Context())
	must(t, err)
	i := slices.IndexFunc(l.Hosts, func(h provider.HostAnswer) bool { return h.Name == o.Host })
	if diff := cmp.Diff(fleet.Place{Rack: "r1", Zone: vcsim.Cluster, Storage: vcsim.Datastore},
		l.Hosts[i].Place); diff != "" {
		t.Errorf("place: %s", diff)
	}
	if len(l.Instances) != 1 || l.Instances[0].Metadata != o.Template.Metadata ||
		l.Instances[0].Storage != vcsim.Datastore {
		t.Errorf("the instances are %+v", l.Instances)
	}
	if got := b.Extra(t, string(o.ID), "guestinfo.userdata.encoding"); got != "base64" {
		t.Errorf("the guest is told %q", got)
	}
}

// A round of listings asks vCenter one question when nothing changed.
func TestAListingOfWhatDidNotChangeIsOneQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.New(t)
	must(t, p.Create(t.Context(), b.order(1)))
	_, err := p.List(t.Context())
	must(t, err)
	before := b.Calls("RetrievePropertiesEx")
	for range 5 {
		_, err := p.List(t.Context())
		must(t, err)
	}
	if n := b.Calls("RetrievePropertiesEx") - before; n != 5 {
		t.Errorf("five listings asked %d questions", n)
	}
}

// vCenter locks a user after a few wrong passwords: hale asks once, and again when the password is another one.
func TestAWrongPasswordIsNotTriedAgainAndAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := filepath.Join(t.TempDir(), "password")
	write := func(password string) { must(t, os.WriteFile(path, []byte(password), 0o600)) }
	p := b.handle(t, func(o *vsphere.Options) {
		var err error
		o.Password, err = secret.File(path)
		must(t, err)
	})
	write("wrong horse")
	b.Refuse("Login", &types.InvalidLogin{})
	before := b.Calls("Login")
	for range 5 {
		_, err := p.List(t.Context())
		refused(t, "list", err, fault.Unauthorised)
		if strings.Contains(fmt.Sprint(err), "horse") {
			t.Errorf("the password is in %v", err)
		}
	}
	if n := b.Calls("Login") - before; n != 1 {
		t.Errorf("vCenter was asked %d times", n)
	}
	write(vcsim.Password)
	_, err := p.List(t.Context())
	must(t, err)
}

// What is put aside gives the machine's disk up, and has it again when it is brought back.
func TestTheMachinesDiskGoesWithItsInstance(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.handle(t, func(*vsphere.Options) {})
	o := b.order(1)
	must(t, p.Create(t.Context(), o))
	off(t, p, o.Ref)
	const data = "web-1.data.vmdk"
	has := func(when string, want bool) {
		t.Helper()
		if got := b.Disks(t, string(o.ID)); slices.Contains(got, data) != want {
			t.Errorf("%s it has %v", when, got)
		}
	}
	has("at first", true)
	must(t, p.Keep(t.Context(), o.Ref, o.Name))
	has("put aside", false)
	must(t, p.Restore(t.Context(), o.Ref, o.Name))
	has("brought back", true)
	must(t, p.Start(t.Context(), o.Ref))
}

// A listing remembers marks, and no longer than they stand.
func TestAListingSeesThatAMarkChanged(t *testing.T) {
	t.Parallel()
	_, p, o := built(t)
	for _, certified := range []bool{false, true} {
		if certified {
			must(t, p.Certify(t.Context(), o.Ref))
		}
		l, err := p.List(t.Context())
		must(t, err)
		if len(l.Instances) != 1 || l.Instances[0].Mark.Certified != certified {
			t.Errorf("certified is %v, and listed is %+v", certified, l.Instances)
		}
	}
}

// A watch hears of machines that come and go all the time, and neither vCenter nor hale comes to a standstill.
func TestAWatchOfMachinesThatComeAndGoAllTheTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.handle(t, func(*vsphere.Options) {})
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan provider.Event, 1000)
	ended := make(chan error, 1)
	go func() {
		ended <- p.Watch(ctx, func(e provider.Event) {
			select {
			case heard <- e:
			default:
			}
		})
	}()
	<-heard // it listens
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			o := b.order(w)
			o.Template.Disks = o.Template.Disks[:1]
			for range 6 {
				o = next(o)
				if err := errors.Join(p.Create(ctx, o), p.PowerOff(ctx, o.Ref), p.Delete(ctx, o.Ref)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	last := b.order(9)
	must(t, p.Create(ctx, last))
	deadline := time.After(patience)
	for e := (provider.Event{}); e.Instance != last.ID; {
		select {
		case e = <-heard:
		case <-deadline:
			t.Fatal("nothing was heard of the last machine")
		}
	}
	cancel()
	must(t, <-ended)
}

// The address of a host's management card is the host's own (L04). The one that vcsim's hosts begin with is that of
// hale's own machine, and is none.
func TestL04HostsHaveTheAddressOfTheirManagementCard(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.handle(t, func(*vsphere.Options) {})
	first := b.Hosts()[0]
	b.Address(string(first), "192.0.2.11")
	l, err := p.List(t.Context())
	must(t, err)
	for _, h := range l.Hosts {
		want := netip.Addr{}
		if h.Name == first {
			want = netip.MustParseAddr("192.0.2.11")
		}
		if h.Address != want {
			t.Errorf("%s is at %v, want %v", h.Name, h.Address, want)
		}
	}
}
