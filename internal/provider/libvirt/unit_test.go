package libvirt

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/kdomanski/iso9660"
	"pgregory.net/rapid"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/testbed/nettest"
)

var update = flag.Bool("update", false, "write the golden files anew")

var testID = uuid.MustParse("6f1c8f0a-3f0e-4a0c-9a53-0b6f4a1de001")

func testMark() fleet.Mark {
	return fleet.Mark{
		Installation: "inst", Fleet: "web", Machine: "web-2", Generation: 7,
		Built: time.Date(2026, 11, 21, 2, 3, 4, 5, time.UTC),
	}
}

func TestDomainXML(t *testing.T) {
	t.Parallel()
	direct := policy.Template{
		Kernel: "/img/vmlinux", Initrd: "/img/initrd", Cmdline: `quiet name={name} odd="<&>"`, Memory: 96 << 20,
	}
	disk := policy.Template{Image: "web.qcow2", Memory: 1 << 30, CPUs: 2, Network: "lan", Seed: true,
		Metadata: fleet.MetadataOf(map[string]string{"role": `<db> & "more"`, "rack": "r1"})}
	for name, c := range map[string]struct {
		template policy.Template
		kind     string
		disk     string
		seed     string
		own      string
	}{
		"direct-tcg": {template: direct, kind: typeQEMU},
		"disk-kvm":   {template: disk, kind: typeKVM, disk: "/img/o.qcow2", seed: "/img/s.iso"},
		"own": {template: direct, kind: typeQEMU, own: `<domain type="{{.Type}}"><uuid>` + uuid.NewString() + `</uuid>
			<metadata><a:note xmlns:a="urn:a">x</a:note></metadata><memory unit="b">{{.Memory}}</memory><os><type>hvm</type><cmdline>{{.Cmdline}}</cmdline></os></domain>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			order := provider.Blueprint{
				Ref:      provider.Ref{ID: fleet.InstanceID(testID.String()), Mark: testMark()},
				Name:     "web-2",
				Template: c.template,
			}
			plan := newBlueprint(order, testID)
			plan.Type, plan.Disk, plan.Seed, plan.Console = c.kind, c.disk, c.seed, "/img/c.console.log"
			got, err := plan.render(c.own, order.Mark)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".xml")
			if *update {
				if err := os.WriteFile(golden, []byte(got+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got+"\n"); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			f, err := parseFacts(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(order.Mark, f.mark); diff != "" {
				t.Errorf("the mark read back (-want +got):\n%s", diff)
			}
			if f.bears != c.template.Metadata {
				t.Errorf("the metadata read back are %q, want %q", f.bears, c.template.Metadata)
			}
		})
	}
}

func TestWhatADomainLiesOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ devices, network, storage string }{
		"nothing": {},
		"a libvirt network, while it runs": {`<interface type="network"><mac address="52:54:00:00:00:01"/><source network="lan" portid="x" bridge="virbr0"/></interface>`,
			"lan", ""},
		"a bridge of the host's": {
			`<interface type="bridge"><mac address="52:54:00:00:00:01"/><source bridge="br0"/></interface>`,
			"br0",
			"",
		},
		"the first of two": {`<interface type="user"/><interface type="bridge"><source bridge="br0"/></interface>
			<interface type="network"><source network="lan"/></interface>`, "br0", ""},
		"a file": {`<disk type="file"><source file="/var/lib/libvirt/images/web-1.qcow2"/></disk>`, "", ""},
		"a Ceph volume": {
			`<disk type="network"><source protocol="rbd" name="vms/web-1"><host name="mon1" port="6789"/><host name="mon2"/></source></disk>`,
			"",
			"rbd://mon1/vms",
		},
		"a seed on the host, and an iSCSI disk": {`<disk type="file" device="cdrom"><source file="/x.iso"/></disk>
			<disk type="network"><source protocol="iscsi" name="iqn.2013-07.com.example:vms/2"><host name="san"/></source></disk>`,
			"", "iscsi://san/iqn.2013-07.com.example:vms"},
		"no server named": {`<disk type="network"><source protocol="nbd" name="web-1"/></disk>`, "", "nbd:///"},
	} {
		f, err := parseFacts("<domain><devices>" + c.devices + "</devices></domain>")
		if err != nil || f.network != c.network || f.storage != c.storage {
			t.Errorf("%s: network %q, storage %q, %v", name, f.network, f.storage, err)
		}
	}
}

func TestOwnXMLMayNotForgeAMark(t *testing.T) {
	t.Parallel()
	_, err := blueprint{
		Name: "x",
		UUID: testID.String(),
	}.render(`<domain><metadata><m:mark xmlns:m="urn:hale:mark:1"/></metadata></domain>`, testMark())
	if err == nil {
		t.Error("accepted")
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	const (
		running, paused = int32(golibvirt.DomainRunning), int32(golibvirt.DomainPaused)
		ending, off     = int32(golibvirt.DomainShutdown), int32(golibvirt.DomainShutoff)
		crashed, asleep = int32(golibvirt.DomainCrashed), int32(golibvirt.DomainPmsuspended)
	)
	for name, c := range map[string]struct {
		state, reason int32
		power         fleet.Power
		stop          fleet.Stop
	}{
		"nothing said":       {0, 0, fleet.PowerUnknown, fleet.StopUnknown},
		"running":            {running, 1, fleet.PowerRunning, fleet.StopUnknown},
		"shutting down":      {ending, 0, fleet.PowerRunning, fleet.StopUnknown},
		"paused by a person": {paused, int32(golibvirt.DomainPausedUser), fleet.PowerPaused, fleet.StopExternal},
		"its disk is full":   {paused, int32(golibvirt.DomainPausedIoerror), fleet.PowerPaused, fleet.StopIOError},
		"paused for a migration": {
			paused, int32(golibvirt.DomainPausedMigration), fleet.PowerPaused, fleet.StopUnknown,
		},
		"paused while it starts": {
			paused, int32(golibvirt.DomainPausedStartingUp), fleet.PowerRunning, fleet.StopUnknown,
		},
		"paused because it died": {
			paused, int32(golibvirt.DomainPausedCrashed), fleet.PowerCrashed, fleet.StopUnknown,
		},
		"suspended to memory":    {asleep, 0, fleet.PowerPaused, fleet.StopGuest},
		"shut down in order":     {off, int32(golibvirt.DomainShutoffShutdown), fleet.PowerOff, fleet.StopShutdown},
		"destroyed":              {off, int32(golibvirt.DomainShutoffDestroyed), fleet.PowerOff, fleet.StopExternal},
		"saved":                  {off, int32(golibvirt.DomainShutoffSaved), fleet.PowerOff, fleet.StopExternal},
		"migrated away":          {off, int32(golibvirt.DomainShutoffMigrated), fleet.PowerOff, fleet.StopMoved},
		"its process was killed": {off, int32(golibvirt.DomainShutoffCrashed), fleet.PowerOff, fleet.StopCrash},
		"it failed to start":     {off, int32(golibvirt.DomainShutoffFailed), fleet.PowerOff, fleet.StopCrash},
		"ended by the daemon":    {off, int32(golibvirt.DomainShutoffDaemon), fleet.PowerOff, fleet.StopCrash},
		"off since before":       {off, int32(golibvirt.DomainShutoffUnknown), fleet.PowerOff, fleet.StopUnknown},
		"panicked and preserved": {
			crashed, int32(golibvirt.DomainCrashedPanicked), fleet.PowerCrashed, fleet.StopCrash,
		},
		"a state of years ahead":  {99, 0, fleet.PowerUnknown, fleet.StopUnknown},
		"a reason of years ahead": {off, 99, fleet.PowerOff, fleet.StopUnknown},
	} {
		if power, stop := stateOf(c.state, c.reason); power != c.power || stop != c.stop {
			t.Errorf("%s: got %q %q, want %q %q", name, power, stop, c.power, c.stop)
		}
	}
}

// What the daemon paused for a job of its own, or for want of storage, goes on when that is over, and not by an order.
func TestOnlyWhatAnOrderMayUndoIsResumed(t *testing.T) {
	t.Parallel()
	for reason, want := range map[golibvirt.DomainPausedReason]bool{
		golibvirt.DomainPausedUser:           true,
		golibvirt.DomainPausedUnknown:        true,
		golibvirt.DomainPausedWatchdog:       true,
		golibvirt.DomainPausedFromSnapshot:   true,
		golibvirt.DomainPausedSnapshot:       true,
		golibvirt.DomainPausedMigration:      false,
		golibvirt.DomainPausedSave:           false,
		golibvirt.DomainPausedDump:           false,
		golibvirt.DomainPausedIoerror:        false,
		golibvirt.DomainPausedPostcopy:       false,
		golibvirt.DomainPausedPostcopyFailed: false,
		golibvirt.DomainPausedCrashed:        false,
		99:                                   false,
	} {
		if got := resumable(reason); got != want {
			t.Errorf("reason %d: resumable %v, want %v", reason, got, want)
		}
	}
}

func TestMarkIsReadAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äß☃]*`)
		want := fleet.Mark{
			Installation: fleet.Installation(text.Draw(t, "installation")),
			Fleet:        fleet.Name(text.Draw(t, "fleet")),
			Machine:      fleet.MachineName(text.Draw(t, "machine")),
			Generation:   fleet.Generation(rapid.Uint64().Draw(t, "generation")),
			Certified:    rapid.Bool().Draw(t, "certified"),
			Instance:     fleet.InstanceID(rapid.StringMatching(`[0-9a-f-]{0,36}`).Draw(t, "instance")),
			Built: time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "built"),
				rapid.Int64Range(0, 999999999).Draw(t, "ns")).UTC(),
		}
		encoded, err := encodeMark(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeMark(encoded)
		if err != nil || got != want {
			t.Fatalf("%s: got %+v, %v, want %+v", encoded, got, err, want)
		}
	})
}

