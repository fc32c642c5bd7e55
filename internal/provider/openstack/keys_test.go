package openstack_test

import (
	"slices"
	"testing"
	"time"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/provider/openstack"
	"hale/internal/provider/openstack/notification"
)

func TestAMessageBusIsListenedToAsNovaSpeaks(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("hale.yaml", []byte(`
providers:
  cloud:
    type: openstack
    cloud: production
    events: {brokers: ["amqps://rabbit-1", "amqp://rabbit-2:5673/nova"], user: hale, password: {env: RABBIT}, ca: /etc/ca.pem, topics: [versioned_notifications]}
  quiet: {type: openstack, cloud: production}
  own: {type: openstack, cloud: production, events: {transport_url: {file: /run/secrets/bus}}}
fleets:
  web: {provider: cloud, size: 1, template: {image: i, network: n, server: {flavor: f}}}
`), adapters.All())
	if err != nil {
		t.Fatal(err)
	}
	e := eventsOf(t, c.Providers[0])
	if len(e.Brokers) != 2 || e.Brokers[0].Address() != "rabbit-1:5671" || !e.Brokers[0].TLS ||
		e.Brokers[0].VHost != "/" {
		t.Errorf("brokers %+v", e.Brokers)
	}
	if b := e.Brokers[1]; b.Address() != "rabbit-2:5673" || b.TLS || b.VHost != "nova" {
		t.Errorf("the second broker is %+v", b)
	}
	if e.User != "hale" || e.Password.None() || e.CA != "/etc/ca.pem" || e.Heartbeat != 5*time.Second ||
		!slices.Equal(e.Exchanges, []string{"nova"}) || !slices.Equal(e.Topics, []string{"versioned_notifications"}) {
		t.Errorf("events %+v", e)
	}
	own, quiet := eventsOf(t, c.Providers[1]), eventsOf(t, c.Providers[2])
	if own.TransportURL.None() || len(own.Brokers) != 0 || len(own.Topics) != 2 {
		t.Errorf("events by transport_url %+v", own)
	}
	if quiet != nil {
		t.Errorf("events that nobody asked for: %+v", quiet)
	}
}

func eventsOf(t *testing.T, p config.Provider) *notification.Options {
	t.Helper()
	s, ok := p.Settings.(openstack.Settings)
	if !ok {
		t.Fatalf("%s has %T", p.Name, p.Settings)
	}
	return s.Events
}
