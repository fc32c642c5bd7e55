package openstack

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	client "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/flavors"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/image/v2/images"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/openstack"
	"hale/internal/provider/openstack/notification"
	"hale/internal/provider/providertest"
	"hale/internal/secret"
	"hale/internal/testbed/cloud"
)

func TestMain(m *testing.M) {
	code := cloud.Main(m, cloud.Options{Computes: computes})
	if workshop != "" {
		os.RemoveAll(workshop)
	}
	os.Exit(code)
}

// workshop is where program built hale; empty: it did not.
var workshop string

// patience is what a build may take on a loaded machine.
const patience = time.Minute

// harness examines the adapter on the cloud of this package, as a plain member of a project.
type harness struct {
	network string
	cut     atomic.Bool
	loss    atomic.Pointer[loss]
	person  func() *person
	bus     *relay
}

// Noting implements providertest.Noting.
func (*harness) Noting() {}

func newHarness(t *testing.T, network string) *harness {
	h := &harness{network: network, bus: relayTo(t, busHost)}
	h.person = sync.OnceValue(func() *person { return newPerson(t, cloud.Demo) })
	return h
}

func (h *harness) New(t providertest.T) provider.Provider {
	t.Helper()
	p, err := openstack.New(openstack.Options{
		Cloud:      cloud.Demo,
		CloudsFile: cloud.Running().CloudsFile(),
		Events:     h.events(t),
		Wrap: func(way http.RoundTripper) http.RoundTripper {
			return cable{way, h}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// events are heard by way of the relay.
func (h *harness) events(t providertest.T) *notification.Options {
	t.Helper()
	s, err := secret.File(transportURL(t, h.bus.address))
	if err != nil {
		t.Fatal(err)
	}
	return &notification.Options{Name: "nova", TransportURL: s}
}

func (h *harness) Watched() {}

func (h *harness) Hosts() []fleet.HostName { return []fleet.HostName{""} }

func (h *harness) Template() policy.Template {
	return policy.Template{
		Image:   cloud.Image,
		Network: h.network,
		Disks:   []policy.Disk{{Name: "root", Ephemeral: true}},
		Server:  &policy.Server{Flavor: cloud.Flavor},
	}
}

// Adjusted implements providertest.Adjusted.
func (h *harness) Adjusted() policy.Template {
	t := h.Template()
	t.Server = &policy.Server{Flavor: cloud.Bigger}
	t.Metadata, t.Tags = fleet.MetadataOf(map[string]string{"tier": "gold"}), fleet.TagsOf([]string{"blue"})
	return t
}

func (h *harness) Patience() time.Duration { return patience }

// Kill lets the machine end behind Nova's back.
func (h *harness) Kill(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	if err := cloud.Running().Crash(h.person().find(t, id).ID); err != nil {
		t.Fatal(err)
	}
}

func (h *harness) Pause(t providertest.T, id fleet.InstanceID) {
	t.Helper()
	p := h.person()
	if err := servers.Pause(t.Context(), p.compute, p.find(t, id).ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
}

// what Nova's fake driver has for every one
func (h *harness) Printed(providertest.T, provider.Ref) string { return "FAKE CONSOLE OUTPUT" }

// cable is the way to the cloud, which can be cut, and on which answers can be lost.
type cable struct {
	way http.RoundTripper
	h   *harness
}

var (
	errCut     = errors.New("the cable is cut")
	errUnheard = errors.New("the answer is lost")
)

// unheardFor is how long nothing is heard after a request took effect, before the connection is lost.
const unheardFor = 2 * time.Second

func (c cable) RoundTrip(q *http.Request) (*http.Response, error) {
	if c.h.cut.Load() {
		return nil, errCut
	}
	loss := c.h.loss.Load()
	if loss == nil || q.Method == http.MethodGet || strings.HasPrefix(q.URL.String(), cloud.Keystone) ||
		loss.left.Add(-1) >= 0 {
		return c.way.RoundTrip(q)
	}
	// It takes effect whatever becomes of the caller, who waits in vain.
	resp, err := c.way.RoundTrip(q.WithContext(context.WithoutCancel(q.Context())))
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	loss.once()
	timer := time.NewTimer(unheardFor)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, errUnheard
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}

// loss is what becomes of the answers to orders, of any service.
type loss struct {
	left atomic.Int64 // orders that are answered before
	once func()       // says that an answer is lost
}

func (h *harness) LoseAnswers(_ providertest.T, after int) <-chan struct{} {
	lost := make(chan struct{})
	l := &loss{once: sync.OnceFunc(func() { close(lost) })}
	l.left.Store(int64(after))
	h.loss.Store(l)
	return lost
}

func (h *harness) HearAnswers(providertest.T) { h.loss.Store(nil) }

func (h *harness) Disconnect(providertest.T) {
	h.cut.Store(true)
	h.bus.cut()
}

func (h *harness) Reconnect(providertest.T) {
	h.cut.Store(false)
	h.bus.mend()
}

// Freeze stops every service that answers.
func (h *harness) Freeze(t providertest.T) { signalAll(t, syscall.SIGSTOP) }

func (h *harness) Thaw(t providertest.T) { signalAll(t, syscall.SIGCONT) }

func signalAll(t providertest.T, sig syscall.Signal) {
	t.Helper()
	for _, service := range []string{"keystone", "nova-api", "neutron", "glance", "cinder"} {
		if err := cloud.Running().Signal(context.WithoutCancel(t.Context()), service, sig); err != nil {
			t.Error(err)
		}
	}
}

func (h *harness) Stranger(t providertest.T, _ fleet.HostName, name string) provider.Ref {
	t.Helper()
	return provider.Ref{ID: fleet.InstanceID(h.person().boot(t, name, nil))}
}

// person is a user of the cloud beside hale.
type person struct {
	compute *gophercloud.ServiceClient
	network *gophercloud.ServiceClient
	image   *gophercloud.ServiceClient
	storage *gophercloud.ServiceClient
}

func newPerson(t providertest.T, account string) *person {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	auth, where, _, err := clouds.Parse(clouds.WithCloudName(account),
		clouds.WithLocations(cloud.Running().CloudsFile()))
	if err != nil {
		t.Fatal(err)
	}
	auth.AllowReauth = true
	all, err := config.NewProviderClient(ctx, auth)
	if err != nil {
		t.Fatal(err)
	}
	var p person
	var errs [4]error
	p.compute, errs[0] = client.NewComputeV2(all, where)
	p.network, errs[1] = client.NewNetworkV2(all, where)
	p.image, errs[2] = client.NewImageV2(all, where)
	p.storage, errs[3] = client.NewBlockStorageV3(all, where)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	p.compute.Microversion = "2.90"
	return &p
}

// all returns every server that the person sees.
func (p *person) all(t providertest.T) []servers.Server {
	t.Helper()
	return every(t, servers.List(p.compute, servers.ListOpts{}), servers.ExtractServers)
}

// ports returns those of the person's project that hale made.
func (p *person) ports(t providertest.T) []ports.Port {
	t.Helper()
	return slices.DeleteFunc(every(t, ports.List(p.network, ports.ListOpts{}), ports.ExtractPorts),
		func(p ports.Port) bool { return !strings.HasPrefix(p.Description, "hale") })
}

// find returns the server that hale calls so, or that Nova does.
func (p *person) find(t providertest.T, id fleet.InstanceID) servers.Server {
	t.Helper()
	for _, s := range p.all(t) {
		if s.Metadata["hale_id"] == string(id) || s.ID == string(id) {
			return s
		}
	}
	t.Fatalf("there is no server %s", id)
	return servers.Server{}
}

// boot makes a server and removes it at the end; it returns Nova's id.
func (p *person) boot(t providertest.T, name string, metadata map[string]string) string {
	t.Helper()
	net := only(t, networks.List(p.network, networks.ListOpts{Name: cloud.Network}), networks.ExtractNetworks).ID
	image := only(t, images.List(p.image, images.ListOpts{Name: cloud.Image}), images.ExtractImages).ID
	flavor := ""
	for _, f := range every(t, flavors.ListDetail(p.compute, nil), flavors.ExtractFlavors) {
		if f.Name == cloud.Flavor {
			flavor = f.ID
		}
	}
	s, err := servers.Create(t.Context(), p.compute, servers.CreateOpts{
		Name: name, FlavorRef: flavor, ImageRef: image, Networks: []servers.Network{{UUID: net}}, Metadata: metadata,
	}, nil).Extract()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := servers.Delete(context.WithoutCancel(t.Context()), p.compute, s.ID).ExtractErr(); err != nil &&
			!gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			t.Error(err)
		}
	})
	return s.ID
}

// every returns all things of the list.
func every[T any](t providertest.T, list pagination.Pager, extract func(pagination.Page) ([]T, error)) []T {
	t.Helper()
	page, err := list.AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := extract(page)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// only returns the one thing of the list.
func only[T any](t providertest.T, list pagination.Pager, extract func(pagination.Page) ([]T, error)) T {
	t.Helper()
	found := every(t, list, extract)
	if len(found) != 1 {
		t.Fatalf("found %+v", found)
	}
	return found[0]
}

// TestExam asks the adapter on a network of its project's own, where Neutron is the arbiter.
func TestExam(t *testing.T) {
	h := newHarness(t, cloud.Network)
	t.Cleanup(func() { h.person().clearVolumes(within{t, context.WithoutCancel(t.Context())}, "exam-") })
	providertest.Run(t, h)
}
