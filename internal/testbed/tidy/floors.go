package tidy

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// module is the name that hale's own import paths begin with.
const module = "hale"

// pkgRule is one package's place in the building: imports point to a lower floor, or to a lower step of the same floor.
type pkgRule struct {
	path    string
	floor   int
	step    int
	support bool     // only tests and other support may import it, and it imports no product code but what also names
	leaf    bool     // it imports no package of hale but those that also names
	also    []string // what it may import beyond the rule, or for support at all
	std     []string // what a package of floor 0 may import beyond coreStd
}

// packages lists every package of hale.
var packages = []pkgRule{
	// Floor 0, the core: fault to situation are words, decide is the judge. Pure: no clock, no I/O, no goroutine.
	{path: "internal/core/fault", floor: 0, step: 0, std: []string{"context"}},
	{path: "internal/core/fleet", floor: 0, step: 1},
	{path: "internal/core/policy", floor: 0, step: 2, std: []string{"reflect"}},
	// to compare whatever a template comes to have
	{path: "internal/core/budget", floor: 0, step: 3},
	{path: "internal/core/tested", floor: 0, step: 2},
	{path: "internal/core/resized", floor: 0, step: 2},
	{path: "internal/core/belief", floor: 0, step: 3, std: []string{"reflect"}}, // and whatever a ledger does
	{path: "internal/core/record", floor: 0, step: 4},
	{path: "internal/core/situation", floor: 0, step: 4},
	{path: "internal/core/health", floor: 0, step: 5},
	{path: "internal/core/guard", floor: 0, step: 5},
	{path: "internal/core/correlation", floor: 0, step: 5},
	{path: "internal/core/leaving", floor: 0, step: 5},
	{path: "internal/core/hooks", floor: 0, step: 5},
	{path: "internal/core/spares", floor: 0, step: 6},
	{path: "internal/core/change", floor: 0, step: 6, std: []string{"reflect"}}, // and whatever a policy does
	{path: "internal/core/placement", floor: 0, step: 6},
	{path: "internal/core/sizing", floor: 0, step: 5},
	{path: "internal/core/chart", floor: 0, step: 7},
	{path: "internal/core/look", floor: 0, step: 8},
	{path: "internal/core/round", floor: 0, step: 8},
	{path: "internal/core/ladder", floor: 0, step: 8},
	{path: "internal/core/wanted", floor: 0, step: 8},
	{path: "internal/core/repair", floor: 0, step: 9},
	{path: "internal/core/chore", floor: 0, step: 9},
	{path: "internal/core/telling", floor: 0, step: 9},
	{path: "internal/core/rollout", floor: 0, step: 9},
	{path: "internal/core/ledger", floor: 0, step: 10},
	{path: "internal/core/proving", floor: 0, step: 9},
	{path: "internal/core/inference", floor: 0, step: 10},
	{path: "internal/core/believing", floor: 0, step: 10},
	{path: "internal/core/adopting", floor: 0, step: 10},
	{path: "internal/core/orders", floor: 0, step: 11},
	{path: "internal/core/decide", floor: 0, step: 12},
	{path: "internal/core/tenure", floor: 0, step: 5},
	// Leaves: they know nothing of hale, and look at the world, so the core may not use them.
	{path: "internal/accel", floor: 0, step: 12, leaf: true},
	{path: "internal/defect", floor: 0, step: 12, leaf: true},
	{path: "internal/doorway", floor: 0, step: 12, leaf: true},
	{path: "internal/strict", floor: 0, step: 12, leaf: true},
	{path: "internal/near", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/calendar", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/load", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/scaler", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/guest", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/errand", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/world", floor: 0, step: 12, leaf: true,
		also: []string{"internal/sim/calendar", "internal/sim/errand", "internal/sim/guest", "internal/sim/load"}},
	{path: "internal/sim/pool", floor: 0, step: 12, leaf: true,
		also: []string{"internal/sim/guest", "internal/sim/world"}},
	{path: "internal/sim/drains", floor: 1, step: 1},
	{path: "internal/sim/verbs", floor: 0, step: 12, leaf: true,
		also: []string{"internal/sim/errand", "internal/sim/guest", "internal/sim/world", "internal/sim/load"}},
	{path: "internal/sim/trace", floor: 0, step: 12, leaf: true},
	{path: "internal/sim/weather", floor: 0, step: 12, leaf: true},
	// Floor 1, the ports, each with its exam; what wraps a port and knows no adapter lives here too.
	{path: "internal/provider", floor: 1},
	{path: "internal/provider/providertest", floor: 1, step: 1},
	{path: "internal/state", floor: 1},
	{path: "internal/state/keepalive", floor: 1, step: 1},
	{path: "internal/state/active", floor: 1, step: 1},
	{path: "internal/state/journal", floor: 1, step: 1},
	{path: "internal/state/inbox", floor: 1, step: 1},
	{path: "internal/state/once", floor: 1, step: 2},
	{path: "internal/state/starts", floor: 1, step: 1},
	{path: "internal/state/lossless", floor: 1},
	{path: "internal/state/format", floor: 1, step: 1},
	{path: "internal/state/courier", floor: 1, step: 2},
	{path: "internal/state/backup", floor: 1, step: 2},
	{path: "internal/state/beliefs", floor: 1, step: 2},
	{path: "internal/state/evidence", floor: 1, step: 1},
	{path: "internal/state/statetest", floor: 1, step: 1},
	{path: "internal/notify", floor: 1, step: 1},
	{path: "internal/notify/notifytest", floor: 1, step: 2},
	{path: "internal/state/outbox", floor: 1, step: 1},
	{path: "internal/outlet", floor: 1},
	{path: "internal/tracing", floor: 1},
	{path: "internal/secret", floor: 1},
	{path: "internal/keys", floor: 1, step: 1},
	{path: "internal/kinds", floor: 1, step: 3},
	{path: "internal/probe", floor: 1},
	{path: "internal/probe/probetest", floor: 1, step: 1},
	{path: "internal/program", floor: 1, step: 1},
	{path: "internal/program/programtest", floor: 1},
	{path: "internal/hook", floor: 1, step: 2},
	{path: "internal/access", floor: 1}, // who calls the API, and what they may do
	{path: "internal/access/token", floor: 1, step: 3},
	{path: "internal/access/audit", floor: 1, step: 1},
	{path: "internal/access/pair", floor: 1, step: 1},
	{path: "internal/access/openid", floor: 3},
	{path: "internal/fence", floor: 1, step: 2},
	{path: "internal/fence/fencetest", floor: 1, step: 3},
	{path: "internal/balancer", floor: 1},
	{path: "internal/balancer/balancertest", floor: 1, step: 1},
	{path: "internal/gauge", floor: 1},
	{path: "internal/gauge/gaugetest", floor: 1, step: 1},
	{path: "internal/gauge/usage", floor: 1, step: 1},
	{path: "internal/gauge/checks", floor: 1, step: 1},
	// What the drivers of floor 2 share; it knows nothing but the core, and the words of ports.
	{path: "internal/owner/picture", floor: 1, step: 1},
	{path: "internal/owner", floor: 1, step: 2},
	{path: "internal/owner/published", floor: 1, step: 3},
	{path: "internal/balancer/roster", floor: 1, step: 4},
	// Floor 2, the owners of goroutines.
	{path: "internal/engine/steward", floor: 2},
	{path: "internal/engine/process", floor: 2},
	{path: "internal/engine/fellows", floor: 2, step: 1},
	{path: "internal/engine/dedup", floor: 2, step: 2},
	{path: "internal/engine/notes", floor: 2, step: 1},
	{path: "internal/engine/sources", floor: 2},
	{path: "internal/engine/poller", floor: 2, step: 2},
	{path: "internal/engine/defects", floor: 2},
	{path: "internal/engine/calls", floor: 2, step: 3},
	{path: "internal/engine/unowned", floor: 2, step: 3},
	{path: "internal/engine/beside", floor: 2},
	{path: "internal/engine/takeover", floor: 2},
	{path: "internal/engine", floor: 2, step: 4},
	// The configuration, below the adapters: it is told which kinds there are.
	{path: "internal/config/times", floor: 2},
	{path: "internal/config/hooks", floor: 2},
	{path: "internal/config/sizes", floor: 2, step: 1},
	{path: "internal/config/updates", floor: 2, step: 2},
	{path: "internal/config/fleets", floor: 2, step: 3},
	{path: "internal/config", floor: 2, step: 4},
	// Floor 3, the adapters: none knows another.
	{path: "internal/provider/libvirt", floor: 3},
	{path: "internal/provider/external", floor: 3},
	{path: "internal/provider/openstack", floor: 3, step: 1},
	{path: "internal/provider/simulated", floor: 3},
	{path: "internal/provider/openstack/notification", floor: 3},
	{path: "internal/provider/vsphere", floor: 3},
	{path: "internal/state/etcd", floor: 3},
	{path: "internal/state/memory", floor: 3},
	{path: "internal/cluster/invitation", floor: 3}, // what a person carries to a server that joins hale's own cluster
	{path: "internal/cluster/papers", floor: 3},     // by what its servers know each other
	{path: "internal/cluster/door", floor: 3, step: 1},
	{path: "internal/probe/netprobe", floor: 3},
	{path: "internal/probe/bulkprobe", floor: 3},
	{path: "internal/probe/heartbeat", floor: 3},
	{path: "internal/probe/quorum", floor: 3},
	{path: "internal/probe/satellite", floor: 3, step: 1},
	{path: "internal/notify/mail", floor: 3},
	{path: "internal/notify/webhook", floor: 3, step: 1},
	{path: "internal/notify/command", floor: 3},
	{path: "internal/notify/memory", floor: 3},
	{path: "internal/outlet/post", floor: 3},
	{path: "internal/outlet/file", floor: 3},
	{path: "internal/outlet/cloudevents", floor: 3, step: 1},
	{path: "internal/outlet/otlp", floor: 3, step: 1},
	{path: "internal/fence/redfish", floor: 3},
	{path: "internal/fence/ipmi", floor: 3},
	{path: "internal/fence/agent", floor: 3},
	{path: "internal/fence/command", floor: 3},
	{path: "internal/fence/memory", floor: 3},
	{path: "internal/balancer/haproxy", floor: 3},
	{path: "internal/balancer/octavia", floor: 3, step: 2},
	{path: "internal/balancer/command", floor: 3},
	{path: "internal/balancer/webhook", floor: 3, step: 1},
	{path: "internal/balancer/memory", floor: 3},
	{path: "internal/hook/ways", floor: 3, step: 1},
	{path: "internal/gauge/prometheus", floor: 3},
	{path: "internal/gauge/command", floor: 3},
	{path: "internal/gauge/memory", floor: 3},
	// The list of the adapters that a configuration can name.
	{path: "internal/adapters", floor: 3, step: 3},
	// The wing: a simulated world for floors 0 to 2. What is kept of a run is kept in sentences.
	{path: "internal/sim/law", floor: 1}, // the one judge of simulator and bubble
	{path: "internal/sim/script", floor: 1},
	{path: "internal/sim/prober", floor: 1, step: 2},
	{path: "internal/sim/chronicle", floor: 1, step: 1, also: []string{"internal/prose"}},
	{path: "internal/sim/score", floor: 1, step: 1},
	{path: "internal/sim/exemplar", floor: 1, step: 1},
	{path: "internal/sim/stored", floor: 1, step: 1},
	{path: "internal/sim/rollouts", floor: 1, step: 2},
	{path: "internal/sim/judge", floor: 1, step: 3},
	{path: "internal/sim/source", floor: 1, step: 3},
	{path: "internal/sim", floor: 2, step: 5},
	{path: "internal/sim/survey", floor: 2, step: 6},
	// Floor 4, the surfaces.
	{path: "internal/prose/words", floor: 3, step: 9}, // below prose, and above all adapters, which word nothing
	{path: "internal/prose", floor: 4},
	{path: "internal/prose/explain", floor: 4, step: 1},
	{path: "internal/provider/examine", floor: 4},
	{path: "internal/importer", floor: 4, step: 1}, // its tests read what it writes with package config
	{path: "internal/config/configtest", floor: 4, step: 1},
	{path: "internal/trial/scenario", floor: 4, step: 1},
	{path: "api", floor: 4, step: 1},
	{path: "internal/discovery", floor: 4}, // which machines there are, as other programs want it
	{path: "internal/api/view", floor: 4, step: 2},
	{path: "internal/api/feed", floor: 4, step: 3},
	{path: "internal/api/rest", floor: 4, step: 2},
	{path: "internal/api/rights", floor: 4, step: 3},
	{path: "internal/api/socket", floor: 4, step: 2},
	{path: "internal/api/power", floor: 4, step: 3},
	{path: "internal/api/named", floor: 4, step: 3},
	{path: "internal/api/naming", floor: 4, step: 3},
	{path: "internal/api/probelog", floor: 4, step: 4},
	{path: "internal/api/server", floor: 4, step: 5},
	{path: "internal/api/gate", floor: 4, step: 6},
	{path: "internal/metrics", floor: 4, step: 3}, // what monitoring sees
	{path: "internal/ready", floor: 4, step: 3},   // whether hale lives, and can do its work
	{path: "internal/trial/rehearsal", floor: 4, step: 2},
	{path: "internal/trial/replay", floor: 4, step: 3},
	{path: "internal/trial/report", floor: 4, step: 4},
	{path: "internal/cli/paper", floor: 4, step: 1},
	{path: "internal/cli/command", floor: 4, step: 2},
	{path: "internal/cli/show", floor: 4, step: 3},
	{path: "internal/cli/steer", floor: 4, step: 4},
	{path: "internal/cli/play", floor: 4, step: 5},
	{path: "internal/cli/reach", floor: 4, step: 5},
	{path: "internal/cli/servers", floor: 4, step: 5},
	{path: "internal/cli", floor: 4, step: 6},
	// The bubble: tests only, of floors 0 to 2 by the files of floor 4.
	{path: "internal/testbed/bubble", floor: 4, step: 2},
	// Floors 5 and 6.
	{path: "internal/app/fencing", floor: 5},
	{path: "internal/app/lists", floor: 5},
	{path: "internal/app/members", floor: 5},
	{path: "internal/app/pools", floor: 5},
	{path: "internal/app/porter", floor: 5},
	{path: "internal/app/standby", floor: 5},
	{path: "internal/app/outpost", floor: 5},
	{path: "internal/app/eyes", floor: 5, step: 1},
	{path: "internal/app/streams", floor: 5},
	{path: "internal/app/systemd", floor: 5},
	{path: "internal/app/outlook", floor: 5},
	{path: "internal/app/backups", floor: 5, step: 1},
	{path: "internal/app/troubles", floor: 5, step: 2},
	{path: "internal/app", floor: 5, step: 3},
	{path: "cmd/hale", floor: 6},
	// Measurements that are programs.
	{path: "bench/score", floor: 6},
	{path: "bench/sizes", floor: 6},
	{path: "bench/probes", floor: 6, also: []string{"bench/rig"}},
	{path: "bench/controller", floor: 6, also: []string{"bench/rig", "internal/testbed/etcdtest"}},
	{path: "bench/openstack", floor: 6, also: []string{"internal/testbed/cloud"}},
	// The whole of it, as a user runs it: tests only.
	{path: "e2e", floor: 6, step: 1},
	{path: "e2e/openstack", floor: 6, step: 1},
	// Support for tests and demonstrations.
	{path: "internal/testbed/lab", support: true, also: []string{"internal/accel"}},
	{path: "internal/testbed/lab/bmc", support: true},
	{path: "internal/testbed/lab/labtest", support: true, also: []string{"internal/testbed/lab"}},
	{path: "internal/testbed/cloud", support: true, also: []string{"internal/testbed/lab"}},
	{path: "internal/testbed/nettest", support: true},
	{path: "internal/testbed/daemon", support: true},
	{path: "internal/testbed/etcdtest", support: true, also: []string{"internal/testbed/nettest"}},
	{
		path:    "internal/testbed/collector",
		support: true,
		also:    []string{"internal/testbed/daemon", "internal/testbed/nettest"},
	},
	{path: "tools/otelcol", support: true},
	{path: "internal/testbed/people", support: true},
	{
		path:    "internal/testbed/rabbit",
		support: true,
		also:    []string{"internal/provider/openstack/notification", "internal/secret"},
	},
	{
		path:    "internal/testbed/prometheus",
		support: true,
		also:    []string{"internal/testbed/daemon", "internal/testbed/nettest"},
	},
	{
		path:    "internal/testbed/haproxy",
		support: true,
		also:    []string{"internal/testbed/daemon", "internal/testbed/nettest"},
	},
	{path: "internal/testbed/powercut", support: true},
	{path: "internal/testbed/vcsim", support: true},
	{path: "internal/testbed/traffic", support: true},
	{path: "internal/testbed/octavia", support: true,
		also: []string{"internal/testbed/daemon", "internal/testbed/nettest", "internal/balancer",
			"internal/balancer/octavia", "internal/core/fault", "internal/core/fleet", "internal/provider/openstack"}},
	{path: "internal/testbed/octavia/front", support: true, also: []string{"internal/balancer/balancertest"}},
	{path: "internal/testbed/tidy", support: true},
	{path: "bench/mutants", support: true},
	{path: "bench/rig", support: true},
	{path: "demo/lab", support: true, also: []string{"internal/testbed/lab", "internal/accel"}},
	{path: "bench/ssdtrace", support: true, also: []string{"internal/sim/trace", "internal/sim/weather"}},
}

