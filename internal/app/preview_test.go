package app

import (
	"slices"
	"testing"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// A transient domain is gone for ever once it is off: who is about to adopt it hears so at once, and of those that are
// not taken nothing is said.
func TestS68APreviewWarnsOfTransientMachinesThatItWouldAdopt(t *testing.T) {
	t.Parallel()
	listing := []fleet.Instance{
		{ID: "1", Name: "db-main"}, {ID: "2", Name: "db-two", Transient: true},
		{ID: "3", Name: "db-three", Transient: true, Mark: fleet.Mark{Installation: "another", Fleet: "db"}},
		{ID: "4", Name: "mail", Transient: true},
	}
	spec := policy.Spec{Name: "db", Provider: "lab", Adopt: policy.Adoption{Select: policy.Selector{Name: "db-*"}}}
	got := preview(provider.Listing{Instances: listing}, PreviewOptions{Fleet: spec}).Warnings
	want := "db-two is transient: libvirt keeps no definition of it, so it is gone for ever once it is shut off. " +
		"Define it: virsh dumpxml db-two > db-two.xml && virsh define db-two.xml"
	if !slices.Equal(got, []string{want}) {
		t.Errorf("got %q", got)
	}
}
