package libvirt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

var (
	errNotRunning = errors.New("it does not run")
	errCoarse     = errors.New("the host does not report how long its processors waited, " +
		"so an idle instance may seem to stand still")
)

// Meter implements provider.MeterReader by the time for which each virtual processor ran and waited for its turn. The
// process's own time is left out: QEMU works a little, for its monitor too, whatever its guest does.
func (p *Provider) Meter(ctx context.Context, ref provider.Ref) (provider.Meter, error) {
	_, s, err := p.open(ctx, "libvirt.meter", ref)
	if err != nil {
		return "", err
	}
	defer s.end()
	dom, err := s.find(ref.ID)
	if err != nil {
		return "", err
	}
	stats, err := s.ConnectGetAllDomainStats([]golibvirt.Domain{dom},
		uint32(golibvirt.DomainStatsState|golibvirt.DomainStatsVCPU), uint32(golibvirt.ConnectGetAllDomainsStatsNowait))
	if err != nil {
		return "", s.fault(err)
	}
	if len(stats) != 1 {
		return "", s.fault(fmt.Errorf("%d domains are told of", len(stats)))
	}
	if state, _ := stateIn(stats[0].Params); golibvirt.DomainState(state) != golibvirt.DomainRunning {
		return "", s.conflict(errNotRunning)
	}
	m, err := meterOf(stats[0].Params)
	if err != nil {
		return "", fault.New(fault.Unsupported, s.op, s.subject, err)
	}
	return m, nil
}

// meterOf reads the counters of all virtual processors. Their time counts in steps of a hundredth of a second, and
// their delay in nanoseconds: without that, what idles might do less than a step. A processor that never waited is
// not counted.
func meterOf(params []golibvirt.TypedParam) (provider.Meter, error) {
	var read []string
	times, delays := 0, 0
	for _, p := range params {
		name, ok := strings.CutPrefix(p.Field, "vcpu.")
		if !ok {
			continue
		}
		_, what, _ := strings.Cut(name, ".")
		switch what {
		case "time":
			times++
		case "delay":
			if n, ok := p.Value.I.(uint64); ok && n > 0 {
				delays++
			}
		case "wait":
		default:
			continue
		}
		read = append(read, fmt.Sprintf("%s=%v", name, p.Value.I))
	}
	if times == 0 || delays != times {
		return "", errCoarse
	}
	slices.Sort(read)
	return provider.Meter(strings.Join(read, " ")), nil
}