func TestDamagedMarkIsNone(t *testing.T) {
	t.Parallel()
	good, err := encodeMark(testMark())
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range [][2]string{
		{`generation="7"`, `generation="7th"`},
		{`certified="false"`, ``},
		{`built="2026`, `built="MMXXVI`},
	} {
		damaged := strings.Replace(good, spoil[0], spoil[1], 1)
		if damaged == good {
			t.Fatalf("%s has no %s", good, spoil[0])
		}
		if _, err := decodeMark(damaged); err == nil {
			t.Errorf("%s was accepted", damaged)
		}
		f, err := parseFacts("<domain><metadata>" +
			strings.Replace(damaged, "<mark", `<mark xmlns="urn:hale:mark:1"`, 1) + "</metadata></domain>")
		if err != nil || f.mark != (fleet.Mark{}) {
			t.Errorf("%s: got %+v, %v", damaged, f.mark, err)
		}
	}
}

func TestURIs(t *testing.T) {
	t.Parallel()
	for uri, want := range map[string]address{
		"qemu:///system": {network: "unix", targets: []string{"/var/run/libvirt/libvirt-sock",
			"/var/run/libvirt/virtqemud-sock"}},
		"qemu+unix:///system?socket=/a%20b/sock": {network: "unix", targets: []string{"/a b/sock"}},
		"qemu+unix:///session?socket=/run/s/sock": {network: "unix", targets: []string{"/run/s/sock"},
			uri: golibvirt.QEMUSession},
		"qemu+tcp://h1/system":           {network: "tcp", targets: []string{"h1:16509"}},
		"qemu+tcp://[fd00::1]:99/system": {network: "tcp", targets: []string{"[fd00::1]:99"}},
		"qemu+tls://h1/system": {network: "tcp", targets: []string{"h1:16514"}, over: overTLS,
			name: "h1"},
		"qemu://h1:99/system": {network: "tcp", targets: []string{"h1:99"}, over: overTLS,
			name: "h1"},
		"qemu+ssh://root@h1/system": {network: "tcp", targets: []string{"h1:22"}, over: overSSH, user: "root",
			sockets: []string{"/var/run/libvirt/libvirt-sock", "/var/run/libvirt/virtqemud-sock"}},
		"qemu+ssh://hale@h1:2222/system?socket=/run/s": {network: "tcp", targets: []string{"h1:2222"}, over: overSSH,
			user: "hale", sockets: []string{"/run/s"}},
	} {
		got, err := parseURI(uri)
		if want.uri == "" {
			want.uri = golibvirt.QEMUSystem
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(address{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", uri, err, diff)
		}
	}
	for _, bad := range []string{"", "/system", "qemu://", "xen:///system", "qemu+ssh://h/system",
		"qemu+ssh://u@h/session", "qemu+tcp:///system", "qemu+tls:///system", "qemu+libssh://u@h/system", "%"} {
		if a, err := parseURI(bad); err == nil {
			t.Errorf("%q was understood as %+v", bad, a)
		}
	}
}

func TestOptionsAreCheckedTogether(t *testing.T) {
	t.Parallel()
	_, err := New(Options{StateDir: "images", Hosts: []HostOptions{
		{Name: "a", URI: "qemu:///system"}, {Name: "a", URI: "qemu:///system"}, {Name: "b", URI: "vbox:///session"},
	}})
	if !fault.Is(err, fault.Invalid) {
		t.Fatalf("got %v", err)
	}
	for _, problem := range []string{`"images"`, `"a" is named twice`, `host "b"`} {
		if !strings.Contains(err.Error(), problem) {
			t.Errorf("%v does not tell of %s", err, problem)
		}
	}
}

func TestNewestLeaseCounts(t *testing.T) {
	t.Parallel()
	lease := func(mac, ip string, expires int64) golibvirt.NetworkDhcpLease {
		return golibvirt.NetworkDhcpLease{Mac: golibvirt.OptString{mac}, Ipaddr: ip, Expirytime: expires}
	}
	got := newestByMAC([]golibvirt.NetworkDhcpLease{
		lease("52:00:00:00:00:0A", "10.0.0.1", 100),
		lease("52:00:00:00:00:0a", "10.0.0.2", 300),
		lease("52:00:00:00:00:0a", "10.0.0.3", 200),
		lease("52:00:00:00:00:0b", "fd00::1", 900),
		lease("52:00:00:00:00:0b", "10.0.0.4", 100),
		lease("52:00:00:00:00:0b", "fd00::2", 950),
		lease("52:00:00:00:00:0c", "fd00::3", 100), lease("52:00:00:00:00:0d", "nonsense", 100), {Ipaddr: "10.0.0.9"},
	})
	want := map[string]netip.Addr{
		"52:00:00:00:00:0a": netip.MustParseAddr("10.0.0.2"),
		"52:00:00:00:00:0b": netip.MustParseAddr("10.0.0.4"),
		"52:00:00:00:00:0c": netip.MustParseAddr("fd00::3"),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestMACIsUsable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 1000 {
		mac, err := net.ParseMAC(macOf(uuid.New()))
		if err != nil {
			t.Fatal(err)
		}
		if mac[0]&1 != 0 || mac[0]&2 == 0 || mac[0] == 0xfe || seen[mac.String()] {
			t.Errorf("%s is a group's, global, libvirt's own, or there already", mac)
		}
		seen[mac.String()] = true
	}
}

func TestOnlyOwnEphemeralFilesAreRemovable(t *testing.T) {
	t.Parallel()
	order := provider.Blueprint{Ref: provider.Ref{ID: fleet.InstanceID(testID.String()), Mark: testMark()},
		Name: "web-2"}
	for suffix, want := range map[string]bool{
		overlaySuffix:         true,
		seedSuffix:            true,
		consoleSuffix:         true,
		consoleSuffix + ".0":  true,
		consoleSuffix + ".12": true,
		consoleSuffix + ".gz": false, keptSuffix: false,
	} {
		if name := fileName(order, suffix); removable(name, order.ID) != want {
			t.Errorf("%s: want removable %v", name, want)
		}
	}
	order.Template.Disks = []policy.Disk{
		{Name: "data", Size: 1 << 30},
		{Name: "scratch", Size: 1 << 30, Ephemeral: true},
	}
	for _, d := range disks(order) {
		if removable(d.file, order.ID) == d.Attached() {
			t.Errorf("%s, kept %v: removable %v", d.file, d.Attached(), !d.Attached())
		}
	}
	next := order
	next.ID, next.Mark.Generation = fleet.InstanceID(uuid.NewString()), order.Mark.Generation+1
	if a, b := disks(order), disks(next); a[0].file != b[0].file || a[1].file == b[1].file {
		t.Errorf("the next instance has %s and %s after %s and %s", b[0].file, b[1].file, a[0].file, a[1].file)
	}
	next.Mark.Installation = "another"
	if disks(order)[0].file == disks(next)[0].file {
		t.Error("another installation's machine of that name would get the disk")
	}
	for _, foreign := range []string{
		"web-2-g7-" + uuid.NewString() + ".qcow2",
		"base.qcow2",
		testID.String() + ".qcow2",
		"web-" + testID.String() + ".raw",
	} {
		if removable(foreign, order.ID) {
			t.Errorf("%s would be removed", foreign)
		}
	}
}

func TestMadeDisksAreAttached(t *testing.T) {
	t.Parallel()
	order := provider.Blueprint{Ref: provider.Ref{ID: fleet.InstanceID(testID.String()), Mark: testMark()},
		Name: "web-2"}
	order.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	b := newBlueprint(order, testID)
	b.Disks["data"] = "/images/a&b.qcow2"
	text, err := b.render("", order.Mark)
	if err != nil || !strings.Contains(text, `<source file="/images/a&amp;b.qcow2">`) ||
		!strings.Contains(text, "<serial>data</serial>") {
		t.Errorf("%v: %s", err, text)
	}
	own := `<domain type='qemu'><devices>%s</devices></domain>`
	disk := `<disk type='file' device='disk'><source file='{{.Disks.data}}'/><target dev='vdz'/></disk>`
	if text, err = b.render(fmt.Sprintf(own, disk), order.Mark); err != nil || !strings.Contains(text, `dev="vdz"`) {
		t.Errorf("%v: %s", err, text)
	}
	if _, err := b.render(fmt.Sprintf(own, ""), order.Mark); err == nil ||
		!strings.Contains(err.Error(), "{{.Disks.data}}") {
		t.Errorf("own XML that leaves the disk out: %v", err)
	}
}

func TestSeedHoldsWhatCloudInitReads(t *testing.T) {
	t.Parallel()
	b, err := makeSeed("i-1", "web-2", "#cloud-config\nruncmd: [true]\n")
	if err != nil {
		t.Fatal(err)
	}
	image, err := iso9660.OpenImage(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	label, err := image.Label()
	if err != nil || label != "cidata" {
		t.Errorf("label %q, %v", label, err)
	}
	root, err := image.RootDir()
	if err != nil {
		t.Fatal(err)
	}
	children, err := root.GetChildren()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range children {
		text, err := io.ReadAll(f.Reader())
		if err != nil {
			t.Fatal(err)
		}
		got[f.Name()] = string(text)
	}
	want := map[string]string{
		"meta-data": "instance-id: i-1\nlocal-hostname: web-2\n",
		"user-data": "#cloud-config\nruncmd: [true]\n",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestCacheKeepsNothingStale: what was read while a change came in is not kept, and nothing is without a watch.
func TestCacheKeepsNothingStale(t *testing.T) {
	t.Parallel()
	var c factCache
	id := golibvirt.UUID(testID)
	kept := func() bool { _, _, ok := c.get(id); return ok }
	put := func(between func()) {
		_, changes, _ := c.get(id)
		between()
		c.put(id, facts{}, changes)
	}
	if put(func() {}); kept() {
		t.Error("kept without a watch")
	}
	c.attach()
	if put(func() { c.forget(golibvirt.UUID{1}) }); kept() {
		t.Error("kept what was read while something changed")
	}
	if put(func() {}); !kept() {
		t.Error("not kept")
	}
	if c.forget(id); kept() {
		t.Error("kept after it changed")
	}
	put(func() {})
	if c.detach(); kept() {
		t.Error("kept after the watch ended")
	}
}

// TestErrorsOfCalls tells what a session makes of an error: before, at and after a change.
func TestErrorsOfCalls(t *testing.T) {
	t.Parallel()
	code := func(c golibvirt.ErrorNumber) error { return golibvirt.Error{Code: uint32(c), Message: "x"} }
	lost := golibvirt.ErrInterrupted
	for name, c := range map[string]struct {
		err                              error
		read, write, order, afterAnother fault.Kind
	}{
		"connection lost": {
			lost, fault.Transient, fault.UnknownOutcome, fault.UnknownOutcome, fault.UnknownOutcome,
		},
		"not connected": {
			syscall.EINVAL, fault.Transient, fault.Transient, fault.Transient, fault.UnknownOutcome,
		},
		"no domain": {
			code(golibvirt.ErrNoDomain), fault.NotFound, fault.NotFound, fault.NotFound, fault.UnknownOutcome,
		},
		"access denied": {
			code(golibvirt.ErrAccessDenied), fault.Unauthorised, fault.Unauthorised, fault.Unauthorised,
			fault.UnknownOutcome,
		},
		"socket not permitted": {
			os.ErrPermission, fault.Unauthorised, fault.UnknownOutcome, fault.UnknownOutcome, fault.UnknownOutcome,
		},
		"internal error": {
			code(golibvirt.ErrInternalError), fault.Transient, fault.Permanent, fault.UnknownOutcome,
			fault.UnknownOutcome,
		},
		"a tap device's name is taken by another daemon": {
			golibvirt.Error{Code: uint32(golibvirt.ErrSystemError),
				Message: "Unable to create tap device vnet3: Device or resource busy"},
			fault.Transient, fault.Transient, fault.Transient, fault.UnknownOutcome,
		},
		"a killed domain has not ended": {
			golibvirt.Error{Code: uint32(golibvirt.ErrSystemError),
				Message: "Failed to terminate process 7 with SIGKILL: Device or resource busy"},
			fault.Transient, fault.Permanent, fault.UnknownOutcome, fault.UnknownOutcome,
		},
		"wrong state": {
			code(golibvirt.ErrOperationInvalid), fault.Transient, fault.Transient, fault.Transient,
			fault.UnknownOutcome,
		},
		"no such network": {
			code(golibvirt.ErrNoNetwork), fault.Invalid, fault.Invalid, fault.Invalid, fault.UnknownOutcome,
		},
	} {
		newSession := func() *session { return &session{link: &link{wire: newWire(nil)}, op: "op", subject: "it"} }
		after := newSession()
		if err := after.order(func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		fail := func() error { return c.err }
		for how, got := range map[string][2]any{
			"read":          {newSession().fault(c.err), c.read},
			"write":         {newSession().write(fail), c.write},
			"order":         {newSession().order(fail), c.order},
			"after another": {after.order(fail), c.afterAnother},
		} {
			if err, want := got[0].(error), got[1].(fault.Kind); !fault.Is(err, want) || !errors.Is(err, c.err) {
				t.Errorf("%s, %s: got %v, want kind %q", name, how, err, want)
			}
		}
	}
}

// TestASocketThatDoesNotOpenNamesTheWayOut: what dial says of it is read by a person who mistyped it, or has no right
// to it.
func TestASocketThatDoesNotOpenNamesTheWayOut(t *testing.T) {
	t.Parallel()
	addr, err := parseURI("qemu+unix:///system?socket=" + filepath.Join(t.TempDir(), "sock"))
	if err != nil {
		t.Fatal(err)
	}
	_, missing := reach{address: addr}.dial(t.Context())
	refusal := &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.EACCES)}
	denied := reach{address: addr}.unheard("sock", refusal)
	for want, c := range map[string]struct{ said, kind error }{
		"no libvirt daemon listens on " + addr.targets[0] + " (connect: no such file or directory): " +
			"is it started, and is the provider's uri right?": {missing, fs.ErrNotExist},
		"hale's user may not use sock (connect: permission denied): add that user to the group libvirt": {
			denied, fs.ErrPermission},
	} {
		if c.said == nil || c.said.Error() != want || !errors.Is(c.said, c.kind) {
			t.Errorf("got %v, want %s", c.said, want)
		}
	}
}

// TestStrangePeer: something else listens at the address. It must not be believed, nor take memory, nor hang.
// A daemon that is not there is found by the listing, which says so once; the watch, which tries again and again, adds
// nothing to that.
func TestAWatchThatNeverBeganIsNotSaidToBeInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p, err := New(Options{StateDir: t.TempDir(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Hosts: []HostOptions{{URI: "qemu+unix:///system?socket=" + filepath.Join(t.TempDir(), "none")}}})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := p.Watch(ctx, func(provider.Event) {}); err != nil || log.Len() != 0 {
			t.Errorf("%v; the log says\n%s", err, log.String())
		}
	})
}

func TestStrangePeer(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"a web server":     "HTTP/1.1 400 Bad Request\r\n\r\n",
		"a short message":  "\x00\x00\x00\x04",
		"a flood of zeros": strings.Repeat("\x00", 1<<16),
		"silence":          "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket := filepath.Join(t.TempDir(), "s")
			listener, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			nettest.Serve(t, listener, func(_ context.Context, c net.Conn) {
				io.WriteString(c, answer)
				io.Copy(io.Discard, c)
			})
			p, err := New(Options{Hosts: []HostOptions{{URI: "qemu+unix:///system?socket=" + socket}}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			if _, err := p.List(ctx); !fault.Is(err, fault.Transient) {
				t.Errorf("list: %v", err)
			}
			if err := upload(ctx, p.hosts[0].addr, golibvirt.StorageVol{}, nil); err == nil {
				t.Error("the upload was confirmed")
			}
			p.Close()
		})
	}
}
