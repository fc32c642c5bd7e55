package config_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/change"
	"hale/internal/core/policy"
)

const compared = `
balancers: {edge: {haproxy: {socket: /run/a, backend: web}}}
providers:
  lab: {type: libvirt, hosts: [{name: h1, uri: "qemu+tls://h1/system"}]}
fleets:
  web: {provider: lab, size: 3, template: {image: web.qcow2, disks: {root: ephemeral}}, checks: {alive: {ping: {}}}}
`

func TestWhatDiffersBetweenTwoConfigurations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		old, new string
		want     []change.Kind
	}{
		"nothing": {"size: 3", "size: 3", nil},
		"another address of a host": {"qemu+tls://h1/system", "qemu+tls://h9/system",
			[]change.Kind{change.AddressChanged}},
		"a further host": {`[{name: h1, uri: "qemu+tls://h1/system"}]`,
			`[{name: h1, uri: "qemu+tls://h1/system"}, {name: h2, uri: "qemu+tls://h2/system"}]`,
			[]change.Kind{change.ProviderReconnected}},
		"another host instead":       {"name: h1,", "name: h2,", []change.Kind{change.AddressChanged}},
		"a host that has a rack now": {"name: h1,", "name: h1, rack: r1,", []change.Kind{change.ProviderReconnected}},
		"another provider beside it": {"providers:\n", "providers:\n  other: {type: simulated}\n",
			[]change.Kind{change.ProviderAdded}},
		"a canary": {"\nproviders:", "\nvantage: {canaries: [10.0.0.1]}\nproviders:",
			[]change.Kind{change.VantageChanged}},
		"a pool": {"size: 3,", "size: 3, balancers: {edge: 80},",
			[]change.Kind{change.PolicyChanged, change.BalancersChanged}},
		"the way to a balancer": {"socket: /run/a", "socket: /run/b", []change.Kind{change.BalancersChanged}},
		"a list of machines": {"\nproviders:", "\ndiscovery: {all: {json: {path: /run/all}}}\nproviders:",
			[]change.Kind{change.DiscoveryChanged}},
		"where is listened for heartbeats": {"\nproviders:", "\nheartbeats: {listen: \":7118\"}\nproviders:",
			[]change.Kind{change.HeartbeatsChanged}},
		"an outlet of the journal": {"\nproviders:",
			"\ntelemetry: {journal: {all: {file: {path: /run/journal}}}}\nproviders:",
			[]change.Kind{change.TelemetryChanged}},
		"fewer machines": {"size: 3", "size: 2", []change.Kind{change.SizeDown}},
		"another type of provider": {`{type: libvirt, hosts: [{name: h1, uri: "qemu+tls://h1/system"}]}`,
			"{type: simulated}", []change.Kind{change.AddressChanged}},
	} {
		was, err := config.Parse("hale.yaml", []byte(compared), adapters.All())
		if err != nil {
			t.Fatal(err)
		}
		edited := strings.Replace(compared, c.old, c.new, 1)
		is, err := config.Parse("hale.yaml", []byte(edited), adapters.All())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []change.Kind
		for _, d := range config.Compare(was, is) {
			got = append(got, d.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEvidenceIsBoundedOrSwitchedOff(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]policy.Evidence{
		"{}": {}, "{gather: false}": {Off: true}, "{screenshot: false, wait: 2s}": {NoScreenshot: true,
			Wait: 2 * time.Second},
		"{console: 64KiB}": {Console: 64 << 10},
	} {
		c, err := config.Parse("hale.yaml", []byte("providers: {lab: {type: simulated}}\nfleets:\n  web: {provider: "+
			"lab, size: 3, template: {image: x, disks: {root: ephemeral}}, evidence: "+text+
			", checks: {alive: {ping: {}}}}\n"), adapters.All())
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := c.Fleets[0].Evidence; got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}
