package libvirt

import (
	"testing"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// TestL04CountersThatAreTooCoarseProveNothing: what was read of a real QEMU is told apart to the nanosecond; without
// the time that processors waited, nothing is.
func TestL04CountersThatAreTooCoarseProveNothing(t *testing.T) {
	t.Parallel()
	param := func(name string, v any) golibvirt.TypedParam {
		return golibvirt.TypedParam{Field: name, Value: golibvirt.TypedParamValue{I: v}}
	}
	whole := func(time, delay uint64) []golibvirt.TypedParam {
		return []golibvirt.TypedParam{
			param("state.state", int32(1)), param("vcpu.current", uint32(1)), param("vcpu.0.state", int32(1)),
			param("vcpu.0.time", time), param("vcpu.0.wait", uint64(0)), param("vcpu.0.delay", delay),
		}
	}
	idle, err := meterOf(whole(5_340_000_000, 20_277_277_341))
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		params []golibvirt.TypedParam
		same   bool
	}{
		"nothing happened":             {whole(5_340_000_000, 20_277_277_341), true},
		"less than a step of the time": {whole(5_340_000_000, 20_277_277_342), false},
		"a step":                       {whole(5_350_000_000, 20_277_277_341), false},
	} {
		if now, err := meterOf(c.params); err != nil || (now == idle) != c.same {
			t.Errorf("%s: %s after %s, %v", what, now, idle, err)
		}
	}
	for what, params := range map[string][]golibvirt.TypedParam{
		"no processor":             {param("state.state", int32(1))},
		"no time that it waited":   {param("vcpu.0.time", uint64(1))},
		"it never waited":          whole(5_340_000_000, 0),
		"one of two is not known":  append(whole(1, 2), param("vcpu.1.time", uint64(1))),
		"a number of another type": {param("vcpu.0.time", uint64(1)), param("vcpu.0.delay", "soon")},
	} {
		if m, err := meterOf(params); err == nil {
			t.Errorf("%s: it reads %s", what, m)
		}
	}
}
