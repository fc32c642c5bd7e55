package libvirt_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/libvirt"
	"hale/internal/provider/providertest"
)

// pair are two real hosts, h1 and h2, with one folder for the instances' files.
type pair struct {
	h1, h2 *bench
	shared string
}

func newPair(t testing.TB) pair {
	t.Helper()
	p := pair{h1: newBench(t), h2: newBench(t), shared: t.TempDir()}
	must(t, os.Chmod(p.shared, 0o755)) // QEMU goes through it
	for _, b := range []*bench{p.h1, p.h2} {
		b.state = p.shared
	}
	base, err := os.ReadFile(filepath.Join(p.h1.Info().Images, "base.qcow2"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(p.shared, "base.qcow2"), base, 0o644))
	return p
}

func (p pair) New(t providertest.T) provider.Provider {
	return p.handle(t, p.h1.relay.uri(), p.h2.relay.uri())
}

func (p pair) handle(t providertest.T, first, second string) *libvirt.Provider {
	t.Helper()
	handle, err := libvirt.New(libvirt.Options{
		Hosts:    []libvirt.HostOptions{{Name: "h1", URI: first}, {Name: "h2", URI: second}},
		StateDir: p.shared, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	must(t, err)
	t.Cleanup(func() { must(t, handle.Close()) })
	return handle
}

// on is the host of the name.
func (p pair) on(host fleet.HostName) *bench {
	if host == "h1" {
		return p.h1
	}
	return p.h2
}

func (p pair) Hosts() []fleet.HostName   { return []fleet.HostName{"h1", "h2"} }
func (p pair) Template() policy.Template { return p.h1.Template() }
func (p pair) Patience() time.Duration   { return patience }

func (p pair) LoseAnswers(t providertest.T, after int) <-chan struct{} {
	return p.h1.LoseAnswers(t, after)
}
func (p pair) HearAnswers(t providertest.T) { p.h1.HearAnswers(t) }

func (p pair) FailHost(t providertest.T, host fleet.HostName)   { t.Helper(); p.on(host).Disconnect(t) }
func (p pair) RepairHost(t providertest.T, host fleet.HostName) { t.Helper(); p.on(host).Reconnect(t) }

// LeaveBehind defines the domain on the other host: what a migration leaves.
func (p pair) LeaveBehind(t providertest.T, ref provider.Ref, host fleet.HostName) {
	t.Helper()
	p.on(host).define(t, p.on(ref.Host).definition(t, ref.ID))
}

func (p pair) TakeAway(t providertest.T, id fleet.InstanceID, host fleet.HostName) {
	t.Helper()
	must(t, p.on(host).Undefine(background(t), string(id)))
}

// Pause is of what is on h1.
func (p pair) Pause(t providertest.T, id fleet.InstanceID) { t.Helper(); p.h1.Pause(t, id) }

// definition is what a domain is started from, mark included.
func (b *bench) definition(t providertest.T, id fleet.InstanceID) string {
	t.Helper()
	text, err := b.Virsh(background(t), "dumpxml", "--inactive", "--security-info", string(id))
	must(t, err)
	return text
}

func (b *bench) define(t providertest.T, definition string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "domain.xml")
	must(t, os.WriteFile(file, []byte(definition), 0o600))
	_, err := b.Virsh(background(t), "define", file)
	must(t, err)
}

// CopyOf is what a person makes who takes the definition, and gives it another name and id.
func (b *bench) CopyOf(t providertest.T, ref provider.Ref, name string) provider.Ref {
	t.Helper()
	theirs := provider.Ref{ID: fleet.InstanceID(uuid.NewString()), Host: ref.Host}
	text := b.definition(t, ref.ID)
	text = strings.Replace(text, "<name>"+b.nameOf(t, ref.ID)+"</name>", "<name>"+name+"</name>", 1)
	text = strings.Replace(text, "<uuid>"+string(ref.ID)+"</uuid>", "<uuid>"+string(theirs.ID)+"</uuid>", 1)
	b.define(t, text)
	t.Cleanup(func() { must(t, b.Undefine(background(t), name)) })
	return theirs
}

// TestExamOfTwoHosts asks two hosts what a single one is not asked.
func TestExamOfTwoHosts(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, c := range providertest.Cases(p) {
		if !c.Asked(p.h1) {
			t.Run(c.Name, func(t *testing.T) { c.Run(t, p) })
		}
	}
}

// migrated moves the running instance from h1 to h2 as a person does with virsh, who forgets --undefinesource.
func (p pair) migrated(t *testing.T, o provider.Blueprint) {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, free.Close())
	_, err = p.h1.Virsh(background(t), "migrate", "--live", "--persistent", "--unsafe",
		o.Name, p.h2.URI(), "tcp://"+free.Addr().String())
	must(t, err)
}

