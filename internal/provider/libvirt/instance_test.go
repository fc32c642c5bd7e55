package libvirt_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"golang.org/x/sys/unix"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/lab"
)

// order returns one for a new instance.
func (b *bench) order(name string) provider.Blueprint {
	id := fleet.InstanceID(uuid.NewString())
	return provider.Blueprint{
		Ref: provider.Ref{
			ID: id,
			Mark: fleet.Mark{
				Installation: "bench", Fleet: "web", Machine: "web-1", Generation: 1, Instance: id,
				Built: time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC),
			},
		},
		Name:     name,
		Template: b.Template(),
	}
}

// await polls until the condition holds.
func await(t testing.TB, what string, holds func(ctx context.Context) (saw any, ok bool)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		saw, ok := holds(ctx)
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited %v for %s; last seen: %+v", patience, what, saw)
		}
	}
}

// awaitSeen waits until the instance is as wanted, and returns it.
func awaitSeen(t testing.TB, p provider.Provider, ref provider.Ref, what string,
	want func(fleet.Instance) bool) fleet.Instance {
	t.Helper()
	var seen fleet.Instance
	await(t, what, func(ctx context.Context) (any, bool) {
		var err error
		seen, err = p.Get(ctx, ref)
		if err != nil {
			return err, false
		}
		return seen, want(seen)
	})
	return seen
}

func hasAddress(i fleet.Instance) bool { return i.Power == fleet.PowerRunning && i.Address.IsValid() }

func wantKind(t testing.TB, call string, err error, kind fault.Kind) {
	t.Helper()
	if !fault.Is(err, kind) {
		t.Errorf("%s: got %v, want kind %q", call, err, kind)
	}
}

