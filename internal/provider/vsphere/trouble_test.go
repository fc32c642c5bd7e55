package vsphere

import (
	"testing"

	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fault"
)

// A method that someone disabled is a lock, which stands until they enable it; one that the machine's state does not
// allow is a matter of time.
func TestAMethodThatSomeoneDisabledIsALock(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]fault.Kind{"com.example.backup": fault.Locked, "": fault.Transient} {
		err := task.Error{LocalizedMethodFault: &types.LocalizedMethodFault{Fault: &types.MethodDisabled{Source: source}}}
		c := &call{op: "vsphere.reboot", subject: "vm-2"}
		if got := fault.KindOf(c.doubt(err)); got != want {
			t.Errorf("an order, disabled by %q: %s, want %s", source, got, want)
		}
		if got := fault.KindOf(c.fault(err)); got != want {
			t.Errorf("a question, disabled by %q: %s, want %s", source, got, want)
		}
	}
}
