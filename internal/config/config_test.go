package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hale/internal/adapters"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/kinds"
	"hale/internal/secret"
)

// sound parses what must be valid.
func sound(t *testing.T, text string) *Config {
	t.Helper()
	c, err := parsed("/etc/hale/hale.yaml", []byte(text))
	if err != nil {
		t.Fatalf("refused:\n%v\n%s", err, text)
	}
	return c
}

func parsed(name string, data []byte) (*Config, error) { return Parse(name, data, adapters.All()) }

func loaded(path string) (*Config, error) { return Load(path, adapters.All()) }

// one parses a configuration with the single fleet web on provider lab.
func one(t *testing.T, lines ...string) policy.Spec {
	t.Helper()
	text := "providers: {lab: {type: libvirt, uri: qemu:///system}}\nfleets:\n  web:\n    provider: lab\n    size: 3\n"
	for _, l := range lines {
		text += "    " + l + "\n"
	}
	return sound(t, text).Fleets[0]
}

func term(name fleet.CheckName) policy.Condition {
	return policy.Condition{Op: policy.OpTerm, Term: name}
}

// The example of the design, without the steps that are not there yet.
func TestWholeFileBecomesProvidersAndFleets(t *testing.T) {
	t.Parallel()
	got := sound(t, `
providers:
  lab: {type: libvirt, uri: qemu:///system}

fleets:
  web:
    provider: lab
    size: 3
    template: {image: web.qcow2, memory: 256MiB, cpus: 1, network: default, disks: {root: ephemeral}}
    checks:
      page: {http: {port: 80, path: /}, every: 2s, timeout: 1s, down_after: 3, up_after: 2}
      alive: {ping: {}, every: 1s}
    unhealthy_when: {all: [page, alive]}
    repair:
      steps:
        - start: {}
        - reboot: {mode: hard, verify_within: 30s}
        - recreate: {}
      fence: {proof: confirmed-off}
      attempts: 3 in 1h
    limits: {in_repair: 1, brake: {percent: 20%, at_least: 2}}
    on_external_stop: heal
`)
	half := policy.Brake{AtLeast: 10, Percent: 50, ReleaseAfter: 30 * time.Second, All: true}
	want := &Config{
		Providers: []Provider{{
			Name: "lab", Type: "libvirt", Hosts: []kinds.Host{{URI: "qemu:///system"}},
			Poll: 5 * time.Second,
		}},
		Fleets: []policy.Spec{{
			Name: "web", Provider: "lab", Size: 3,
			Template: policy.Template{
				Image: "/etc/hale/web.qcow2", Memory: 256 << 20, CPUs: 1, Network: "default",
				Disks: []policy.Disk{{Name: "root", Ephemeral: true}}, Accel: policy.AccelAuto,
			},
			Checks: []policy.Check{
				{Name: "alive", Kind: policy.CheckPing, Every: time.Second, Timeout: 500 * time.Millisecond,
					DownAfter: 3, UpAfter: 2},
				{
					Name: "page", Kind: policy.CheckHTTP, Every: 2 * time.Second, Timeout: time.Second, DownAfter: 3,
					UpAfter: 2,
					Port:    80, HTTP: policy.HTTPCheck{Scheme: "http", Path: "/"},
				},
			},
			UnhealthyWhen: policy.Condition{Op: policy.OpAll, Of: []policy.Condition{term("page"), term("alive")}},
			Repair: policy.Repair{
				Steps: []policy.Step{
					{Kind: fleet.StepStart, Timeout: 30 * time.Second, VerifyWithin: time.Minute},
					{Kind: fleet.StepReboot, Timeout: 30 * time.Second, VerifyWithin: 30 * time.Second,
						Mode: policy.RebootHard},
					{Kind: fleet.StepRecreate, Timeout: 2 * time.Minute, OnDeleteFailure: policy.DeleteFailureStop},
				},
				Fence:    fleet.Fence{Proof: fleet.ProofConfirmedOff},
				Attempts: 3, AttemptsIn: time.Hour, Backoff: 10 * time.Second, OnExternalStop: policy.ExternalStopHeal,
			},
			Limits: policy.Limits{
				InRepair: 1, InBuild: 3, Brake: policy.Brake{AtLeast: 2, Percent: 20,
					ReleaseAfter: 30 * time.Second},
				Shared: []policy.SharedLimit{{Scope: policy.ScopeInstallation, InRepair: 40},
					{Scope: policy.ScopeProvider, InRepair: 20}},
				Brakes: []policy.SharedBrake{
					{Scope: policy.ScopeInstallation, Policy: half},
					{Scope: policy.ScopeProvider, Policy: half},
				},
			},
			SharedFate: policy.SharedFate{Then: policy.FatePage, AtLeast: 3, Wait: 10 * time.Minute},
			Mode:       policy.ModeAct,
			Update: policy.Update{Pilots: 1, Soak: 2 * time.Minute, OnFailure: policy.UpdateStop,
				UndoWithin: time.Hour, Order: policy.UpdateHighest}, Grace: time.Minute,
			BuildWithin: 5 * time.Minute, BlindAfter: 5 * time.Minute,
			History: 30 * 24 * time.Hour,
		}},
	}
	if diff := cmp.Diff(want, got, addresses, ownApart); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

// ownApart leaves out what a type of provider makes of its own keys: that is for its own tests.
var ownApart = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Settings" }, cmp.Ignore())

// addresses compares addresses, which have unexported fields.
var addresses = cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b secret.Secret) bool { return a == b })}

