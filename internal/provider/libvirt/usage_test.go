package libvirt

import (
	"maps"
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/policy"
	"hale/internal/provider"
)

// What an instance uses is read of what the host counts; what it does not count is not there.
func TestUsageIsReadOfWhatTheHostCounts(t *testing.T) {
	t.Parallel()
	param := func(name string, v any) golibvirt.TypedParam {
		return golibvirt.TypedParam{Field: name, Value: golibvirt.TypedParamValue{I: v}}
	}
	for name, c := range map[string]struct {
		params []golibvirt.TypedParam
		want   map[policy.Usage]provider.Amount
	}{
		"nothing": {},
		"two processors that worked five seconds together": {
			[]golibvirt.TypedParam{param("cpu.time", uint64(5_000_000_000)), param("vcpu.current", uint32(2)),
				param("vcpu.0.time", uint64(1))},
			map[policy.Usage]provider.Amount{policy.UsageCPU: {Value: 250, Counts: true}},
		},
		"a balloon that tells": {
			[]golibvirt.TypedParam{param("balloon.current", uint64(1000)), param("balloon.available", uint64(800)),
				param("balloon.unused", uint64(100)), param("balloon.usable", uint64(600))},
			map[policy.Usage]provider.Amount{policy.UsageMemory: {Value: 25}},
		},
		"an older one": {
			[]golibvirt.TypedParam{param("balloon.available", uint64(800)), param("balloon.unused", uint64(200))},
			map[policy.Usage]provider.Amount{policy.UsageMemory: {Value: 75}},
		},
		"one that tells nothing": {
			params: []golibvirt.TypedParam{param("balloon.current", uint64(1000)),
				param("balloon.maximum", uint64(1000))},
		},
		"one that tells nonsense": {
			params: []golibvirt.TypedParam{param("balloon.available", uint64(8)), param("balloon.usable", uint64(600))},
		},
		"two interfaces": {
			[]golibvirt.TypedParam{param("net.count", uint32(2)), param("net.0.rx.bytes", uint64(10)),
				param("net.0.tx.bytes", uint64(1)), param("net.1.rx.bytes", uint64(20)),
				param("net.1.rx.pkts", uint64(9)),
				param("net.1.tx.bytes", uint64(2))},
			map[policy.Usage]provider.Amount{
				policy.UsageReceived: {Value: 30, Counts: true}, policy.UsageSent: {Value: 3, Counts: true},
			},
		},
	} {
		if got := usageIn(c.params); !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
