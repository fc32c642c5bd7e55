package openstack

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/defect"
	"hale/internal/provider"
)

// Nova tells what a server uses in two vocabularies. The old one is the hypervisor's own; libvirt's has the memory that
// the guest itself uses. The one that all hypervisors share came with 2.48; there, libvirt calls "used" what a server
// was given, which says nothing.
const (
	ownWordsMinor = 47 // the last microversion with the hypervisor's own words
	// usageLimit is what one server's answer may take: it comes from its hypervisor, which may be dead.
	usageLimit = 5 * time.Second
)

// Usage implements provider.UsageReader by Nova's diagnostics, one question for each server. By default a cloud answers
// it to administrators alone.
func (p *Provider) Usage(ctx context.Context, refs []provider.Ref) (map[fleet.InstanceID]provider.Usage, error) {
	c, err := p.open(ctx, "openstack.usage", "")
	if err != nil {
		return nil, err
	}
	defer c.end()
	c.lane = usageLane
	var (
		asking sync.WaitGroup
		mu     sync.Mutex // guards what follows
		out    = make(map[fleet.InstanceID]provider.Usage, len(refs))
		failed error
	)
	gate := make(chan struct{}, asksAtOnce)
	for _, ref := range refs {
		if p.rests(ref.ID) {
			continue // Nova notes it as a fault of the server when one is asked that does not run
		}
		gate <- struct{}{}
		asking.Go(func() {
			defer func() { <-gate }()
			defer p.options.Panics.Catch("", "usage", func(*defect.Panic) {})
			of, err := c.usage(ref)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				out[ref.ID] = provider.Usage{At: time.Now(), Of: of}
			case !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict): // gone, or it does not run
				failed = cmp.Or(failed, err)
			}
		})
	}
	asking.Wait()
	if len(out) == 0 && failed != nil {
		return nil, failed
	}
	return out, nil
}

// usage asks about one server.
func (c *call) usage(ref provider.Ref) (map[policy.Usage]provider.Amount, error) {
	ctx, cancel := context.WithTimeout(c.Context, usageLimit)
	defer cancel()
	one := *c
	one.Context, one.subject = ctx, string(ref.ID)
	nova, err := one.novaOf(ref)
	if err != nil {
		return nil, err
	}
	if c.oldest <= ownWordsMinor {
		said := map[string]any{}
		if err := one.diagnose(nova, ownWordsMinor, &said); err != nil {
			return nil, err
		}
		if of := usageInOwnWords(said); len(of) > 0 {
			return of, nil
		}
	}
	var shared diagnostics
	if err := one.diagnose(nova, c.minor, &shared); err != nil {
		return nil, err
	}
	return shared.usage(), nil
}

// diagnose reads the server's diagnostics in the words of the microversion.
func (c *call) diagnose(nova string, minor int, into any) error {
	compute := *c.compute
	compute.Microversion = fmt.Sprintf("2.%d", minor)
	err := c.get(&compute, compute.ServiceURL("servers", nova, "diagnostics"), into)
	if fault.Is(err, fault.Unauthorised) {
		return c.fault(fault.Unauthorised, fmt.Errorf("these credentials may not see what servers use "+
			"(os_compute_api:os-server-diagnostics): %w", err))
	}
	return err
}

// usageInOwnWords reads what libvirt tells in its own words, as cpu0_time, tap0_rx and memory-unused. Other hypervisors
// have none of these.
func usageInOwnWords(said map[string]any) map[policy.Usage]provider.Amount {
	var worked, received, sent sum
	for word, v := range said {
		n, ok := v.(float64)
		switch {
		case !ok || n < 0:
		case strings.HasPrefix(word, "cpu") && strings.HasSuffix(word, "_time"):
			worked.add(n)
		case strings.HasSuffix(word, "_rx"):
			received.add(n)
		case strings.HasSuffix(word, "_tx"):
			sent.add(n)
		}
	}
	out := amounts(worked, received, sent)
	// what the guest could still give to programs; an older driver tells only what lies idle
	free, tells := said["memory-usable"].(float64)
	if !tells {
		free, tells = said["memory-unused"].(float64)
	}
	if has, _ := said["memory-available"].(float64); tells {
		memory(out, has-free, has)
	}
	return out
}

// diagnostics is what Nova tells in the words that all hypervisors share. What one does not tell is null.
type diagnostics struct {
	Driver string `json:"driver"`
	CPUs   rows[struct {
		Time *float64 `json:"time"` // nanoseconds
	}] `json:"cpu_details"`
	NICs rows[struct {
		Received *float64 `json:"rx_octets"`
		Sent     *float64 `json:"tx_octets"`
	}] `json:"nic_details"`
	Memory struct {
		Maximum float64 `json:"maximum"`
		Used    float64 `json:"used"`
	} `json:"memory_details"`
}

func (d *diagnostics) usage() map[policy.Usage]provider.Amount {
	var worked, received, sent sum
	for _, cpu := range d.CPUs {
		worked.told(cpu.Time)
	}
	for _, nic := range d.NICs {
		received.told(nic.Received)
		sent.told(nic.Sent)
	}
	out := amounts(worked, received, sent)
	if d.Driver != "libvirt" && d.Memory.Used > 0 {
		memory(out, d.Memory.Used, d.Memory.Maximum)
	}
	return out
}

// sum is what several of a kind counted together.
type sum struct {
	total float64
	of    int
}

func (s *sum) add(v float64) { s.total, s.of = s.total+v, s.of+1 }

func (s *sum) told(v *float64) {
	if v != nil && *v >= 0 {
		s.add(*v)
	}
}

// amounts are those that count up, as far as anything counted.
func amounts(worked, received, sent sum) map[policy.Usage]provider.Amount {
	out := map[policy.Usage]provider.Amount{}
	if worked.of > 0 {
		out[policy.UsageCPU] = provider.CPUTime(worked.total/float64(time.Second), worked.of)
	}
	if received.of > 0 {
		out[policy.UsageReceived] = provider.Amount{Value: received.total, Counts: true}
	}
	if sent.of > 0 {
		out[policy.UsageSent] = provider.Amount{Value: sent.total, Counts: true}
	}
	return out
}

// memory adds the share that is used, where the figures can be true.
func memory(to map[policy.Usage]provider.Amount, used, has float64) {
	const percent = 100
	if has > 0 && used >= 0 && used <= has {
		to[policy.UsageMemory] = provider.Amount{Value: percent * used / has}
	}
}
