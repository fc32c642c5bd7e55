package openstack

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/blockstorage/v3/volumes"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/services"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/openstack"
	"hale/internal/provider/providertest"
	"hale/internal/testbed/cloud"
)

// computes is how many hypervisors these questions need.
const computes = 3

// TestL04HypervisorsTellTheirAddresses: Nova tells an administrator the hypervisors' own addresses, and a member none.
// The member's listing is good all the same.
func TestL04HypervisorsTellTheirAddresses(t *testing.T) {
	newHarness(t, cloud.Shared)
	for user, want := range map[string]bool{cloud.Admin: true, cloud.Demo: false} {
		p, err := openstack.New(openstack.Options{
			Cloud: user, CloudsFile: cloud.Running().CloudsFile(), Hypervisors: user == cloud.Admin,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Close() })
		l, err := p.List(t.Context())
		if err != nil {
			t.Fatalf("%s lists: %v", user, err)
		}
		for _, h := range l.Hosts {
			addr := netip.Addr{}
			if n, named := strings.CutPrefix(string(h.Name), "compute"); want && named {
				addr = netip.MustParseAddr("192.0.2." + n)
			}
			if h.Address != addr {
				t.Errorf("%s sees host %q at %v, want %v", user, h.Name, h.Address, addr)
			}
		}
	}
}

