package openstack

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/openstack"
	"hale/internal/testbed/cloud"
)

// TestUsageIsToldByTheCloud: Nova tells an administrator what a server uses, in the words of its hypervisor (here, by
// the fake driver, those of libvirt without a guest that reports its memory), and a member nothing. A server
// that is not there is left out.
func TestUsageIsToldByTheCloud(t *testing.T) {
	h := newHarness(t, cloud.Shared)
	p, err := openstack.New(openstack.Options{Cloud: cloud.Admin, CloudsFile: cloud.Running().CloudsFile()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	member := h.New(t)
	id := fleet.InstanceID(h.person().boot(t, "busy", nil))
	refs := []provider.Ref{{ID: id}, {ID: "00000000-0000-4000-8000-00000000beef"}}
	deadline := time.Now().Add(patience)
	for {
		all, err := p.Usage(t.Context(), refs)
		of := all[id].Of
		got := slices.Sorted(maps.Keys(of))
		if err == nil && len(all) == 1 && slices.Equal(got, []policy.Usage{policy.UsageCPU, policy.UsageReceived,
			policy.UsageSent}) {
			// the fake driver's figures: 17.3 s of one processor, and 2,070,139 bytes received
			if of[policy.UsageCPU] != provider.CPUTime(17.3, 1) || of[policy.UsageReceived].Value != 2070139 {
				t.Errorf("it uses %+v", of)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v, %v", all, err)
		}
		pause := time.NewTimer(time.Second)
		<-pause.C
	}
	_, err = member.(provider.UsageReader).Usage(t.Context(), refs[:1])
	if !fault.Is(err, fault.Unauthorised) || !strings.Contains(err.Error(), "os-server-diagnostics") {
		t.Errorf("a member is told %v", err)
	}
}
