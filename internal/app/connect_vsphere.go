package app

import (
	"crypto/x509"
	"errors"
	"os"

	"hale/internal/config"
	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/program"
	"hale/internal/provider/vsphere"
	"hale/internal/secret"
)

// connectVSphere makes the adapter of a vCenter. It logs in with the first call.
func (s *site) connectVSphere(p config.Provider) (adapter, error) {
	c := p.VCenter
	o := vsphere.Options{
		URL: c.URL, User: c.User, Thumbprint: c.Thumbprint, Unverified: c.Insecure, Datacenter: c.Datacenter,
		Cluster: c.Cluster, Folder: c.Folder, Pool: c.Pool, Datastore: c.Datastore, AntiAffinity: c.AntiAffinity,
		Places: map[fleet.HostName]fleet.Place{}, Logger: s.log.With("provider", p.Name),
	}
	for _, h := range p.Hosts {
		o.Places[h.Name] = h.Place
	}
	var err error
	if o.Password, err = secret.Of(fleet.Secret{File: c.PasswordFile, Env: c.PasswordEnv}); err != nil {
		return adapter{}, fault.New(fault.Invalid, "app.connect", string(p.Name), err)
	}
	if c.CA != "" {
		if o.Roots, err = roots(c.CA); err != nil {
			return adapter{}, fault.New(fault.Invalid, "app.connect", string(p.Name), err)
		}
	}
	v, err := vsphere.New(o)
	if err != nil {
		return adapter{}, err
	}
	return adapter{config: p, provider: v, watcher: v, transport: s.network, runner: program.Here{}}, nil
}

// roots reads certificates in PEM.
func roots(path string) (*x509.CertPool, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, errors.New(path + " holds no certificate")
	}
	return pool, nil
}