func TestDisksWithASize(t *testing.T) {
	t.Parallel()
	got := one(t, "template: {image: a.qcow2, disks: {scratch: {size: 2GiB, keep: false}, root: ephemeral, data: "+
		"{size: 512MiB}}}").Template.Disks
	want := []policy.Disk{{Name: "data", Size: 512 << 20}, {Name: "root", Ephemeral: true},
		{Name: "scratch", Ephemeral: true, Size: 2 << 30}}
	if diff := cmp.Diff(want, got, addresses, ownApart); diff != "" {
		t.Errorf("disks (-want +got):\n%s", diff)
	}
}

func TestDefaultLadderLosesNoDisk(t *testing.T) {
	t.Parallel()
	gentle := []fleet.StepKind{fleet.StepStart, fleet.StepReboot}
	all := []fleet.StepKind{fleet.StepStart, fleet.StepReboot, fleet.StepRecreate}
	for reason, c := range map[string]struct {
		template string
		want     []fleet.StepKind
	}{
		"an image's disk is kept unless declared":    {"{image: a.qcow2}", gentle},
		"kept by declaration":                        {"{image: a.qcow2, disks: {root: keep}}", gentle},
		"ephemeral by declaration":                   {"{image: a.qcow2, disks: {root: ephemeral}}", all},
		"an empty declaration keeps the image's one": {"{image: a.qcow2, disks: {}}", gentle},
		"a disk that goes from instance to instance": {"{image: a.qcow2, disks: {root: ephemeral, data: {size: 1GiB}}}",
			all},
		"beside one that is kept":                 {"{image: a.qcow2, disks: {data: {size: 1GiB}}}", gentle},
		"of a kernel":                             {"{kernel: k, initrd: i, disks: {data: {size: 1GiB}}}", all},
		"of an own domain":                        {"{xml: <domain/>, disks: {data: {size: 1GiB}}}", all},
		"kernel and initrd have no disk":          {"{kernel: k, initrd: i}", all},
		"nobody knows the disks of an own domain": {"{xml: <domain/>}", gentle},
		"an own domain without disks":             {"{xml: <domain/>, disks: {}}", all},
		"an own domain with one kept of two":      {"{xml: <domain/>, disks: {a: ephemeral, b: keep}}", gentle},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			var got []fleet.StepKind
			for _, s := range one(t, "template: "+c.template).Repair.Steps {
				got = append(got, s.Kind)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("ladder (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimeoutStaysBelowEvery(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]time.Duration{
		"":                              time.Second,
		", every: 2s":                   time.Second,
		", every: 1s":                   500 * time.Millisecond,
		", every: 100ms":                50 * time.Millisecond,
		", timeout: 4999ms":             4999 * time.Millisecond,
		", every: 1s, timeout: 999ms":   999 * time.Millisecond,
		", every: 10ms, timeout: 999ms": 0, // refused
	} {
		text := "providers: {lab: {type: simulated}}\nfleets: {web: {provider: lab, size: 1, checks: {a: {ping: {}" +
			options + "}}}}"
		c, err := parsed("hale.yaml", []byte(text))
		if want == 0 {
			if err == nil {
				t.Errorf("%q was accepted", options)
			}
			continue
		}
		if err != nil || c.Fleets[0].Checks[0].Timeout != want {
			t.Errorf("%q: want %s, got %v, %v", options, want, c, err)
		}
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	checks := "checks: {page: {http: {}}, alive: {ping: {}}}"
	for text, want := range map[string]policy.Condition{
		// the line is left out
		"{}":                            {Op: policy.OpAny, Of: []policy.Condition{term("alive"), term("page")}},
		"unhealthy_when: page":          term("page"),
		"unhealthy_when: provider":      term(policy.ProviderTerm),
		"unhealthy_when: {any: [page]}": {Op: policy.OpAny, Of: []policy.Condition{term("page")}},
		"unhealthy_when: {at_least: 2, of: [page, alive]}": {Op: policy.OpAtLeast, N: 2,
			Of: []policy.Condition{term("page"), term("alive")}},
		"unhealthy_when: {all: [page, {any: [{all: [alive]}, provider]}]}": {Op: policy.OpAll, Of: []policy.Condition{
			term("page"),
			{Op: policy.OpAny, Of: []policy.Condition{{Op: policy.OpAll, Of: []policy.Condition{term("alive")}},
				term(policy.ProviderTerm)}},
		}},
	} {
		lines := []string{"template: {kernel: k, initrd: i}", checks}
		if text != "{}" {
			lines = append(lines, text)
		}
		if diff := cmp.Diff(want, one(t, lines...).UnhealthyWhen); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	if got := one(t, "template: {kernel: k, initrd: i}").UnhealthyWhen; !cmp.Equal(got, term(policy.ProviderTerm)) {
		t.Errorf("without checks only the provider can say something; got %v", got)
	}
}

func TestExternalStop(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]policy.Repair{
		"mode: act": {OnExternalStop: policy.ExternalStopHoldThenPage,
			ExternalStopHold: 15 * time.Minute},
		"on_external_stop: hold": {OnExternalStop: policy.ExternalStopHoldThenPage,
			ExternalStopHold: 15 * time.Minute},
		"on_external_stop: {hold: 30m}": {OnExternalStop: policy.ExternalStopHoldThenPage,
			ExternalStopHold: 30 * time.Minute},
		"on_external_stop: heal": {OnExternalStop: policy.ExternalStopHeal},
	} {
		got := one(t, "template: {kernel: k, initrd: i}", text).Repair
		if got.OnExternalStop != want.OnExternalStop || got.ExternalStopHold != want.ExternalStopHold {
			t.Errorf("%s: got %s for %s", text, got.OnExternalStop, got.ExternalStopHold)
		}
	}
}

func TestKindsOfCheck(t *testing.T) {
	t.Parallel()
	got := one(t, "template: {kernel: k, initrd: i}", `checks:
      a: {ping:}
      b: {tcp: {port: 22}}
      c: {http: {scheme: https, host: www.example.org, path: "/healthz?deep=1"}}
      d: {http: {scheme: https, port: 8443}}
      e: {exec: {command: [probe, "{ip}", "80"]}}`).Checks
	check := func(name fleet.CheckName, kind policy.CheckKind) policy.Check {
		return policy.Check{Name: name, Kind: kind, Every: 5 * time.Second, Timeout: time.Second, DownAfter: 3,
			UpAfter: 2}
	}
	a, b, c, d, e := check("a", policy.CheckPing), check("b", policy.CheckTCP), check("c", policy.CheckHTTP),
		check("d", policy.CheckHTTP), check("e", policy.CheckExec)
	b.Port = 22
	c.Port, c.HTTP = 443, policy.HTTPCheck{Scheme: "https", Host: "www.example.org", Path: "/healthz?deep=1"}
	d.Port, d.HTTP = 8443, policy.HTTPCheck{Scheme: "https", Path: "/"}
	e.Exec.Command = []string{"probe", "{ip}", "80"}
	if diff := cmp.Diff([]policy.Check{a, b, c, d, e}, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

func TestHeartbeats(t *testing.T) {
	t.Parallel()
	got := sound(t, `
providers: {lab: {type: libvirt, uri: qemu:///system}}
heartbeats: {listen: "10.0.0.1:7700", address: "hale.example.org:7700",
  tls: {certificate: cert.pem, key: /etc/ssl/key.pem}}
fleets:
  web:
    provider: lab
    size: 3
    template: {kernel: k, initrd: i, user_data: "TOKEN={heartbeat.c}"}
    checks:
      a: {heartbeat: {token: {file: beat}}, every: 30s, timeout: 10s}
      b: {heartbeat: {token: {env: BEAT}}, every: 1m}
      c: {heartbeat: {secret: {env: BEAT}}}
`)
	if want := (Heartbeats{Listen: "10.0.0.1:7700", Address: "hale.example.org:7700", Certificate: "/etc/hale/cert.pem",
		Key: "/etc/ssl/key.pem"}); got.Heartbeats != want {
		t.Errorf("heartbeats are %+v, want %+v", got.Heartbeats, want)
	}
	beat := func(name fleet.CheckName, every, timeout time.Duration, token fleet.Secret) policy.Check {
		return policy.Check{
			Name: name, Kind: policy.CheckHeartbeat, Every: every, Timeout: timeout, DownAfter: 3, UpAfter: 2,
			Heartbeat: policy.HeartbeatCheck{Token: token},
		}
	}
	want := []policy.Check{
		beat("a", 30*time.Second, 10*time.Second, fleet.Secret{File: "/etc/hale/beat"}),
		beat("b", time.Minute, 30*time.Second, fleet.Secret{Env: "BEAT"}),
		beat("c", 5*time.Second, 3*time.Second, fleet.Secret{Env: "BEAT"}),
	}
	want[2].Heartbeat.PerMachine = true
	if diff := cmp.Diff(want, got.Fleets[0].Checks); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

func TestChecksOfServices(t *testing.T) {
	t.Parallel()
	got := one(t, "template: {kernel: k, initrd: i}", `checks:
      a: {ssh:}
      b: {ssh: {port: 2222, banner: "OpenSSH_(9|10)"}}
      c: {tls: {port: 636, certificate_days: 14, host: ldap.example.org}}
      d: {tls: {port: 5671, certificate_days: 0, insecure: true}}
      e: {udp: {port: 27015, send: "getinfo", answer: "^info"}}
      f: {udp: {port: 123, send_hex: "E3 00 04fa"}}
      g: {dns: {name: www.example.org}}
      i: {grpc: {port: 50051}}
      j: {grpc: {port: 443, service: shop.v1.Orders, host: "orders.example.org:443", tls: true, certificate_days: 14}}
      h: {dns: {name: example.org., type: MX, answer: ["10 mail.example.org"], port: 5353, tcp: true}}`).Checks
	check := func(name fleet.CheckName, kind policy.CheckKind, port int) policy.Check {
		return policy.Check{Name: name, Kind: kind, Port: port, Every: 5 * time.Second, Timeout: time.Second,
			DownAfter: 3, UpAfter: 2}
	}
	want := []policy.Check{
		check("a", policy.CheckSSH, 22), check("b", policy.CheckSSH, 2222), check("c", policy.CheckTLS, 636),
		check("d", policy.CheckTLS, 5671),
	}
	want[1].SSH.Banner = "OpenSSH_(9|10)"
	want[2].Certificate = policy.CertificateCheck{Host: "ldap.example.org", TLSCheck: policy.TLSCheck{Days: 14}}
	want[3].Certificate.Insecure = true
	e, f, g, h := check("e", policy.CheckUDP, 27015), check("f", policy.CheckUDP, 123), check("g", policy.CheckDNS, 53),
		check("h", policy.CheckDNS, 5353)
	e.UDP = policy.UDPCheck{Send: []byte("getinfo"), Answer: "^info"}
	f.UDP.Send = []byte{0xe3, 0, 4, 0xfa}
	g.DNS = policy.DNSCheck{Name: "www.example.org", Type: policy.RecordA}
	h.DNS = policy.DNSCheck{Name: "example.org.", Type: policy.RecordMX, Answer: []string{"10 mail.example.org"},
		TCP: true}
	i, j := check("i", policy.CheckGRPC, 50051), check("j", policy.CheckGRPC, 443)
	j.GRPC = policy.GRPCCheck{Service: "shop.v1.Orders", Host: "orders.example.org:443", Secure: true,
		TLS: policy.TLSCheck{Days: 14}}
	want = append(want, e, f, g, h, i, j)
	if diff := cmp.Diff(want, got, addresses, ownApart); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
}

// TestRemindersInCycles: a cycle is as long as the slowest check needs to be made once more.
func TestRemindersInCycles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90s": 90 * time.Second, "10 cycles": 5 * time.Minute,
		"2 cycles": time.Minute, "86400 cycles": 720 * time.Hour} {
		got := one(t, "template: {kernel: k, initrd: i}", "notify: {remind_every: "+text+"}",
			"checks: {slow: {ping: {}, every: 30s}, fast: {ping: {}, every: 1s}}").Notify
		if got.RemindEvery != want {
			t.Errorf("%s is %v, want %v", text, got.RemindEvery, want)
		}
	}
}

// TestWhatACommandIsTold: metadata are the template's, and a secret is a reference that nothing is replaced in.
func TestWhatACommandIsTold(t *testing.T) {
	t.Parallel()
	got := one(t, "template: {kernel: k, initrd: i, metadata: {role: \"db {name}\", tier: gold}}", `repair:
      steps:
        - run: {command: [apply, "{ip}", "{meta.role}"], env: {TOKEN: {file: /run/secrets/a}, TIER: "{meta.tier}"}}`)
	if want := fleet.MetadataOf(map[string]string{"role": "db {name}", "tier": "gold"}); got.Template.Metadata != want {
		t.Errorf("metadata %q, want %q", got.Template.Metadata, want)
	}
	want := policy.Command{Args: []string{"apply", "{ip}", "{meta.role}"}, Env: []policy.Variable{
		{Name: "TIER", Value: "{meta.tier}"}, {Name: "TOKEN", Secret: fleet.Secret{File: "/run/secrets/a"}},
	}}
	if diff := cmp.Diff(want, got.Repair.Steps[0].Run); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
	// What machines bear that existed before, only their provider knows.
	sound(t, `
providers: {lab: {type: libvirt, uri: qemu:///system}}
fleets: {db: {provider: lab, select: {name: "db-*"}, checks: {own: {exec: {command: [ask, "{meta.role}"]}}}}}`)
}

// A cloud may take longer to list than one host, and as long as is written.
func TestAListingOfACloudMayTakeLonger(t *testing.T) {
	t.Parallel()
	c, err := parsed("hale.yaml", []byte(`
providers:
  cloud: {type: openstack, cloud: production}
  large: {type: openstack, cloud: production, list_within: 2m}
  host: {type: libvirt, uri: "qemu:///system"}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[fleet.ProviderName]time.Duration{}
	for _, p := range c.Providers {
		got[p.Name] = p.ListWithin
	}
	if want := (map[fleet.ProviderName]time.Duration{"cloud": 30 * time.Second, "large": 2 * time.Minute,
		"host": 0}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestProviders(t *testing.T) {
	t.Parallel()
	got := sound(t, `
providers:
  rack:
    type: libvirt
    poll: 500ms
    state_dir: /srv/hale/
    hosts:
      - {name: h2, uri: "qemu+tls://h2:16509/system"}
      - {name: h1, uri: "qemu+unix:///system?socket=/run/h1.sock"}
      - {name: h0, uri: qemu:///session}
      - {name: h6, uri: "qemu+tls://[fd00::6]/system"}
  dream: {type: simulated, boot: 4s, latency: 10ms}
`)
	want := &Config{Providers: []Provider{
		{
			Name: "dream", Type: "simulated", Poll: 5 * time.Second,
		},
		{
			Name: "rack", Type: "libvirt", Poll: 500 * time.Millisecond, Hosts: []kinds.Host{
				{Name: "h0", URI: "qemu:///session"},
				{Name: "h1", URI: "qemu+unix:///system?socket=/run/h1.sock"},
				{Name: "h2", URI: "qemu+tls://h2:16509/system"},
				{Name: "h6", URI: "qemu+tls://[fd00::6]/system"},
			},
		},
	}}
	if diff := cmp.Diff(want, got, addresses, ownApart); diff != "" {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A folder's files are one configuration: a fleet may live on a provider of another file, and paths begin at the
// folder.
func TestFolderIsReadAsOne(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "20-web.yaml"),
		"fleets: {web: {provider: lab, size: 1, template: {image: img/web.qcow2, user_data: {file: seed.cfg}}}}")
	write(t, filepath.Join(folder, "10-lab.yaml"), "providers: {lab: {type: libvirt, uri: qemu:///system}}")
	write(t, filepath.Join(folder, "30-db.yaml"),
		"fleets: {db: {provider: lab, size: 1, template: {kernel: /k, initrd: /i}}}")
	write(t, filepath.Join(folder, "seed.cfg"), "#cloud-config\n")
	write(t, filepath.Join(folder, ".20-web.yaml"), "an editor's copy")
	write(t, filepath.Join(folder, "notes.txt"), "no configuration")
	write(t, filepath.Join(folder, "old", "web.yaml"), "in a sub-folder")
	c, err := loaded(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Passed) != 0 {
		t.Errorf("passed over are %v", c.Passed)
	}
	if len(c.Providers) != 1 || len(c.Fleets) != 2 || c.Fleets[0].Name != "db" || c.Fleets[1].Name != "web" {
		t.Fatalf("got %+v", c)
	}
	web := c.Fleets[1].Template
	if web.Image != filepath.Join(folder, "img", "web.qcow2") || web.UserData != "#cloud-config\n" {
		t.Errorf("template %+v", web)
	}
	if c.Fleets[0].Template.Kernel != "/k" {
		t.Errorf("an absolute path became %s", c.Fleets[0].Template.Kernel)
	}
}

func TestFilesThatLookLikeAPartOfAFolderAndAreNotReadAreNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"C.YAML", "b.yml", "notes.txt", "web.yaml.bak"} {
		write(t, filepath.Join(folder, name), "not read")
	}
	if _, err := loaded(folder); err == nil || !strings.Contains(err.Error(),
		"rename C.YAML so that it ends in .yaml") {
		t.Errorf("a folder without a file to read: %v", err)
	}
	write(t, filepath.Join(folder, "a.yaml"), "providers: {lab: {type: simulated}}")
	c, err := loaded(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{filepath.Join(folder, "C.YAML"), filepath.Join(folder, "b.yml"), filepath.Join(folder,
		"web.yaml.bak")}
	if !slices.Equal(c.Passed, want) || len(c.Warnings(adapters.All())) != 3 {
		t.Errorf("passed over are %v, and said is %q", c.Passed, c.Warnings(adapters.All()))
	}
}

func TestNothingToLoad(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if _, err := loaded(folder); err == nil || !strings.Contains(err.Error(), folder) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := loaded(filepath.Join(folder, "hale.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}

// A password in an address that is refused for it must not be repeated in the problem (L14).
func TestPasswordInAddressIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"qemu+tls://admin:hunter2@h1/system", "qemu+ssh://admin:hunter2@h1/system",
		"://admin:hunter2@h1/%zz", "admin:hunter2@h1"} {
		_, err := parsed("hale.yaml", fmt.Appendf(nil, "providers: {lab: {type: libvirt, uri: %q}}", uri))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func TestStarterIsValidAndTouchesNothing(t *testing.T) {
	t.Parallel()
	c, err := parsed("hale.yaml", Starter())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Fleets {
		if f.Mode != policy.ModeObserve {
			t.Errorf("fleet %s acts", f.Name)
		}
	}
	// What its comments offer works as well.
	bold := strings.NewReplacer("# - recreate", "- recreate", "root: keep", "root: ephemeral",
		"mode: observe", "mode: act").Replace(starter)
	c, err = parsed("hale.yaml", []byte(bold))
	if err != nil || len(c.Fleets[0].Repair.Steps) != 3 {
		t.Errorf("with recreate: %v", err)
	}
}

func TestTheSimulatedStarterIsTheExampleOfTheGuide(t *testing.T) {
	t.Parallel()
	if _, err := parsed("hale.yaml", SimulatedStarter()); err != nil {
		t.Error(err)
	}
	example, err := os.ReadFile("../../examples/simulated.yaml")
	if err != nil || !bytes.Equal(example, SimulatedStarter()) {
		t.Errorf("examples/simulated.yaml is not what hale init --simulated writes (%v)", err)
	}
}

func TestExamplesAreValid(t *testing.T) {
	t.Parallel()
	for _, path := range examples(t) {
		if c, err := loaded(path); err != nil || len(c.Fleets) == 0 {
			t.Errorf("%s:\n%v", path, err)
		}
	}
}

func examples(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(paths) < 7 {
		t.Fatalf("examples %v, %v", paths, err)
	}
	return paths
}

// The YAML parser would take minutes, or the whole stack, for what no person writes.
func TestMonstersAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for reason, c := range map[string]struct{ text, want string }{
		"brackets": {strings.Repeat("[", 100_000), "hale.yaml:1:101: is nested too deeply: use fewer levels"},
		"braces":   {strings.Repeat("{a: ", 100_000), "hale.yaml:1:401: is nested too deeply: use fewer levels"},
		"dashes":   {strings.Repeat("- ", 100_000), "hale.yaml:1:1001: is nested too deeply: use fewer levels"},
		"tags":     {strings.Repeat("!!a ", 100_000), "hale.yaml:1:13: is nested too deeply: use fewer levels"},
		"a very long one": {strings.Repeat("# \n", 400_000),
			"hale.yaml:1:1: is larger than 1MiB: spread it over several files in a folder"},
		"not text": {"providers: \xff", "hale.yaml:1:1: is not UTF-8 text: save it as UTF-8"},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			if _, err := parsed("hale.yaml", []byte(c.text)); err == nil || err.Error() != c.want {
				t.Errorf("want %s\ngot %v", c.want, err)
			}
		})
	}
	// A long line is no depth: a list of a thousand words is fine.
	words := "[" + strings.Repeat("word, ", 1000) + "word]"
	if got := one(t, "template: {kernel: k, initrd: i}",
		"checks: {a: {exec: {command: "+words+"}}}").Checks[0].Exec.Command; len(got) != 1001 {
		t.Errorf("%d words", len(got))
	}
}

// A file of ten lines protects machines that exist already: every default of it is a gentle one.
func TestTenLinesAdoptThreeMachines(t *testing.T) {
	t.Parallel()
	c, err := loaded("../../examples/adopt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../examples/adopt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(data), "\n"); lines > 10 {
		t.Errorf("it has %d lines", lines)
	}
	db := c.Fleets[0]
	var kinds []fleet.StepKind
	for _, s := range db.Repair.Steps {
		kinds = append(kinds, s.Kind)
	}
	if want := []fleet.StepKind{fleet.StepStart, fleet.StepResume, fleet.StepReboot,
		fleet.StepPage}; !slices.Equal(kinds, want) {
		t.Errorf("the ladder is %v, want %v", kinds, want)
	}
	if !reflect.DeepEqual(db.Template, policy.Template{}) || db.Size != 0 || db.Adopt.Replaceable ||
		!db.Adopt.Select.Means("db-main") {
		t.Errorf("it is %+v", db)
	}
}

func TestFleetsThatSelectKnowOfEachOther(t *testing.T) {
	t.Parallel()
	c := sound(t, `
providers: {lab: {type: libvirt, uri: qemu:///system}, other: {type: libvirt, uri: qemu+tls://h/system}}
fleets:
  a: {provider: lab, select: {name: "db-*"}, size: 3}
  b: {provider: lab, select: {name: "*-main", except: [db-main, db-main, a-main]}, adopt: {replaceable: true}, template: {kernel: k, initrd: i}}
  c: {provider: other, select: {name: "db-*"}}
  d: {provider: lab, size: 1, template: {kernel: k, initrd: i}}
`)
	b := policy.Selector{Name: "*-main", Except: []string{"a-main", "db-main"}}
	want := [][]policy.Rival{{{Fleet: "b", Select: b}}, {{Fleet: "a", Select: policy.Selector{Name: "db-*"}}}, nil, nil}
	for i, f := range c.Fleets {
		if diff := cmp.Diff(want[i], f.Adopt.Rivals); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	if a := c.Fleets[0]; a.Size != 0 || a.Adopt.Expected != 3 {
		t.Errorf("size %d, expected %d", a.Size, a.Adopt.Expected)
	}
	if s := c.Fleets[1].Repair.Steps; s[len(s)-1].Kind != fleet.StepRecreate {
		t.Errorf("a replaceable fleet's ladder ends with %s", s[len(s)-1].Kind)
	}
}

// Where no wait for health is written, it is long enough for the checks that there are; those that health does not
// depend on do not count.
func TestTheWaitForHealthFitsTheChecks(t *testing.T) {
	t.Parallel()
	template := "template: {image: web.qcow2, disks: {root: ephemeral}}"
	slow := "checks: {alive: {ping: {}}, page: {tcp: {port: 80}}, queue: {http: {port: 80}, every: 4m, timeout: 10s}}"
	need := 8*time.Minute + 10*time.Second
	const usualVerify, usualBuild = time.Minute, 5 * time.Minute
	for name, c := range map[string]struct {
		lines         []string
		verify, build time.Duration
	}{
		"quick checks": {[]string{template}, usualVerify, usualBuild},
		"a slow one":   {[]string{template, slow}, 2 * need, max(usualBuild, 2*need)},
		"a slow one, two of all": {[]string{template, slow, "unhealthy_when: {at_least: 2, of: [alive, page, queue]}"},
			usualVerify, usualBuild},
		"written": {[]string{template, slow, "repair: {steps: [reboot: {verify_within: 9m}]}",
			"build_within: 9m"}, 9 * time.Minute, 9 * time.Minute},
	} {
		s := one(t, c.lines...)
		if got := s.Repair.Steps[0].VerifyWithin; got != c.verify || s.BuildWithin != c.build {
			t.Errorf("%s: %s for a step and %s for a build, want %s and %s", name, got, s.BuildWithin, c.verify,
				c.build)
		}
	}
}
