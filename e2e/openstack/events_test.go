package openstack

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"hale/api"
	"hale/internal/adapters"
	"hale/internal/app"
	"hale/internal/config"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/cloud"
)

// busHost is where the cloud's message bus listens.
const busHost = "127.0.0.1:5672"

// transportURL writes the file with the way to the message bus by the address.
func transportURL(t providertest.T, address string) string {
	t.Helper()
	u, err := url.Parse(cloud.RabbitMQ)
	if err != nil {
		t.Fatal(err)
	}
	u.Scheme, u.Host = "rabbit", address
	path := filepath.Join(t.TempDir(), "transport-url")
	if err := os.WriteFile(path, []byte(u.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// keeper is a hale with fleets of two servers in the demo project.
type keeper struct {
	t      *testing.T
	socket string
	log    string
	fleets []string
	admin  *person
	demo   *person
}

// keep starts a hale that polls every so often, with an ear at the address, and heals what others stopped.
func keep(t *testing.T, poll time.Duration, bus string, fleets ...string) *keeper {
	t.Helper()
	return keepUnder(t, "heal", poll, bus, fleets...)
}

// keepUnder starts one with another policy for what others stopped.
func keepUnder(t *testing.T, onStop string, poll time.Duration, bus string, fleets ...string) *keeper {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `providers:
  nova:
    type: openstack
    cloud: {name: %s, file: %s}
    poll: %s
    events: {transport_url: {file: %s}}
fleets:
`, cloud.Demo, cloud.Running().CloudsFile(), poll, transportURL(t, bus))
	for _, f := range fleets {
		fmt.Fprintf(&text, `  %s:
    provider: nova
    size: 2
    template: {image: %s, network: %s, disks: {root: ephemeral}, server: {flavor: %s}}
    repair: {steps: [start: {}, resume: {}, recreate: {}]}
    on_external_stop: %s
    limits: {brake: {at_least: 2}}
    build_within: 10m
`, f, cloud.Image, cloud.Network, cloud.Flavor, onStop)
	}
	c, err := config.Parse(filepath.Join(t.TempDir(), "hale.yaml"), []byte(text.String()), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	k := &keeper{
		t:      t,
		socket: filepath.Join(dir, "s"),
		log:    filepath.Join(dir, "log"),
		fleets: fleets,
		admin:  newPerson(t, cloud.Admin),
		demo:   newPerson(t, cloud.Demo),
	}
	log, err := os.Create(k.log)
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(app.Options{
		Version: "test",
		Config:  c,
		DataDir: filepath.Join(dir, "data"),
		Socket:  k.socket,
		Logger:  slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		log.Close()
		k.clear()
	})
	k.await("the fleets stand", 10*time.Minute, func(f api.Fleet) bool {
		return f.Healthy == 2 && f.InRepair == 0 && f.InBuild == 0
	})
	return k
}

// clear removes what hale built.
func (k *keeper) clear() {
	ctx := context.WithoutCancel(k.t.Context())
	of := func(name string) bool {
		fleet, _, _ := strings.Cut(name, "-")
		return slices.Contains(k.fleets, fleet)
	}
	for _, s := range k.demo.all(within{k.t, ctx}) {
		if of(s.Name) {
			if err := servers.ForceDelete(ctx, k.demo.compute, s.ID).ExtractErr(); err != nil {
				k.t.Log(err) // it may be going already
			}
		}
	}
	for _, p := range k.demo.ports(within{k.t, ctx}) {
		if of(p.Name) {
			if err := ports.Delete(ctx, k.demo.network, p.ID).ExtractErr(); err != nil {
				k.t.Log(err) // Nova may be faster
			}
		}
	}
}

// within is a test with another context.
type within struct {
	*testing.T
	ctx context.Context //nolint:containedctx // what runs after a test asks for its context, which has ended
}

// Context returns it.
func (w within) Context() context.Context { return w.ctx }

// await waits until all fleets are as wanted.
func (k *keeper) await(what string, limit time.Duration, wanted func(api.Fleet) bool) {
	k.t.Helper()
	client := api.Dial(k.socket)
	defer client.Close()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		s, err := client.Status(k.t.Context())
		if err == nil && len(s.Fleets) == len(k.fleets) &&
			!slices.ContainsFunc(s.Fleets, func(f api.Fleet) bool { return !f.Acting || !wanted(f) }) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			said, _ := os.ReadFile(k.log) // it says more than the error, if it can be read
			k.t.Fatalf("not within %s: %s; %v\n%s", limit, what, err, said[max(len(said)-8000, 0):])
		}
	}
}

// orders returns how long after the moment the first call was given to each machine. A certificate does not count: it
// changes only metadata.
func (k *keeper) orders(after time.Time) map[string]time.Duration {
	k.t.Helper()
	client := api.Dial(k.socket)
	defer client.Close()
	first := map[string]time.Duration{}
	for e, err := range client.Events(k.t.Context(), api.EventsQuery{}) {
		if err != nil {
			k.t.Fatal(err)
		}
		if _, known := first[e.Machine]; e.Kind == "intent" && e.Op != "certify" && !known && !e.At.Before(after) {
			first[e.Machine] = e.At.Sub(after)
		}
	}
	return first
}

// server returns Nova's id of a machine's server.
func (k *keeper) server(name string) string {
	k.t.Helper()
	for _, s := range k.demo.all(k.t) {
		if s.Name == name {
			return s.ID
		}
	}
	k.t.Fatalf("there is no server %s", name)
	return ""
}

// harm is what happens to a server, by the hand of the administrator, or behind Nova's back.
type harm func(ctx context.Context, k *keeper, id string) error

var harms = map[string]harm{
	"stopped": func(ctx context.Context, k *keeper, id string) error {
		return servers.Stop(ctx, k.admin.compute, id).ExtractErr()
	},
	"deleted": func(ctx context.Context, k *keeper, id string) error {
		return servers.Delete(ctx, k.admin.compute, id).ExtractErr()
	},
	"forced": func(ctx context.Context, k *keeper, id string) error {
		return servers.ForceDelete(ctx, k.admin.compute, id).ExtractErr()
	},
	"failed": func(ctx context.Context, k *keeper, id string) error {
		return servers.ResetState(ctx, k.admin.compute, id, servers.StateError).ExtractErr()
	},
	"paused": func(ctx context.Context, k *keeper, id string) error {
		return servers.Pause(ctx, k.admin.compute, id).ExtractErr()
	},
	"suspended": func(ctx context.Context, k *keeper, id string) error {
		return servers.Suspend(ctx, k.admin.compute, id).ExtractErr()
	},
	"crashed": func(_ context.Context, _ *keeper, id string) error { return cloud.Running().Crash(id) },
	"misbuilt": func(ctx context.Context, k *keeper, id string) error { // a person's rebuild that fails
		if err := cloud.Running().Fail(id, cloud.Spawn); err != nil {
			return err
		}
		s, err := servers.Get(ctx, k.demo.compute, id).Extract()
		if err != nil {
			return err
		}
		image, _ := s.Image["id"].(string)
		return servers.Rebuild(ctx, k.demo.compute, id, servers.RebuildOpts{ImageRef: image}).Err
	},
	// deleted in a cloud that gives people an hour to think better of it
	"setaside": func(ctx context.Context, k *keeper, id string) error {
		soft := *k.demo.compute
		soft.Endpoint = strings.Replace(soft.Endpoint, cloud.Nova, cloud.NovaSoft, 1)
		return servers.Delete(ctx, &soft, id).ExtractErr()
	},
}

// soon is how long the first call may take on a machine that has much else to do: a small part of the time between two
// polls. What it takes on a quiet one is measured by bench/openstack.
const soon = 20 * time.Second

// S47, S42: side by side, a server of each of ten fleets is stopped, deleted, deleted softly, reset to ERROR, paused,
// suspended, rebuilt in vain, or crashes, by another hand than hale's. Nova's notifications lead to ten repairs, each
// of the right machine, although polls are half an hour apart.
func TestS47TenFleetsAreHeardSideBySide(t *testing.T) {
	fleets := slices.Sorted(maps.Keys(harms))
	for i := len(fleets); i < 10; i++ {
		fleets = append(fleets, fmt.Sprintf("failed%d", i))
	}
	k := keep(t, 30*time.Minute, busHost, fleets...)
	ids := map[string]string{}
	for _, f := range fleets {
		ids[f] = k.server(f + "-2")
	}
	at := time.Now()
	for _, f := range fleets {
		if err := harms[strings.TrimRight(f, "0123456789")](t.Context(), k, ids[f]); err != nil {
			t.Fatal(f, err)
		}
	}
	asked := time.Since(at)
	k.await("all are healed", 5*time.Minute, func(f api.Fleet) bool {
		return f.Healthy == 2 && f.InRepair == 0 && len(k.orders(at)) >= len(fleets)
	})
	orders := k.orders(at)
	t.Logf("all were harmed within %s; first calls after %v", asked, orders)
	for _, f := range fleets {
		if took, known := orders[f+"-2"]; !known || took > asked+soon {
			t.Errorf("%s-2: the first call came after %s, known %v", f, took, known)
		}
	}
	if len(orders) != len(fleets) {
		t.Errorf("orders to %d machines, want %d: %v", len(orders), len(fleets), orders)
	}
}

// What happens while the way to the message bus is cut is found when it is mended; nothing else would find it: polls
// are half an hour apart.
func TestNoRepairIsLostWithTheConnection(t *testing.T) {
	bus := relayTo(t, busHost)
	k := keep(t, 30*time.Minute, bus.address, "lost")
	bus.cut()
	k.pass(3 * time.Second) // the look that a lost connection leads to is over
	at := time.Now()
	if err := harms["failed"](t.Context(), k, k.server("lost-2")); err != nil {
		t.Fatal(err)
	}
	k.pass(3 * time.Second)
	if orders := k.orders(at); len(orders) != 0 {
		t.Fatalf("it was heard although the way is cut: %v", orders)
	}
	bus.mend()
	k.await("it is healed", 5*time.Minute, func(f api.Fleet) bool {
		return f.Healthy == 2 && f.InRepair == 0 && len(k.orders(at)) == 1
	})
}

// S42: a person who stops a server through Nova means it, and the policy says that it is left alone; one that ends by
// itself is started. When the person starts it again, hale had nothing to do with it.
func TestS42AWantedStopIsToldFromAFailure(t *testing.T) {
	k := keepUnder(t, "{hold: 30m}", 30*time.Minute, busHost, "meant")
	at := time.Now()
	stopped, crashed := k.server("meant-1"), k.server("meant-2")
	if err := servers.Stop(t.Context(), k.demo.compute, stopped).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	held := func(m api.Machine) bool { return m.Name == "meant-1" && m.Waiting.Code == "stopped-by-person" }
	k.await("the stop is seen, and held", time.Minute, func(f api.Fleet) bool {
		return slices.ContainsFunc(f.Machines, held)
	})
	if err := harms["crashed"](t.Context(), k, crashed); err != nil {
		t.Fatal(err)
	}
	k.await("the crash is healed, and the stop is held", time.Minute, func(f api.Fleet) bool {
		return f.Healthy == 1 && f.InRepair == 0 && slices.ContainsFunc(f.Machines, held) && k.orders(at)["meant-2"] > 0
	})
	if err := servers.Start(t.Context(), k.demo.compute, stopped).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	k.await("both are well", time.Minute, func(f api.Fleet) bool { return f.Healthy == 2 })
	if orders := k.orders(at); len(orders) != 1 {
		t.Errorf("orders to %v", orders)
	}
}

// S42: what no event tells is found by the poll.
func TestThePollFindsWhatNoEventTold(t *testing.T) {
	bus := relayTo(t, busHost)
	k := keep(t, 2*time.Second, bus.address, "deaf")
	bus.cut()
	at := time.Now()
	if err := harms["deleted"](t.Context(), k, k.server("deaf-1")); err != nil {
		t.Fatal(err)
	}
	k.await("it is healed", 5*time.Minute, func(f api.Fleet) bool {
		return f.Healthy == 2 && f.InRepair == 0 && len(k.orders(at)) == 1
	})
}

// pass lets time pass.
func (k *keeper) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-k.t.Context().Done():
	}
}