// forTests are the packages that any test may import, whatever its floor: exams, twins and laboratories.
var forTests = []string{
	"internal/provider/providertest", "internal/state/statetest", "internal/probe/probetest",
	"internal/notify/notifytest", "internal/notify/memory", "internal/gauge/gaugetest", "internal/gauge/memory",
	"internal/fence/fencetest", "internal/fence/memory",
	"internal/balancer/balancertest", "internal/balancer/memory",
	"internal/testbed/lab/bmc", "internal/testbed/lab/labtest",
	"internal/config/configtest", "internal/adapters",
	"internal/provider/simulated",
	"internal/state/memory",
	"internal/probe/netprobe",
	"internal/testbed/lab",
	"internal/testbed/cloud",
	"internal/accel",
	"internal/testbed/rabbit", "internal/testbed/vcsim", "internal/testbed/prometheus", "internal/program/programtest",
	"internal/testbed/nettest", "internal/testbed/collector", "internal/testbed/people", "internal/testbed/haproxy",
	"internal/testbed/etcdtest", "internal/testbed/powercut", "internal/testbed/traffic", "internal/testbed/octavia",
	"internal/testbed/octavia/front",
}

// doors names, per foreign module, the packages that may import it in product code.
var doors = map[string][]string{
	"go.etcd.io/":                        {"internal/state/etcd", "internal/testbed/etcdtest"},
	"github.com/digitalocean/go-libvirt": {"internal/provider/libvirt", "internal/testbed/lab", "demo/lab"},
	"libvirt.org/go/":                    {"internal/provider/libvirt", "internal/testbed/lab", "demo/lab"},
	"github.com/gophercloud/":            {"internal/provider/openstack", "bench/openstack"},
	"github.com/spf13/cobra": {
		"internal/cli",
		"internal/cli/command",
		"internal/cli/show",
		"internal/cli/steer",
		"internal/cli/play",
		"internal/cli/reach",
		"internal/cli/servers",
		"cmd/hale",
	},
	"github.com/wneessen/go-mail":    {"internal/notify/mail"},
	"github.com/stmcginnis/gofish":   {"internal/fence/redfish"},
	"github.com/rabbitmq/amqp091-go": {"internal/provider/openstack/notification"},
	"github.com/prometheus/":         {"internal/metrics", "internal/gauge/prometheus"},
	"google.golang.org/grpc": {"internal/probe/netprobe", "internal/probe/probetest", "internal/outlet/otlp",
		"internal/testbed/collector"},
	"go.opentelemetry.io/":       {"internal/outlet/otlp", "internal/testbed/collector", "tools/otelcol"},
	"github.com/cloudevents/":    {"internal/outlet/cloudevents"},
	"github.com/coreos/go-oidc":  {"internal/access/openid"},
	"golang.org/x/oauth2":        {"internal/access/openid"},
	"github.com/alexedwards/scs": {"internal/access/openid"},
	"golang.org/x/time/rate":     {"internal/access/openid", "internal/api/gate"},
	"github.com/hanwen/go-fuse/": {"internal/testbed/powercut"},
	"github.com/vmware/govmomi":  {"internal/provider/vsphere", "internal/testbed/vcsim"},
}

