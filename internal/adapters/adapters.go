// Package adapters is the list of what a configuration can name: the types of providers, the kinds of check, the fences
// and the targets, in the order of the reference. Each brings its keys, and what hale connects to by them, from its own
// package.
package adapters

import (
	"slices"

	poolprogram "hale/internal/balancer/command"
	"hale/internal/balancer/haproxy"
	"hale/internal/balancer/octavia"
	poolhook "hale/internal/balancer/webhook"
	"hale/internal/fence/agent"
	fenceprogram "hale/internal/fence/command"
	"hale/internal/fence/ipmi"
	"hale/internal/fence/redfish"
	"hale/internal/kinds"
	"hale/internal/notify/command"
	"hale/internal/notify/mail"
	"hale/internal/notify/webhook"
	"hale/internal/outlet/cloudevents"
	"hale/internal/outlet/file"
	"hale/internal/outlet/otlp"
	"hale/internal/probe/netprobe"
	"hale/internal/provider/external"
	"hale/internal/provider/libvirt"
	"hale/internal/provider/openstack"
	"hale/internal/provider/simulated"
	"hale/internal/provider/vsphere"
)

// All returns the list.
func All() kinds.All {
	return kinds.All{
		Providers: []kinds.Provider{
			libvirt.Kind(), openstack.Kind(), vsphere.Kind(), external.Kind(), simulated.Kind(),
		},
		Checks:    netprobe.Checks(),
		Fences:    slices.Concat([]kinds.Fence{redfish.Kind(), ipmi.Kind(), agent.Kind()}, fenceprogram.Kinds()),
		Balancers: []kinds.Balancer{haproxy.Kind(), octavia.Kind(), poolprogram.Kind(), poolhook.Kind()},
		Targets:   []kinds.Target{mail.Kind(), webhook.Kind(), command.Kind()},
		Outlets:   []kinds.Outlet{file.Kind(), cloudevents.Kind(), otlp.Kind()},
		Traces:    otlp.TracesKind(),
	}
}
