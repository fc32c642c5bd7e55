package app

import (
	"hale/internal/config"
	"hale/internal/program"
	"hale/internal/provider/openstack"
)

// connectOpenStack makes the adapter of a project. It logs in with the first call.
func (s *site) connectOpenStack(p config.Provider) (adapter, error) {
	cloud, err := openstack.New(openstack.Options{
		Cloud: p.Cloud.Name, CloudsFile: p.Cloud.File, Region: p.Cloud.Region, Logger: s.log.With("provider", p.Name),
	})
	if err != nil {
		return adapter{}, err
	}
	return adapter{config: p, provider: cloud, transport: s.network, runner: program.Here{}}, nil
}