// coreStd is all that the core may import of the standard library. Of fmt it may call Errorf only, of time nothing
// that looks at a clock (see coreCalls).
var coreStd = []string{
	"cmp", "errors", "fmt", "hash/fnv", "iter", "maps", "math", "math/bits", "net/netip", "slices", "sort", "strconv",
	"strings", "time", "unicode", "unicode/utf8",
}

func roomOf(dir string) (pkgRule, bool) {
	i := slices.IndexFunc(packages, func(r pkgRule) bool { return r.path == dir })
	if i < 0 {
		return pkgRule{}, false
	}
	return packages[i], true
}

// below reports whether product code of r may import other.
func (r pkgRule) below(other pkgRule) bool {
	if slices.Contains(r.also, other.path) {
		return true
	}
	if r.support || other.support || r.leaf {
		return false
	}
	return other.floor < r.floor || other.floor == r.floor && other.step < r.step
}

func (r pkgRule) core() bool { return r.floor == 0 && !r.support && !r.leaf }

// checkFloors finds packages without a row and imports that do not point down.
func checkFloors(t Tree) []Finding {
	var found []Finding
	homeless := map[string]bool{}
	for _, f := range t.goFiles() {
		from, ok := roomOf(f.dir())
		if !ok {
			if !homeless[f.dir()] {
				found = append(found, Finding{
					f.Path,
					fmt.Sprintf("package %s has no floor: give it a row in internal/testbed/tidy/floors.go", f.dir()),
				})
			}
			homeless[f.dir()] = true
			continue
		}
		for _, spec := range f.syntax.Imports {
			what, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue // the parser would not have let it through
			}
			if complaint := from.mayImport(what, f); complaint != "" {
				found = append(found, Finding{t.at(spec), complaint})
			}
		}
	}
	return found
}

