package vsphere

import (
	"maps"
	"testing"

	"github.com/vmware/govmomi/vim25/mo"

	"hale/internal/core/policy"
	"hale/internal/provider"
)

func TestUsageIsReadOfQuickStatistics(t *testing.T) {
	t.Parallel()
	var vm mo.VirtualMachine
	if got := usageOf(&vm); len(got) > 0 {
		t.Errorf("of nothing: %v", got)
	}
	vm.Summary.Runtime.MaxCpuUsage, vm.Summary.QuickStats.OverallCpuUsage = 4000, 1000
	vm.Summary.Config.MemorySizeMB, vm.Summary.QuickStats.GuestMemoryUsage = 2048, 512
	want := map[policy.Usage]provider.Amount{policy.UsageCPU: {Value: 25}, policy.UsageMemory: {Value: 25}}
	if got := usageOf(&vm); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
