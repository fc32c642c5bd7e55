package app

import (
	"hale/internal/config"
	"hale/internal/fleet"
	"hale/internal/program"
	"hale/internal/provider/openstack"
	"hale/internal/provider/openstack/notification"
)

// connectOpenStack makes the adapter of a project. It logs in with the first call.
func (s *site) connectOpenStack(p config.Provider) (adapter, error) {
	places := map[fleet.HostName]fleet.Place{}
	for _, h := range p.Hosts {
		places[h.Name] = h.Place
	}
	cloud, err := openstack.New(openstack.Options{
		Cloud: p.Cloud.Name, CloudsFile: p.Cloud.File, Region: p.Cloud.Region, Events: eventsOf(p),
		Hypervisors: len(p.Hosts) > 0, Places: places, Logger: s.log.With("provider", p.Name), Panics: s.panics(p.Name),
	})
	if err != nil {
		return adapter{}, err
	}
	a := adapter{config: p, provider: cloud, transport: s.network, runner: program.Here{}}
	if p.Events != nil {
		a.watcher = cloud
	}
	return a, nil
}

// eventsOf returns how the provider's message bus is listened to; nil: it is not.
func eventsOf(p config.Provider) *notification.Options {
	if p.Events == nil {
		return nil
	}
	e := p.Events
	return &notification.Options{
		Name: string(p.Name), Brokers: e.Brokers, User: e.User, Password: e.Password, TransportURL: e.TransportURL,
		CA: e.CA, Certificate: e.Certificate, Key: e.Key, Exchanges: e.Exchanges, Topics: e.Topics,
		Heartbeat: e.Heartbeat,
	}
}