// mayImport says what is wrong with an import, or nothing.
func (r pkgRule) mayImport(what string, f File) string {
	dir, own := strings.CutPrefix(what, module+"/")
	switch {
	case own && f.isTest() && (dir == r.path || slices.Contains(forTests, dir)):
		return ""
	case own:
		other, ok := roomOf(dir)
		if ok && !r.below(other) {
			return fmt.Sprintf("%s (%s) may not import %s (%s)", r.path, r.level(), dir, other.level())
		}
		return "" // a package without a row is reported once, where it is
	case f.isTest():
		return ""
	case foreign(what):
		for prefix, allowed := range doors {
			if strings.HasPrefix(what, prefix) && !slices.Contains(allowed, r.path) {
				return fmt.Sprintf("%s may not import %s; only %s may",
					r.path, what, strings.Join(allowed, " or "))
			}
		}
	}
	if r.core() && !slices.Contains(coreStd, what) && !slices.Contains(r.std, what) {
		return fmt.Sprintf("%s is core and may not import %s: what it needs of the world is an argument", r.path, what)
	}
	return ""
}

func (r pkgRule) level() string {
	if r.support {
		return "support for tests"
	}
	return fmt.Sprintf("floor %d.%d", r.floor, r.step)
}

// foreign tells a module's import path from one of the standard library by the dot in its host's name.
func foreign(what string) bool {
	host, _, _ := strings.Cut(what, "/")
	return strings.Contains(host, ".")
}

// checkMap finds packages that ARCHITECTURE.md does not name: by their path, by the parent's and their own name, or,
// where an exam or a fake lies beside its port, by its own name alone.
func checkMap(t Tree) []Finding {
	i := slices.IndexFunc(t.files, func(f File) bool { return f.Path == "ARCHITECTURE.md" })
	if i < 0 {
		return nil
	}
	var found []Finding
	seen := map[string]bool{}
	for _, f := range t.goFiles() {
		dir := f.dir()
		if seen[dir] || !strings.HasPrefix(dir, "internal/") {
			continue
		}
		seen[dir] = true
		short := path.Base(dir)
		if !strings.Contains(t.files[i].Text, dir) &&
			!regexp.MustCompile(`(^|[^\w/])(…/)?`+regexp.QuoteMeta(short)+`\b`).MatchString(t.files[i].Text) {
			found = append(found, Finding{"ARCHITECTURE.md", dir + " is not on the map"})
		}
	}
	return found
}