// processes counts the QEMU processes of the id, on both hosts.
func (p pair) processes(t *testing.T, id fleet.InstanceID) int {
	t.Helper()
	n := 0
	for _, b := range []*bench{p.h1, p.h2} {
		all, err := b.Processes(t.Context())
		must(t, err)
		for _, one := range all {
			if one.UUID == string(id) {
				n++
			}
		}
	}
	return n
}

// orderOn returns one for a new instance on h1.
func (p pair) order(name string) provider.Blueprint {
	o := p.h1.order(name)
	o.Host = "h1"
	return o
}

// TestWhatAMigrationLeftBehindIsLeftAlone: a real virsh migrate leaves its definition on h1; then the instance dies
// on h2. Neither is touched, nor its disk, until one of the two is gone; then the other is started, once (L1).
func TestWhatAMigrationLeftBehindIsLeftAlone(t *testing.T) {
	t.Parallel()
	both := newPair(t)
	p := both.New(t)
	o := both.order("web-1")
	must(t, p.Create(t.Context(), o))
	awaitSeen(t, p, o.Ref, "an address", hasAddress)
	both.migrated(t, o)
	here, there := o.Ref, o.Ref
	there.Host = "h2"
	files := both.h1.files(t)

	l, err := p.List(t.Context())
	must(t, err)
	var seen []string
	for _, i := range l.Instances {
		seen = append(seen, fmt.Sprintf("%s %s %s", i.Host, i.ID, i.Power))
	}
	if want := []string{"h1 " + string(o.ID) + " off", "h2 " + string(o.ID) + " running"}; !slices.Equal(seen, want) {
		t.Errorf("listed %v, want %v", seen, want)
	}
	untouched := func(at provider.Ref, other, does string) {
		t.Helper()
		for what, err := range map[string]error{
			"start": p.Start(t.Context(), at), "reboot": p.Reboot(t.Context(), at),
			"power off": p.PowerOff(t.Context(), at), "delete": p.Delete(t.Context(), at),
		} {
			wantKind(t, what, err, fault.Conflict)
			want := "web-1's id is on " + other + ", too, and " + does + " there"
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if !slices.Equal(files, both.h1.files(t)) {
			t.Errorf("files are %v, and were %v", both.h1.files(t), files)
		}
	}
	untouched(here, "h2", "runs")
	if n := both.processes(t, o.ID); n != 1 {
		t.Errorf("%d processes", n)
	}
	both.h2.Kill(t, o.ID)
	dead := func(i fleet.Instance) bool { return i.Power == fleet.PowerOff && i.Stop == fleet.StopCrash }
	awaitSeen(t, p, there, "dead", dead)
	untouched(here, "h2", "is off")
	untouched(there, "h1", "is off")
	if n := both.processes(t, o.ID); n != 0 {
		t.Errorf("%d processes", n)
	}

	// A person undefines what was left, but the disk stays with the one that is.
	must(t, both.h1.Undefine(t.Context(), string(o.ID)))
	wantKind(t, "delete of what h1 does not have any more", p.Delete(t.Context(), here), fault.Conflict)
	if !slices.Equal(files, both.h1.files(t)) {
		t.Errorf("files are %v, and were %v", both.h1.files(t), files)
	}
	must(t, p.Start(t.Context(), there))
	awaitSeen(t, p, there, "an address", hasAddress)
	if n := both.processes(t, o.ID); n != 1 {
		t.Errorf("%d processes", n)
	}
	destroyed(t, p, there)
}

// TestAHostThatHangsIsAskedForPartOfTheTime: the caller hears of the refusal in time, and an excused host costs a
// moment.
func TestAHostThatHangsIsAskedForPartOfTheTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	silent, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) // it accepts no connection
	must(t, err)
	defer silent.Close()
	both := pair{h1: b, h2: b, shared: b.Info().Images}
	p := both.handle(t, b.URI(), "qemu+unix:///system?socket="+silent.Addr().String())
	o := both.order("web-1")
	within := func(limit time.Duration, call func(ctx context.Context) error) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		err := call(ctx)
		if ctx.Err() != nil {
			t.Errorf("nothing is left of %v, and it is %v", limit, err)
		}
		return err
	}
	const short = 6 * time.Second
	err = within(short, func(ctx context.Context) error { return p.Create(ctx, o) })
	wantKind(t, "create", err, fault.Transient)
	for _, said := range []string{"h2 did not answer", "hale fence confirm h2"} {
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%v does not say %q", err, said)
		}
	}
	o.Excused = []fleet.HostName{"h2"}
	must(t, within(patience, func(ctx context.Context) error { return p.Create(ctx, o) }))
	o.Excused = nil
	// It runs, so the other host is not asked.
	must(t, within(patience, func(ctx context.Context) error { return p.PowerOff(ctx, o.Ref) }))
	awaitSeen(t, p, o.Ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	err = within(short, func(ctx context.Context) error { return p.Start(ctx, o.Ref) })
	wantKind(t, "start", err, fault.Transient)
	o.Excused = []fleet.HostName{"h2"}
	began := time.Now()
	must(t, within(patience, func(ctx context.Context) error { return p.Start(ctx, o.Ref) }))
	if took := time.Since(began); took > patience/3 {
		t.Errorf("a start with the other host excused took %v", took)
	}
	must(t, within(patience, func(ctx context.Context) error { return p.PowerOff(ctx, o.Ref) }))
	awaitSeen(t, p, o.Ref, "off", func(i fleet.Instance) bool { return i.Power == fleet.PowerOff })
	must(t, within(patience, func(ctx context.Context) error { return p.Delete(ctx, o.Ref) }))
}

