package app

import (
	"strings"
	"testing"

	"hale/internal/fleet"
)

func TestAPlanWarnsOnceOfAdoptedMachinesWithoutADefinition(t *testing.T) {
	t.Parallel()
	f := beliefs(3)
	for i := range 2 {
		v := &f.Machines[i]
		v.Machine.Current.Adopted, v.Machine.Current.Kept = true, true
		v.Seen[0].Instance.Transient = true
	}
	f.Machines[2].Seen[0].Instance.Transient = true // hale builds it again
	got := planFleet(f, beforehand{adopted: map[fleet.InstanceID]bool{"web-1": true, "web-2": true}}).Warnings
	if len(got) != 1 || !strings.HasPrefix(got[0], "web-1, web-2 are transient") || !strings.Contains(got[0], "virsh define") {
		t.Errorf("got warnings %q, want one that names web-1 and web-2, and virsh define", got)
	}
}