// TestS43Hypervisors: an administrator's hale sees hypervisors. A server leaves one that is disabled while it runs, and
// one that is silent by an evacuation, with the same id, mark, address and volume. An order with a lost answer moves it
// once.
func TestS43Hypervisors(t *testing.T) {
	h := newHarness(t, cloud.Shared) // the administrator sees all projects' networks of the other name
	admin := newPerson(t, cloud.Admin)
	p, err := openstack.New(openstack.Options{
		Cloud: cloud.Admin, CloudsFile: cloud.Running().CloudsFile(), Hypervisors: true,
		Wrap: func(way http.RoundTripper) http.RoundTripper { return cable{way, h} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	s := &mover{T: t, p: p, h: h, admin: admin}
	s.build()
	first := s.seen.Host

	admin.able(t, first, services.ServiceDisabled)
	// not before: the fake driver does not forget what left it, and takes nothing of the name again
	t.Cleanup(func() { admin.able(t, first, services.ServiceEnabled) })
	s.await("a disabled hypervisor", func() (string, bool) {
		a := s.answer(first)
		return fmt.Sprint(a), a.Disabled && a.Err == nil
	})
	s.leave("live-migration", p.Migrate)

	second := s.seen.Host
	if err := p.Evacuate(t.Context(), s.at(second)); !fault.Is(err, fault.Conflict) {
		t.Errorf("evacuated off a hypervisor that answers: %v", err)
	}
	compute := "nova-" + string(second)
	s.signal(compute, syscall.SIGSTOP)
	awake := sync.OnceFunc(func() { s.signal(compute, syscall.SIGCONT) })
	t.Cleanup(awake)
	s.await("a silent hypervisor", func() (string, bool) {
		a := s.answer(second)
		return fmt.Sprint(a), fault.Is(a.Err, fault.Transient)
	})
	if _, err := p.Get(t.Context(), s.at(second)); !fault.Is(err, fault.Transient) {
		t.Errorf("of a server on it: %v", err)
	}
	if l, err := p.List(t.Context()); err != nil || len(providertest.Named(l, s.order.Name)) != 0 {
		t.Errorf("what is on it is listed: %+v, %v", l, err)
	}
	s.leave("evacuation", p.Evacuate)
	awake()
	s.await("the hypervisor's return", func() (string, bool) {
		a := s.answer(second)
		return fmt.Sprint(a), a.Err == nil && a.Name != ""
	})
	if seen, err := p.Get(t.Context(), s.order.Ref); err != nil || seen.Host != s.seen.Host ||
		seen.Power != fleet.PowerRunning {
		t.Errorf("after its return: %+v, %v", seen, err)
	}
}

// mover is one server that goes from hypervisor to hypervisor.
type mover struct {
	*testing.T
	p     *openstack.Provider
	h     *harness
	admin *person
	order provider.Blueprint
	seen  fleet.Instance
}

// build makes the server, waits until it runs, and removes it at the end.
func (s *mover) build() {
	s.Helper()
	s.order = provider.Blueprint{
		Ref: provider.Ref{
			ID: "43000000-0000-4000-8000-000000000043",
			Mark: fleet.Mark{
				Installation: "e2e",
				Fleet:        "moved",
				Machine:      "moved-1",
				Generation:   1,
				Built:        time.Now().UTC(),
			},
		},
		Name: "moved-1", Template: s.h.Template(),
	}
	s.order.Template.Disks = append(s.order.Template.Disks, policy.Disk{Name: "data", Size: 1 << 30})
	s.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.p.PowerOff(ctx, s.order.Ref); err != nil && !fault.Is(err, fault.NotFound) {
			s.Error(err)
		}
		if err := s.p.Delete(ctx, s.order.Ref); err != nil {
			s.Error(err)
		}
		s.admin.clearVolumes(within{s.T, ctx}, "moved-")
	})
	if err := s.p.Create(s.Context(), s.order); err != nil {
		s.Fatal(err)
	}
	s.await("the build", func() (string, bool) {
		var err error
		s.seen, err = s.p.Get(s.Context(), s.order.Ref)
		return fmt.Sprint(s.seen, err), err == nil && s.seen.Power == fleet.PowerRunning && s.seen.Host != ""
	})
}

// at names the server on a hypervisor.
func (s *mover) at(host fleet.HostName) provider.Ref {
	ref := s.order.Ref
	ref.Host = host
	return ref
}

// leave moves the server off its hypervisor. The first call's answer is lost.
func (s *mover) leave(what string, move func(context.Context, provider.Ref) error) {
	s.Helper()
	from := s.seen.Host
	s.h.LoseAnswers(s.T, 0)
	s.await("an order with a lost answer", func() (string, bool) {
		ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
		defer cancel()
		err := move(ctx, s.at(from))
		// before it is sent, a busy cloud may take all the time for the questions
		return fmt.Sprint(err), fault.Is(err, fault.UnknownOutcome)
	})
	s.h.HearAnswers(s.T)
	for range 2 {
		if err := move(s.Context(), s.at(from)); err != nil {
			s.Fatalf("%s: %v", what, err)
		}
	}
	now, err := s.p.Get(s.Context(), s.order.Ref)
	if err != nil || now.Host == from || now.ID != s.seen.ID || now.Mark != s.seen.Mark ||
		now.Address != s.seen.Address || now.Power != fleet.PowerRunning {
		s.Fatalf("%s: %+v became %+v, %v", what, s.seen, now, err)
	}
	s.seen = now
	var all int
	for _, one := range s.admin.all(s.T) {
		if one.Name == s.order.Name {
			all++
		}
	}
	if all != 1 {
		s.Errorf("%s: there are %d servers of the name", what, all)
	}
	data := slices.DeleteFunc(s.admin.volumes(s.T), func(v volumes.Volume) bool {
		return !strings.HasPrefix(v.Name, s.order.Name)
	})
	if len(data) != 1 || data[0].Status != "in-use" || len(data[0].Attachments) != 1 {
		s.Errorf("%s: its volumes are %+v", what, data)
	}
}

// answer is what the listing says of a hypervisor.
func (s *mover) answer(host fleet.HostName) provider.HostAnswer {
	s.Helper()
	l, err := s.p.List(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	for _, a := range l.Hosts {
		if a.Name == host {
			return a
		}
	}
	return provider.HostAnswer{}
}

// able disables a hypervisor, or enables it.
func (p *person) able(t *testing.T, host fleet.HostName, status services.ServiceStatus) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	service := only(within{t, ctx},
		services.List(p.compute, services.ListOpts{Binary: "nova-compute", Host: string(host)}),
		services.ExtractServices)
	if _, err := services.Update(ctx, p.compute, service.ID, services.UpdateOpts{
		Status: status,
	}).Extract(); err != nil {
		t.Fatal(err)
	}
}

func (s *mover) signal(service string, sig syscall.Signal) {
	s.Helper()
	if err := cloud.Running().Signal(context.WithoutCancel(s.Context()), service, sig); err != nil {
		s.Fatal(err)
	}
}

func (s *mover) await(what string, holds func() (saw string, ok bool)) {
	s.Helper()
	awaitEvery(s.T, 500*time.Millisecond, patience, what, holds)
}