// TestARefusedOrderDefinesNothing: what another host has is refused before anything is claimed, so that no watch tells
// of it.
func TestARefusedOrderDefinesNothing(t *testing.T) {
	t.Parallel()
	both := newPair(t)
	p := both.New(t).(*libvirt.Provider)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan provider.Event, 256)
	ended := make(chan error, 1)
	go func() { ended <- p.Watch(ctx, func(e provider.Event) { heard <- e }) }()
	for _, host := range both.Hosts() {
		hear(t, heard, "the connections", provider.Event{Host: host})
	}
	o := both.order("web-1")
	must(t, p.Create(t.Context(), o))
	hear(t, heard, "what was built", provider.Event{Host: "h1", Instance: o.ID})
	rival, free := both.order("web-1"), both.order("web-2")
	rival.Host, free.Host = "h2", "h2"
	wantKind(t, "create of a taken name", p.Create(t.Context(), rival), fault.Conflict)
	must(t, p.Create(t.Context(), free))
	for e := (provider.Event{}); e.Instance != free.ID; e = <-heard {
		if e.Instance == rival.ID {
			t.Error("the refused one was there for a moment")
		}
	}
	cancel()
	must(t, <-ended)
	destroyed(t, p, o.Ref)
	destroyed(t, p, free.Ref)
}
