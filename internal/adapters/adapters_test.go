package adapters_test

import (
	"slices"
	"testing"

	"hale/internal/adapters"
	"hale/internal/core/fleet"
	"hale/internal/provider"
	"hale/internal/provider/external"
	"hale/internal/provider/libvirt"
	"hale/internal/provider/openstack"
	"hale/internal/provider/simulated"
	"hale/internal/provider/vsphere"
)

// What a configuration may have a provider tell of its instances, its adapter can tell, and the other way round.
func TestTheUsageThatAKindPromisesIsToldByItsAdapter(t *testing.T) {
	t.Parallel()
	made := map[string]provider.Provider{
		"libvirt": (*libvirt.Provider)(nil), "openstack": (*openstack.Provider)(nil),
		"vsphere": (*vsphere.Provider)(nil), "exec": (*external.Provider)(nil),
		"simulated": (*simulated.Provider)(nil),
	}
	for _, k := range adapters.All().Providers {
		p, known := made[k.Word]
		_, able := p.(provider.UsageReader)
		if !known || able != (len(k.Usages) > 0) {
			t.Errorf("%s promises %v, and its adapter tells what instances use: %v", k.Word, k.Usages, able)
		}
	}
}

// What a provider lacks is explained (hale provider describe).
func TestAKindSaysWhyItLacksAnOperation(t *testing.T) {
	t.Parallel()
	made := map[string]provider.Provider{
		"libvirt": &libvirt.Provider{}, "openstack": &openstack.Provider{}, "vsphere": &vsphere.Provider{},
		"simulated": &simulated.Provider{},
	}
	for _, k := range adapters.All().Providers {
		for op := range k.Remarks {
			if !slices.Contains(fleet.Ops(), op) {
				t.Errorf("%s has a remark about %s, which is no operation", k.Word, op)
			}
		}
		p, known := made[k.Word]
		if !known {
			continue
		}
		for _, s := range provider.Skills(p) {
			if !s.Can && k.Remarks.Of(s) == "" {
				t.Errorf("%s does not say why it lacks %s", k.Word, s.Op)
			}
		}
	}
}
