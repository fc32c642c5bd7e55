package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hale/internal/secret"
	"hale/internal/testbed/cloud"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
)

// rig is the cloud, with the person who makes trouble in it and the proxy before its Nova.
type rig struct {
	program string
	dir     string
	keep    string
	proxy   *proxy
	ear     *ear
	region  string                     // where Nova is behind the proxy
	compute *gophercloud.ServiceClient // the admin's, not through the proxy
	network *gophercloud.ServiceClient // the demo project's
	demo    *gophercloud.ServiceClient // the demo project's Nova, not through the proxy
}

func newRig(ctx context.Context, program, keep string) (*rig, error) {
	dir, err := os.MkdirTemp("", "hale-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{program: program, dir: dir, keep: keep}
	if err := r.connect(ctx); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

func (r *rig) connect(ctx context.Context) error {
	admin, err := login(ctx, cloud.Admin)
	if err != nil {
		return err
	}
	where := gophercloud.EndpointOpts{Region: "RegionOne"}
	if r.compute, err = openstack.NewComputeV2(admin, where); err != nil {
		return err
	}
	demo, err := login(ctx, cloud.Demo)
	if err != nil {
		return err
	}
	if r.demo, err = openstack.NewComputeV2(demo, where); err != nil {
		return err
	}
	if r.network, err = openstack.NewNetworkV2(demo, where); err != nil {
		return err
	}
	if r.proxy, err = newProxy(ctx, cloud.Nova); err != nil {
		return err
	}
	if r.ear, err = r.listen(ctx); err != nil {
		return err
	}
	r.region = "Proxied-" + strings.ReplaceAll(r.proxy.address, ":", "-") // an earlier run may have left its own
	keys, err := openstack.NewIdentityV3(admin, where)
	if err != nil {
		return err
	}
	return r.publish(ctx, keys)
}

// bus is the file with the way to the message bus.
func (r *rig) bus() string { return filepath.Join(r.dir, "transport-url") }

func (r *rig) listen(ctx context.Context) (*ear, error) {
	if err := os.WriteFile(r.bus(), []byte(cloud.RabbitMQ), 0o600); err != nil {
		return nil, err
	}
	url, err := secret.File(r.bus())
	if err != nil {
		return nil, err
	}
	return newEar(ctx, url)
}

func login(ctx context.Context, who string) (*gophercloud.ProviderClient, error) {
	credentials, _, _, err := clouds.Parse(clouds.WithCloudName(who),
		clouds.WithLocations(cloud.Running().CloudsFile()))
	if err != nil {
		return nil, err
	}
	credentials.AllowReauth = true
	return openstack.AuthenticatedClient(ctx, credentials)
}

// publish puts a region into the catalogue that is the cloud as it is, but with Nova behind the proxy.
func (r *rig) publish(ctx context.Context, keys *gophercloud.ServiceClient) error {
	pages, err := services.List(keys, services.ListOpts{}).AllPages(ctx)
	if err != nil {
		return err
	}
	all, err := services.ExtractServices(pages)
	if err != nil {
		return err
	}
	urls := map[string]string{
		"identity":  cloud.Keystone + "/",
		"compute":   r.proxy.url + "/v2.1",
		"network":   "http://127.0.0.1:9696",
		"image":     "http://127.0.0.1:9292",
		"placement": "http://127.0.0.1:8778",
	}
	for _, s := range all {
		url, known := urls[s.Type]
		if !known {
			continue
		}
		for _, face := range []gophercloud.Availability{
			gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin,
		} {
			if err := endpoints.Create(ctx, keys, endpoints.CreateOpts{
				Availability: face,
				Region:       r.region,
				URL:          url,
				ServiceID:    s.ID,
			}).Err; err != nil {
				return fmt.Errorf("an endpoint of %s: %w", s.Type, err)
			}
		}
	}
	return nil
}

// errTwins: two servers have the same name.
var errTwins = errors.New("there are two servers of one name")

// servers returns the demo project's, by name; two of one name are an error.
func (r *rig) servers(ctx context.Context) (map[string]servers.Server, error) {
	pages, err := servers.List(r.demo, servers.ListOpts{}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	list, err := servers.ExtractServers(pages)
	if err != nil {
		return nil, err
	}
	byName := map[string]servers.Server{}
	for _, s := range list {
		if _, twice := byName[s.Name]; twice {
			return byName, fmt.Errorf("%w: %s", errTwins, s.Name)
		}
		byName[s.Name] = s
	}
	return byName, nil
}

// ports returns how many ports of servers the demo project has.
func (r *rig) ports(ctx context.Context) (int, error) {
	pages, err := ports.List(r.network, ports.ListOpts{}).AllPages(ctx)
	if err != nil {
		return 0, err
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, p := range list {
		if p.DeviceOwner != "network:router_interface" && p.DeviceOwner != "network:dhcp" {
			n++
		}
	}
	return n, nil
}

// empty removes all servers and ports of the demo project.
func (r *rig) empty(ctx context.Context) error {
	for deadline := time.Now().Add(10 * time.Minute); ; {
		pages, err := servers.List(r.demo, servers.ListOpts{}).AllPages(ctx)
		if err != nil {
			return err
		}
		list, err := servers.ExtractServers(pages)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return r.emptyPorts(ctx)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d servers are not to be removed", len(list))
		}
		for _, s := range list {
			if s.Status != "DELETED" {
				_ = servers.Delete(ctx, r.demo, s.ID).Err // it is asked again below
			}
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
	}
}

func (r *rig) emptyPorts(ctx context.Context) error {
	pages, err := ports.List(r.network, ports.ListOpts{}).AllPages(ctx)
	if err != nil {
		return err
	}
	list, err := ports.ExtractPorts(pages)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.DeviceOwner != "network:router_interface" && p.DeviceOwner != "network:dhcp" {
			_ = ports.Delete(ctx, r.network, p.ID).Err // what is left is counted by the next trial
		}
	}
	return nil
}

func (r *rig) close() {
	r.proxy.close()
	r.ear.close()
	if r.keep != "" {
		logs, _ := filepath.Glob(filepath.Join(r.dir, "*.log")) // the pattern is sound
		for _, log := range logs {
			if data, err := os.ReadFile(log); err == nil && os.MkdirAll(r.keep, 0o750) == nil {
				_ = os.WriteFile(filepath.Join(r.keep, filepath.Base(log)), data, 0o600) // a reader can do without it
			}
		}
	}
	_ = os.RemoveAll(r.dir)
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
