package libvirt

import (
	"context"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// Usage implements provider.UsageReader by the statistics of all domains of each host, in one call each.
func (p *Provider) Usage(ctx context.Context, refs []provider.Ref) (map[fleet.InstanceID]provider.Usage, error) {
	wanted := make(map[fleet.InstanceID]bool, len(refs))
	for _, r := range refs {
		wanted[r.ID] = true
	}
	found := make([]map[fleet.InstanceID]provider.Usage, len(p.hosts))
	errs := p.onEachHost(ctx, "libvirt.usage", func(s *session, i int) (err error) {
		found[i], err = s.usage(wanted)
		return err
	})
	if err := allFailed(errs); err != nil {
		return nil, err
	}
	all := map[fleet.InstanceID]provider.Usage{}
	for _, some := range found {
		for id, u := range some {
			all[id] = u
		}
	}
	return all, nil
}

func (s *session) usage(wanted map[fleet.InstanceID]bool) (map[fleet.InstanceID]provider.Usage, error) {
	const groups = golibvirt.DomainStatsState | golibvirt.DomainStatsCPUTotal | golibvirt.DomainStatsVCPU |
		golibvirt.DomainStatsBalloon | golibvirt.DomainStatsInterface
	// without a job on any domain: one that hangs must not hold the others
	flags := uint32(golibvirt.ConnectGetAllDomainsStatsNowait | golibvirt.ConnectGetAllDomainsStatsRunning)
	stats, err := s.ConnectGetAllDomainStats(nil, uint32(groups), flags)
	if err != nil {
		return nil, s.fault(err)
	}
	at, out := time.Now(), map[fleet.InstanceID]provider.Usage{}
	for _, st := range stats {
		if id := idOf(st.Dom.UUID); wanted[id] {
			out[id] = provider.Usage{At: at, Of: usageIn(st.Params)}
		}
	}
	return out, nil
}

// usageIn reads a domain's statistics. Its memory is known only where the guest's balloon driver reports, which it does
// when the domain asks for that (memballoon's stats period).
func usageIn(params []golibvirt.TypedParam) map[policy.Usage]provider.Amount {
	read := make(map[string]float64, len(params))
	for _, p := range params {
		switch v := p.Value.I.(type) {
		case uint64:
			read[p.Field] = float64(v)
		case uint32:
			read[p.Field] = float64(v)
		default: // no amount
		}
	}
	out := map[policy.Usage]provider.Amount{}
	if n, worked := read["vcpu.current"], read["cpu.time"]; n > 0 && worked > 0 {
		out[policy.UsageCPU] = provider.CPUTime(worked/float64(time.Second), int(n))
	}
	// what the guest could still give to programs; an older driver tells only what lies idle
	free, tells := read["balloon.usable"]
	if !tells {
		free, tells = read["balloon.unused"]
	}
	if has := read["balloon.available"]; tells && has > 0 && free <= has {
		const percent = 100
		out[policy.UsageMemory] = provider.Amount{Value: percent * (has - free) / has}
	}
	for kind, what := range map[policy.Usage]string{
		policy.UsageReceived: ".rx.bytes", policy.UsageSent: ".tx.bytes",
	} {
		sum, counted := 0.0, false
		for field, v := range read {
			if strings.HasPrefix(field, "net.") && strings.HasSuffix(field, what) {
				sum, counted = sum+v, true
			}
		}
		if counted {
			out[kind] = provider.Amount{Value: sum, Counts: true}
		}
	}
	return out
}
