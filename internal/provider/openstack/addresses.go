package openstack

import (
	"context"
	"net/netip"
	"time"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// addresses are the hypervisors' own, by the names of their compute services. Only List uses them, one call at a time.
type addresses struct {
	of   map[string]netip.Addr
	next time.Time // when to ask again
	told bool      // that they are not shown
}

const (
	// addressesEvery is how often Nova is asked for them: an address hardly ever changes.
	addressesEvery = 10 * time.Minute
	// addressesAgain is when it is asked again after an answer that was none.
	addressesAgain = time.Minute
	// addressesLimit is how long a listing waits for them, which is good without them, too.
	addressesLimit = 5 * time.Second
)

// addresses returns the hypervisors' own addresses. A list goes on without them where the credentials may not see them:
// then a host is no witness for a machine that is alone on it.
func (c *call) addresses() map[string]netip.Addr {
	a := &c.p.list.addresses
	if now := time.Now(); !now.Before(a.next) {
		ctx, cancel := context.WithTimeout(c.Context, addressesLimit)
		defer cancel()
		asks := *c
		asks.Context = ctx
		found, err := asks.hostAddresses()
		switch {
		case err == nil:
			a.of, a.next, a.told = found, now.Add(addressesEvery), false
		case fault.Is(err, fault.Unauthorised):
			a.of, a.next = nil, now.Add(addressesEvery)
			if !a.told {
				c.p.log.Warn("these credentials may not read the addresses of hypervisors (os-hypervisors), so a "+
					"host is no witness for a machine that is alone on it: name its address under hosts, or grant "+
					"the right", "err", err)
			}
			a.told = true
		default:
			a.next = now.Add(addressesAgain)
			c.p.log.Debug("nova did not give the addresses of its hypervisors", "err", err)
		}
	}
	return a.of
}

// hostAddresses reads them, of as many hypervisors as Nova tells of in one answer (a thousand, by default). Of a
// compute service with several hypervisors none counts: which of them a server is on, it does not say.
func (c *call) hostAddresses() (map[string]netip.Addr, error) {
	found, err := listOf[struct {
		Address string `json:"host_ip"`
		Service struct {
			Host string `json:"host"`
		} `json:"service"`
	}](c, c.compute, c.compute.ServiceURL("os-hypervisors", "detail"), "hypervisors")
	if err != nil {
		return nil, err
	}
	all := map[string]netip.Addr{}
	for _, h := range found.all {
		addr, err := netip.ParseAddr(h.Address)
		if _, several := all[h.Service.Host]; several || err != nil || !provider.HostsOwn(addr) {
			addr = netip.Addr{}
		}
		all[h.Service.Host] = addr
	}
	return all, nil
}
