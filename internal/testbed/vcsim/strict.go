package vcsim

import (
	"slices"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// strict sees each call before the simulator does, and refuses what a real vCenter refuses: a configuration that
// changed since it was read, a taken name in the folder, a disk of another running machine, a rule of fewer than two
// machines.
type strict struct {
	v *VCenter

	mu      sync.Mutex
	counts  map[string]int
	silence []string
	loss    *loss
	before  map[string]func()
	refused map[string]types.BaseMethodFault
	// each is asked at every call of one method.
	each map[string]func() types.BaseMethodFault
}

// take returns what is to happen at the first call of the method, and forgets it.
func (s *strict) take(method string) (before func(), refuse types.BaseMethodFault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, refuse = s.before[method], s.refused[method]
	delete(s.before, method)
	delete(s.refused, method)
	if ask := s.each[method]; ask != nil {
		refuse = ask()
	}
	return before, refuse
}

func (s *strict) silenceAfter(methods []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silence, s.loss = methods, nil
}

// loss is what becomes of the answers to orders, whichever they are.
type loss struct {
	left int // orders that are answered before
	lost chan struct{}
	over bool
}

// hits reports whether the method is the order from which on nothing is answered.
func (l *loss) hits(method string) bool {
	order := strings.HasSuffix(method, "_Task") && method != "SearchDatastore_Task" || method == "MakeDirectory" ||
		method == "RebootGuest"
	if l == nil || l.over || !order {
		return false
	}
	if l.left > 0 {
		l.left--
		return false
	}
	l.over = true
	close(l.lost)
	return true
}

func (s *strict) lose(after int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loss = &loss{left: after, lost: make(chan struct{})}
	return s.loss.lost
}

func (s *strict) count(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[method]
}

func (s *strict) handle(ctx *simulator.Context, m *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	s.mu.Lock()
	if s.counts == nil {
		s.counts = map[string]int{}
	}
	s.counts[m.Name]++
	silent := slices.Contains(s.silence, m.Name) || s.loss.hits(m.Name)
	if silent {
		s.silence = nil
	}
	s.mu.Unlock()
	if silent {
		s.v.wire.hold(answers)
	}
	before, refuse := s.take(m.Name)
	if before != nil {
		before()
	}
	if refuse != nil {
		return nil, refuse
	}
	return nil, s.refusal(ctx, m)
}

// refusal says why a real one would not do it.
func (s *strict) refusal(ctx *simulator.Context, m *simulator.Method) (no types.BaseMethodFault) {
	if req, ok := m.Body.(*types.CreateFilter); ok {
		calmed(ctx, req)
	}
	switch o := ctx.Map.Get(m.This).(type) {
	case *simulator.VirtualMachine:
		switch req := m.Body.(type) {
		case *types.ReconfigVM_Task:
			ctx.WithLock(o, func() { no = changed(ctx, o, &req.Spec) })
		case *types.PowerOnVM_Task:
			no = locked(ctx, s.v.look(o), s.v)
		case *types.RebootGuest:
			vm := s.v.look(o)
			s.v.guests.asked(&vm)
		case *types.CloneVM_Task:
			vm := s.v.look(o)
			s.v.guests.disks.clone(&vm, req.Name)
		}
	case *simulator.ClusterComputeResource:
		if req, ok := m.Body.(*types.ReconfigureComputeResource_Task); ok {
			no = lonely(req.Spec)
		}
	}
	return no
}

// changed refuses what rests on an old version, and a name that is taken.
func changed(ctx *simulator.Context, vm *simulator.VirtualMachine,
	spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	if v := spec.ChangeVersion; v != "" && v != vm.Config.ChangeVersion {
		return &types.ConcurrentAccess{}
	}
	if spec.Name == "" || spec.Name == vm.Name || vm.Parent == nil {
		return nil
	}
	folder, ok := ctx.Map.Get(*vm.Parent).(*simulator.Folder)
	if !ok {
		return nil
	}
	if other := ctx.Map.FindByName(spec.Name, folder.ChildEntity); other != nil {
		return &types.DuplicateName{Name: spec.Name, Object: other.Reference()}
	}
	return nil
}

// locked refuses to start a machine with a disk that another running one has.
func locked(ctx *simulator.Context, vm mo.VirtualMachine, v *VCenter) types.BaseMethodFault {
	mine := files(&vm)
	for _, o := range ctx.Map.All("VirtualMachine") {
		other, ok := o.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		seen := v.look(other)
		if seen.Self == vm.Self || seen.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
			continue
		}
		for _, f := range files(&seen) {
			if slices.Contains(mine, f) {
				return &types.FileLocked{FileFault: types.FileFault{File: f}}
			}
		}
	}
	return nil
}

// files are the machine's disks.
func files(vm *mo.VirtualMachine) []string {
	var out []string
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok {
			if b, ok := disk.Backing.(types.BaseVirtualDeviceFileBackingInfo); ok {
				out = append(out, b.GetVirtualDeviceFileBackingInfo().FileName)
			}
		}
	}
	return out
}

// lonely refuses a rule without two machines to keep apart.
func lonely(spec types.BaseComputeResourceConfigSpec) types.BaseMethodFault {
	cluster, _ := spec.(*types.ClusterConfigSpecEx)
	if cluster == nil {
		return nil
	}
	for _, r := range cluster.RulesSpec {
		if rule, ok := r.Info.(*types.ClusterAntiAffinityRuleSpec); ok && len(rule.Vm) < 2 {
			return &types.InvalidArgument{InvalidProperty: "rulesSpec"}
		}
	}
	return nil
}
