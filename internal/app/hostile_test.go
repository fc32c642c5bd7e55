package app

import (
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/app/fencing"
	"hale/internal/config"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/state/memory"
	"hale/internal/testbed/nettest"
	"hale/internal/testbed/rabbit"
)

// hostileFor is how long hale stands among liars: HOSTILE=10m for longer (make hostile).
const hostileFor = 20 * time.Second

// password is what everybody is told who does not lie, and what the tokens of machines are derived from.
const password = "s3cret"

// mostMemory is what they may make hale take over what it had before, in bytes.
const mostMemory = 300 << 20

// hostile is a configuration in which everything but the calm fleet's provider is a liar. The machines of the fleet
// beating are at a liar's, too; they report by themselves, to where anybody may come.
const hostile = `
providers:
  calms: {type: simulated, boot: 100ms, poll: 500ms}
  cloud:
    type: openstack
    cloud: {name: lies, file: %[1]s/clouds.yaml}
    poll: 1s
    events: {brokers: ["%[4]s"], user: u, password: {file: %[1]s/password}}
  vc:
    type: vsphere
    poll: 1s
    vcenter: {url: "%[2]s", user: u, password: {file: %[1]s/password}, ca: %[1]s/ca.pem,
      datacenter: DC0, cluster: C, datastore: D}
  rack: {type: libvirt, hosts: [{name: h1, uri: "qemu+tcp://%[3]s/system", fence: [bmc]}], poll: 1s}
  program: {type: exec, command: [%[1]s/liar], poll: 1s, timeout: 2s}
heartbeats: {listen: "%[5]s"}
fences: {bmc: {redfish: {url: "%[2]s", user: u, password: {file: %[1]s/password}, ca: %[1]s/ca.pem}, test: 1m}}
fleets:
  calm:
    provider: calms
    size: 3
    checks: {page: {http: {}, every: 200ms, timeout: 150ms, down_after: 2, up_after: 1}}
    repair: {attempts: 100 in 1m}
  beating:
    provider: program
    size: 3
    template: {image: x, network: n, disks: {root: ephemeral}}
    checks:
      beat: {heartbeat: {secret: {file: %[1]s/password}}, every: 5s, timeout: 3s, down_after: 1, up_after: 1}
`

const liarFleet = `
  %[1]s:
    provider: %[1]s
    size: 2
    template: {image: x, network: n%[2]s, disks: {root: ephemeral}}
    checks: {page: {http: {}}}
`

func hostileConfig(t *testing.T, l *liars, broker, listen string) *config.Config {
	t.Helper()
	dir, server := t.TempDir(), l.serve(t, l.lie)
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("password", password, 0o600)
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), 0o600)
	write("clouds.yaml", fmt.Sprintf("clouds:\n  lies:\n    cacert: %s/ca.pem\n    auth: {auth_url: %q, username: u, "+
		"password: p, project_name: p, user_domain_name: d, project_domain_name: d}\n",
		dir, server.URL+"/v3"), 0o600)
	write("liar", "#!/bin/sh\ncase $(($$ % 3)) in 0) exec cat /dev/zero ;; 1) exec sleep 100 ;; *) echo "+
		"'{\"result\": {\"instances\": [{}]}}' ;; esac\n", 0o755)
	text := fmt.Sprintf(hostile, dir, server.URL, l.daemon(t), broker, listen)
	for name, more := range map[string]string{"cloud": ", server: {flavor: f}", "vc": "", "rack": ", memory: 64MiB",
		"program": ""} {
		text += fmt.Sprintf(liarFleet, name, more)
	}
	c, err := config.Parse("hale.yaml", []byte(text), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// hale runs among a cloud, a vCenter, a libvirt daemon, a power controller, a message broker and a program that lie,
// flood, stall and redirect. hale sends no order and no password elsewhere, stays within its memory, and heals another
// fleet meanwhile. Strangers flood the heartbeat port: hale hears each true report, and calls no machine ill.
func TestLiarsGetNothingAndHinderNobody(t *testing.T) {
	t.Parallel()
	lasts := hostileFor
	if said := os.Getenv("HOSTILE"); said != "" {
		var err error
		if lasts, err = time.ParseDuration(said); err != nil {
			t.Fatalf("HOSTILE=%s: %v; write 20s or 10m", said, err)
		}
	}
	l, broker, listen := newLiars(t), rabbit.StartLiar(t, rabbit.Lies()...), nettest.Free(t)
	c := hostileConfig(t, l, broker.Address, listen)
	s := amongLiars(t, c)
	stop := s.run()
	defer stop()
	b := s.beating(listen)
	defer b.stop()
	s.await("the calm fleet stands, and the beating one was heard", time.Minute, func() bool {
		return s.well("calm") && b.heard()
	})
	visitors := besiege(t, listen)
	defer visitors.stop()
	before, most, heals := taken(), uint64(0), 0
	for end := time.Now().Add(lasts); time.Now().Before(end); heals++ {
		s.site.fencing.Test(t.Context(), "bmc", "h1")
		s.await("the calm fleet is healed", time.Minute, s.crash("calm", heals%3+1))
		most = max(most, taken())
	}
	visitors.stop()
	b.stop()
	t.Logf("%d heals in %v among %d lies, %d of them the broker's, and %d visits of strangers; %d reports; memory %d "+
		"MiB, and %d MiB at most", heals, lasts, l.turns.Load(), broker.Told(), visitors.count.Load(), b.reports,
		before>>20,
		most>>20)
	if most > before+mostMemory {
		t.Errorf("memory grew from %d to %d MiB", before>>20, most>>20)
	}
	if n := l.reached.Load(); n != 0 {
		t.Errorf("a stranger was asked %d times", n)
	}
	least := int64(lasts / time.Second / 5) // also where much else is to be done
	if n, of, by := l.turns.Load(), broker.Told(), visitors.count.Load(); min(n, 2*of, by, b.reports) < least {
		t.Errorf("only %d lies were told, %d by the broker; strangers came %d times, and %d reports were made", n, of,
			by,
			b.reports)
	}
	for _, wrong := range b.wrong {
		t.Error(wrong)
	}
	for _, f := range s.site.engine.Status() {
		if f.Spec.Name != "calm" && f.Provider.Standing == fleet.ProviderUp {
			t.Errorf("the provider of %s counts as up", f.Spec.Name)
		}
	}
}

// amongLiars is hale with the configuration.
func amongLiars(t *testing.T, c *config.Config) *survival {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	s := &survival{t: t, store: memory.New(memory.Options{}).Open(nil)}
	var err error
	if s.site, err = newSite(c, nil, log); err != nil {
		t.Fatal(err)
	}
	s.site.teller, s.site.fencing = newTeller(c, "test", "here", s.site.defects), fencing.New(c, log, s.site.defects)
	err = s.site.staff(staffing{store: s.store, server: "here", specs: c.Fleets, log: log,
		wrap: func(p provider.Provider) provider.Provider { return p }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// taken is the memory in use, in bytes.
func taken() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
