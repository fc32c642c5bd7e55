package octavia

import (
	"context"

	"hale/internal/balancer"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/provider/openstack"
	"hale/internal/secret"
)

// Kind is the balancer octavia.
func Kind() kinds.Balancer {
	return kinds.WayOf("octavia", "cloud: production, pool: web",
		"A pool of Octavia, OpenStack's load balancers. A member has its machine's name; it serves with a weight, drains "+
			"with weight 0, and is deleted when it is out. A change takes a load balancer some seconds: let `timeout` be "+
			"`30s` or more.", shape(), compileKeys)
}

// Settings are what the keys come to.
type Settings struct {
	Options
	Cloud openstack.Entry
}

// Secrets implements kinds.Balancing: what is secret stands in clouds.yaml.
func (Settings) Secrets() []secret.Secret { return nil }

// Pool implements kinds.Balancing.
func (s Settings) Pool(o kinds.BalancerOptions) balancer.Pool {
	how := s.Options
	how.Name = o.Name
	service, err := openstack.NewService(openstack.Options{Cloud: s.Cloud.Name, CloudsFile: s.Cloud.File,
		Region: s.Cloud.Region, CallLimit: o.Timeout}, openstack.Balancing)
	if err != nil {
		return New(how, nowhere{err}) // no cloud is named
	}
	return New(how, service)
}

// nowhere is a service that cannot be reached.
type nowhere struct{ why error }

// Ask implements Service.
func (n nowhere) Ask(context.Context, openstack.Query) error { return n.why }

// Close implements Service.
func (nowhere) Close() {}

type draft struct {
	cloud        keys.At[openstack.CloudDraft]
	pool, subnet keys.At[string]
	weight       keys.At[int]
}

// heaviest is the greatest weight, by Octavia's API.
const heaviest = 256

func shape() keys.Object[draft] {
	return keys.Object[draft]{Fields: []keys.Field[draft]{
		keys.Must("cloud", "production",
			"Which cloud, as clouds.yaml describes it; the credentials are for the project "+
				"of the load balancer.", openstack.CloudShape(),
			func(d *draft) *keys.At[openstack.CloudDraft] { return &d.cloud }),
		keys.Must("pool", "web", "The pool, by its name or its id.", keys.Text("a pool", "web"),
			func(d *draft) *keys.At[string] { return &d.pool }),
		keys.May("subnet",
			"The id of the subnet on which the load balancer reaches the machines, where that is not the "+
				"one of its own address.", keys.Text("a subnet's id", "5d6f0b0c-8a0e-4ad2-9c3e-3b1f4b7d2a11"),
			func(d *draft) *keys.At[string] { return &d.subnet }),
		keys.Or("weight", 1, "The weight of a member that serves. One that a person gives another weight keeps "+
			"that, and gets it back after it drained or was out: a tag of the member says it meanwhile.",
			keys.Integer(1, heaviest), func(d *draft) *keys.At[int] { return &d.weight }),
	}}
}

func compileKeys(f *keys.Finder, v keys.At[draft]) kinds.Balancing {
	d := v.Value
	if d.subnet.Given() && !openstack.IsID(d.subnet.Value) {
		f.Add(d.subnet.Spot, "is no id of a subnet", "write what `openstack subnet show NAME -c id` says")
	}
	return Settings{Options: Options{Pool: d.pool.Value, Subnet: d.subnet.Value, Weight: d.weight.Value},
		Cloud: d.cloud.Value.Entry()}
}