// files lists what lies in the bench's folder for instances.
func (b *bench) files(t providertest.T) []string {
	t.Helper()
	entries, err := os.ReadDir(b.state)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// destroyed powers the instance off and deletes it.
func destroyed(t testing.TB, p provider.Provider, ref provider.Ref) {
	t.Helper()
	must(t, p.PowerOff(t.Context(), ref))
	awaitSeen(t, p, ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	must(t, p.Delete(t.Context(), ref))
}

// TestInstances tells what instances go through on one real host, one story after the other: a boot is emulated and
// costs seconds of a processor.
func TestInstances(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, story := range map[string]func(*testing.T, *bench){
		"the guest reads its seed, over TCP too":      guestReadsItsSeed,
		"own XML is used and marked":                  ownXMLIsUsed,
		"the states of a life":                        statesOfALife,
		"delete removes this instance's files only":   deleteRemovesItsFiles,
		"files are removed when the domain is gone":   filesWithoutDomain,
		"a kept disk survives its instance":           keptDiskSurvives,
		"data goes from instance to instance":         dataGoesAlong,
		"a failed start leaves nothing":               failedStartLeavesNothing,
		"a rebuild that cannot start has failed":      failedRebuildIsCertain,
		"a removal that is refused has failed":        failedRemovalIsCertain,
		"what cannot be built is refused":             impossibleIsRefused,
		"a stranger is seen and never touched":        strangerIsUntouched,
		"a listing follows marks while a watch helps": listingFollowsMarks,
		"a domain without a definition says so":       transientSaysSo,
		"a mark of an older hale counts":              olderMarkCounts,
		"a rehearsal finds what a build would lack":   rehearsalFindsWhatIsLacking,
		"an image that the host lacks is brought":     missingImageIsBrought,
	} {
		t.Run(name, func(t *testing.T) { story(t, b) })
	}
}

func guestReadsItsSeed(t *testing.T, b *bench) {
	p := b.handleAt(t, "qemu+tcp://"+forward(t, b.SocketPath())+"/system")
	o := b.order("seeded")
	o.Template.Cmdline = strings.ReplaceAll(o.Template.Cmdline, "hale.name={name}", "")
	o.Template.Seed = true
	o.Template.Accel = policy.AccelTCG // a remote daemon offers KVM whether or not the processor has it
	must(t, p.Create(t.Context(), o))
	page, err := b.AwaitPage(background(t), o.Name)
	must(t, err)
	want := lab.Page{Name: o.Name, Boots: 1, SeedHostname: o.Name, SeedInstance: string(o.ID), BootID: page.BootID}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Errorf("what the guest knows of itself (-want +got):\n%s", diff)
	}
	destroyed(t, p, o.Ref)
}

const ownXML = `<domain type='{{.Type}}'>
  <name>of no interest</name>
  <title>own {{.Name}}</title>
  <metadata><note xmlns="urn:example:note">kept</note></metadata>
  <memory unit='b'>{{.Memory}}</memory>
  <os><type arch='x86_64' machine='q35'>hvm</type><kernel>{{.Kernel}}</kernel><initrd>{{.Initrd}}</initrd><cmdline>{{.Cmdline}} hale.odd=&lt;</cmdline></os>
  <features><acpi/></features>
  <devices>
    <disk type='file'><driver name='qemu' type='qcow2'/><source file='{{.Disk}}'/><target dev='vda' bus='virtio'/></disk>
    <interface type='network'><source network='{{.Network}}'/><mac address='{{.MAC}}'/><model type='virtio'/><rom enabled='no'/></interface>
    <controller type='usb' model='none'/>
  </devices>
</domain>`

func ownXMLIsUsed(t *testing.T, b *bench) {
	p := b.handle(t)
	o := b.order("own")
	o.Template.XML = ownXML
	must(t, p.Create(t.Context(), o))
	seen := awaitSeen(t, p, o.Ref, "an address", hasAddress)
	if diff := cmp.Diff(o.Mark, seen.Mark); diff != "" || seen.Name != o.Name {
		t.Errorf("mark or name of %+v (-want +got):\n%s", seen, diff)
	}
	text, err := b.Virsh(background(t), "dumpxml", string(o.ID))
	must(t, err)
	for _, part := range []string{"<title>own own</title>", "urn:example:note", "hale.odd=&lt;"} {
		if !strings.Contains(text, part) {
			t.Errorf("the domain lost %s", part)
		}
	}
	_, err = p.Console(background(t), o.Ref, 100)
	wantKind(t, "the console of a guest without a log", err, fault.Unsupported)
	wantKind(t, "a ping of a guest without a channel", p.PingGuest(background(t), o.Ref), fault.Unsupported)
	destroyed(t, p, o.Ref)
}

// statesOfALife: each way to stop is told apart, and a new address is followed.
func statesOfALife(t *testing.T, b *bench) {
	p := b.handle(t)
	o := b.order("life")
	must(t, p.Create(t.Context(), o))
	first := awaitSeen(t, p, o.Ref, "an address", hasAddress)
	_, err := b.AwaitPage(background(t), o.Name)
	must(t, err)

	must(t, b.Suspend(background(t), o.Name))
	awaitSeen(t, p, o.Ref, "paused", func(i fleet.Instance) bool { return i.Power == fleet.PowerPaused })
	must(t, p.Start(t.Context(), o.Ref))
	awaitSeen(t, p, o.Ref, "resumed", func(i fleet.Instance) bool { return i.Power == fleet.PowerRunning })

	moved := netip.AddrFrom4([4]byte{10, first.Address.As4()[1], 201, 7})
	must(t, b.Readdress(background(t), o.Name, moved))
	must(t, b.Break(background(t), o.Name, lab.FaultOff))
	off := awaitSeen(t, p, o.Ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	if off.Stop != fleet.StopShutdown || off.Address.IsValid() {
		t.Errorf("powered off by itself: %+v", off)
	}

	must(t, p.Reboot(t.Context(), o.Ref)) // of one that is off: it is on afterwards
	awaitSeen(t, p, o.Ref, "the new address", func(i fleet.Instance) bool { return i.Address == moved })

	_, err = b.AwaitPage(background(t), o.Name)
	must(t, err)
	must(t, b.Break(background(t), o.Name, lab.FaultPanic))
	crashed := awaitSeen(t, p, o.Ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	if crashed.Stop != fleet.StopCrash {
		t.Errorf("after a panic: %+v", crashed)
	}
	must(t, p.Delete(t.Context(), o.Ref))
}

func deleteRemovesItsFiles(t *testing.T, b *bench) {
	p := b.handle(t)
	before := b.files(t)
	o, other := b.order("files"), b.order("files-2")
	o.Template.Seed = true
	for _, order := range []provider.Blueprint{o, other} {
		must(t, p.Create(t.Context(), order))
	}
	front, kept := fmt.Sprintf("files-g1-%s", o.ID), fmt.Sprintf("files-2-g1-%s", other.ID)
	want := append(slices.Clone(before), kept+".qcow2", kept+".console.log", front+".qcow2", front+".iso",
		front+".console.log")
	slices.Sort(want)
	if diff := cmp.Diff(want, b.files(t)); diff != "" {
		t.Errorf("files of two instances (-want +got):\n%s", diff)
	}
	// as virtlogd makes them
	must(t, os.WriteFile(filepath.Join(b.state, front+".console.log.0"), []byte("an older part"), 0o600))
	destroyed(t, p, o.Ref)
	want = append(slices.Clone(before), kept+".qcow2", kept+".console.log")
	slices.Sort(want)
	if diff := cmp.Diff(want, b.files(t)); diff != "" {
		t.Errorf("files after one was deleted (-want +got):\n%s", diff)
	}
	destroyed(t, p, other.Ref)
}

func filesWithoutDomain(t *testing.T, b *bench) {
	p := b.handle(t)
	before := b.files(t)
	o := b.order("bare")
	must(t, p.Create(t.Context(), o))
	must(t, b.Destroy(background(t), o.Name))
	must(t, b.Undefine(background(t), o.Name))
	must(t, p.Delete(t.Context(), o.Ref))
	if diff := cmp.Diff(before, b.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func keptDiskSurvives(t *testing.T, b *bench) {
	p := b.handle(t)
	o := b.order("kept")
	o.Template.Disks = []policy.Disk{{Name: "root"}}
	must(t, p.Create(t.Context(), o))
	destroyed(t, p, o.Ref)
	disk := fmt.Sprintf("kept-g1-%s.kept.qcow2", o.ID)
	if !slices.Contains(b.files(t), disk) {
		t.Errorf("the kept disk is gone; there are %q", b.files(t))
	}
	must(t, os.Remove(filepath.Join(b.state, disk)))
}

// dataGoesAlong: a data disk is made once, belongs to no instance, and is never made anew in its place.
func dataGoesAlong(t *testing.T, b *bench) {
	p := b.handle(t)
	before := b.files(t)
	o := b.order("data")
	o.Template.Disks = []policy.Disk{
		{Name: "data", Size: 8 << 20},
		{Name: "root", Ephemeral: true},
		{Name: "scratch", Size: 8 << 20, Ephemeral: true},
	}
	file := filepath.Join(b.state, "web-1.data.bench.kept.qcow2")
	next := func() {
		o.ID, o.Made = fleet.InstanceID(uuid.NewString()), []string{"data"}
		o.Mark.Generation++
		o.Mark.Instance = o.ID
	}
	failing := o
	failing.Template.Initrd = "/no/such/initrd"
	wantKind(t, "create that cannot start", p.Create(t.Context(), failing), fault.Permanent)
	if diff := cmp.Diff(before, b.files(t)); diff != "" {
		t.Errorf("files after a failed first create (-want +got):\n%s", diff)
	}
	must(t, p.Create(t.Context(), o))
	destroyed(t, p, o.Ref)
	if diff := cmp.Diff(append(slices.Clone(before), filepath.Base(file)), b.files(t)); diff != "" {
		t.Errorf("files after the first instance (-want +got):\n%s", diff)
	}
	first, err := os.Stat(file)
	must(t, err)

	next()
	failing = o
	failing.Template.Initrd = "/no/such/initrd"
	wantKind(t, "another create that cannot start", p.Create(t.Context(), failing), fault.Permanent)
	must(t, p.Create(t.Context(), o))
	rival := b.order("rival") // under another name, so that only the disk is between them
	rival.Template.Disks = o.Template.Disks
	if err := p.Create(t.Context(), rival); err == nil {
		t.Error("two instances run with one disk")
	}
	destroyed(t, p, o.Ref)
	second, err := os.Stat(file)
	must(t, err)
	if !os.SameFile(first, second) {
		t.Error("the second instance had another disk")
	}

	must(t, os.Rename(file, file+".away"))
	next()
	wantKind(t, "create without the data", p.Create(t.Context(), o), fault.Invalid)
	must(t, os.Rename(file+".away", file))
	must(t, p.Create(t.Context(), o))
	destroyed(t, p, o.Ref)
	must(t, os.Remove(file))
}

func failedStartLeavesNothing(t *testing.T, b *bench) {
	p := b.handle(t)
	before := b.files(t)
	o := b.order("unstartable")
	o.Template.Seed = true
	o.Template.Initrd = "/no/such/initrd"
	wantKind(t, "create", p.Create(t.Context(), o), fault.Permanent)
	_, err := p.Get(t.Context(), o.Ref)
	wantKind(t, "get", err, fault.NotFound)
	if diff := cmp.Diff(before, b.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// failedRebuildIsCertain: the daemon answers that the domain cannot be started, and it is off.
func failedRebuildIsCertain(t *testing.T, b *bench) {
	p := b.handle(t)
	o := b.order("seedless")
	o.Template.Seed = true
	must(t, p.Create(t.Context(), o))
	must(t, p.PowerOff(t.Context(), o.Ref))
	awaitSeen(t, p, o.Ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	seed := filepath.Join(b.state, fmt.Sprintf("seedless-g1-%s.iso", o.ID))
	must(t, os.Rename(seed, seed+".away"))
	wantKind(t, "rebuild without the seed", p.Rebuild(t.Context(), o), fault.Permanent)
	must(t, os.Rename(seed+".away", seed))
	must(t, p.Rebuild(t.Context(), o))
	awaitSeen(t, p, o.Ref, "rebuilt", hasAddress)
	destroyed(t, p, o.Ref)
}

// failedRemovalIsCertain: the daemon answers that the domain cannot be undefined, and it is there as before.
func failedRemovalIsCertain(t *testing.T, b *bench) {
	p := b.handle(t)
	o := b.order("sticky")
	must(t, p.Create(t.Context(), o))
	must(t, p.PowerOff(t.Context(), o.Ref))
	awaitSeen(t, p, o.Ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	definition := filepath.Join(b.Info().Dir, "etc", "qemu", o.Name+".xml")
	must(t, os.Rename(definition, definition+".away"))
	must(t, os.Mkdir(definition, 0o700))
	wantKind(t, "delete", p.Delete(t.Context(), o.Ref), fault.Permanent)
	must(t, os.Remove(definition))
	must(t, os.Rename(definition+".away", definition))
	must(t, p.Delete(t.Context(), o.Ref))
}

// TestFullDisk: the daemon has no word for it, so the adapter looks.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	small := t.TempDir()
	must(t, unix.Mount("tmpfs", small, "tmpfs", 0, "size=1m"))
	t.Cleanup(func() { must(t, unix.Unmount(small, 0)) })
	if err := os.WriteFile(filepath.Join(small, "filler"), make([]byte, 2<<20), 0o600); err == nil {
		t.Fatal("the disk is not full")
	}
	b := newBench(t)
	b.state = small
	p := b.handle(t)
	o := b.order("squeezed")
	o.Template.Image = filepath.Join(b.Info().Images, "base.qcow2")
	wantKind(t, "create", p.Create(t.Context(), o), fault.NoSpace)
	_, err := p.Get(t.Context(), o.Ref)
	wantKind(t, "get", err, fault.NotFound)
	if diff := cmp.Diff([]string{"filler"}, b.files(t)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func impossibleIsRefused(t *testing.T, b *bench) {
	p := b.handle(t)
	for name, spoil := range map[string]func(*provider.Blueprint){
		"no such image":      func(o *provider.Blueprint) { o.Template.Image = "nowhere.qcow2" },
		"no memory":          func(o *provider.Blueprint) { o.Template.Memory = 0 },
		"a name with spaces": func(o *provider.Blueprint) { o.Name = "a b" },
		"an id of no kind":   func(o *provider.Blueprint) { o.ID = "web-1" },
		"no mark":            func(o *provider.Blueprint) { o.Mark = fleet.Mark{} },
		"a second disk":      func(o *provider.Blueprint) { o.Template.Disks = []policy.Disk{{Name: "data"}} },
		"broken own XML":     func(o *provider.Blueprint) { o.Template.XML = "<domain>{{.Nothing}}</domain>" },
		"own XML of a cloud": func(o *provider.Blueprint) {
			o.Template.XML = "<domain type='qemu'><os><type>cloud</type></os></domain>"
		},
	} {
		o := b.order("impossible")
		spoil(&o)
		err := p.Create(t.Context(), o)
		if !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.Unsupported) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	domains, err := b.Domains(background(t))
	must(t, err)
	if slices.ContainsFunc(domains, func(d lab.Domain) bool { return d.Name == "impossible" }) {
		t.Errorf("refused orders left %+v", domains)
	}
}

func strangerIsUntouched(t *testing.T, b *bench) {
	p := b.handle(t)
	id := b.Stranger(t, "", "stranger").ID
	for _, mark := range []fleet.Mark{{}, b.order("x").Mark} {
		ref := provider.Ref{ID: id, Mark: mark}
		wantKind(t, "power off", p.PowerOff(t.Context(), ref), fault.Conflict)
		wantKind(t, "reboot", p.Reboot(t.Context(), ref), fault.Conflict)
		wantKind(t, "certify", p.Certify(t.Context(), ref), fault.Conflict)
		wantKind(t, "delete", p.Delete(t.Context(), ref), fault.Conflict)
	}
	l, err := p.List(t.Context())
	must(t, err)
	want := []fleet.Instance{{ID: id, Name: "stranger", Power: fleet.PowerRunning,
		Size: fleet.Size{Memory: 96 << 20, CPUs: 1}}}
	if diff := cmp.Diff(want, l.Instances, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
}

// listingFollowsMarks: what a listing remembers of domains is dropped when another client writes a mark.
func listingFollowsMarks(t *testing.T, b *bench) {
	p, another := b.handle(t), b.handle(t)
	ctx, cancel := context.WithCancel(t.Context())
	connected := make(chan provider.Event, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- p.Watch(ctx, func(e provider.Event) {
			select {
			case connected <- e:
			default:
			}
		})
	}()
	<-connected
	o := b.order("followed")
	must(t, another.Create(t.Context(), o))
	certified := func(ctx context.Context) (any, bool) {
		l, err := p.List(ctx)
		return err, err == nil && len(l.Instances) == 1 && l.Instances[0].Mark.Certified
	}
	if _, early := certified(t.Context()); early {
		t.Error("certified without a call")
	}
	must(t, another.Certify(t.Context(), o.Ref))
	await(t, "the certified mark in the listing", certified)
	cancel()
	must(t, <-ended)
	destroyed(t, p, o.Ref)
}

// transientSaysSo: a running domain that is undefined is gone for ever once it is off, and listings say so; also while
// they remember what they read.
func transientSaysSo(t *testing.T, b *bench) {
	p := b.handle(t)
	ref := b.Stranger(t, "", "fleeting")
	ctx, cancel := context.WithCancel(t.Context())
	connected, ended := make(chan provider.Event, 64), make(chan error, 1)
	go func() {
		ended <- p.Watch(ctx, func(e provider.Event) {
			select {
			case connected <- e:
			default:
			}
		})
	}()
	<-connected
	listed := func(transient bool) func(context.Context) (any, bool) {
		return func(ctx context.Context) (any, bool) {
			l, err := p.List(ctx)
			return l, err == nil && len(l.Instances) == 1 && l.Instances[0].Transient == transient
		}
	}
	await(t, "a definition in the listing", listed(false))
	definition := b.definition(t, ref.ID)
	must(t, b.Undefine(background(t), "fleeting"))
	await(t, "no definition in the listing", listed(true))
	if seen, err := p.Get(t.Context(), ref); err != nil || !seen.Transient {
		t.Errorf("asked by its id: got %+v, %v", seen, err)
	}
	b.define(t, definition)
	await(t, "a definition again in the listing", listed(false))
	cancel()
	must(t, <-ended)
}

// olderMarkCounts: a mark that does not name its domain is hale's, and comes to name it. A mark that names another
// domain counts for nothing, in every call.
func olderMarkCounts(t *testing.T, b *bench) {
	p := b.handle(t)
	o := b.order("older")
	o.Mark.Instance = ""
	must(t, p.Create(t.Context(), o))
	if seen, err := p.Get(t.Context(), o.Ref); err != nil || seen.Mark.Instance != o.ID {
		t.Errorf("built, it is %+v, %v", seen, err)
	}
	inscribe := func(instance string) {
		t.Helper()
		mark := `<mark installation="bench" fleet="web" machine="web-1" generation="1" certified="true" ` +
			`built="2026-11-21T02:00:00Z"` + instance + `/>`
		_, err := b.Virsh(background(t), "metadata", o.Name, "--uri", "urn:hale:mark:1", "--key", "hale", "--set", mark,
			"--config", "--live")
		must(t, err)
	}
	bears := func(want fleet.Mark) {
		t.Helper()
		seen, err := p.Get(t.Context(), o.Ref)
		must(t, err)
		l, err := p.List(t.Context())
		must(t, err)
		if seen.Mark != want || len(l.Instances) != 1 || l.Instances[0].Mark != want {
			t.Errorf("bears %+v, listed as %+v, want %+v", seen.Mark, l.Instances, want)
		}
	}
	inscribe(` instance="` + uuid.NewString() + `"`)
	bears(fleet.Mark{})
	wantKind(t, "power off of a copy", p.PowerOff(t.Context(), o.Ref), fault.Conflict)
	wantKind(t, "certify of a copy", p.Certify(t.Context(), o.Ref), fault.Conflict)
	inscribe("")
	older := o.Mark
	older.Certified = true
	bears(older)
	must(t, p.Certify(t.Context(), o.Ref))
	older.Instance = o.ID
	bears(older)
	destroyed(t, p, o.Ref)
}
