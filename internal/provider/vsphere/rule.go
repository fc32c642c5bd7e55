package vsphere

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
)

// keepApart enters the machine in the rule by which DRS keeps those of its fleet on different hosts. vCenter takes
// machines that are gone out of it by itself. It wants two machines in a rule, so the first one of a fleet makes none.
func (b *build) keepApart(ctx context.Context, vm types.ManagedObjectReference) error {
	if !b.p.o.AntiAffinity || b.cluster.Type != kindCluster {
		return nil
	}
	select {
	case b.p.rules <- struct{}{}: // a rule is read and written whole
		defer func() { <-b.p.rules }()
	case <-ctx.Done():
		return b.fault(cause(ctx, ctx.Err()))
	}
	vms, err := b.siblings(ctx)
	if err != nil {
		return b.fault(err)
	}
	if !slices.Contains(vms, vm) {
		vms = append(vms, vm)
	}
	if len(vms) < 2 {
		return nil
	}
	change, err := b.rule(ctx, vms)
	if err != nil {
		return b.fault(err)
	}
	_, err = b.call.order(ctx, func() (*object.Task, error) {
		return object.NewClusterComputeResource(b.conn.vc, b.cluster).Reconfigure(ctx,
			&types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{change}}, true)
	})
	return err
}

// siblings are the machines of the fleet on the cluster.
func (b *build) siblings(ctx context.Context) ([]types.ManagedObjectReference, error) {
	inv, err := b.survey(ctx)
	if err != nil {
		return nil, err
	}
	signs, err := b.signs(ctx, inv)
	if err != nil {
		return nil, err
	}
	var refs []types.ManagedObjectReference
	for i := range inv.vms {
		vm := &inv.vms[i]
		host, ok := inv.hostOf(vm)
		m := signs[vm.Self].mark
		if ok && host.Parent != nil && *host.Parent == b.cluster && !m.Kept &&
			m.Installation == b.order.Mark.Installation && m.Fleet == b.order.Mark.Fleet {
			refs = append(refs, vm.Self)
		}
	}
	return refs, nil
}

// rule describes the fleet's rule with the machines: a new one, or a change of the one that there is.
func (b *build) rule(ctx context.Context, vms []types.ManagedObjectReference) (types.ClusterRuleSpec, error) {
	var cluster mo.ClusterComputeResource
	if err := b.read(ctx, func() error { return b.conn.one(ctx, b.cluster, &cluster, "configurationEx") }); err != nil {
		return types.ClusterRuleSpec{}, err
	}
	name := ruleName(b.order.Mark.Installation, b.order.Mark.Fleet)
	if config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
		for _, r := range config.Rule {
			if old, ok := r.(*types.ClusterAntiAffinityRuleSpec); ok && old.Name == name {
				old.Vm = vms
				return types.ClusterRuleSpec{
					ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
					Info:            old,
				}, nil
			}
		}
	}
	return types.ClusterRuleSpec{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
		Info: &types.ClusterAntiAffinityRuleSpec{
			ClusterRuleInfo: types.ClusterRuleInfo{
				Name:        name,
				Enabled:     types.NewBool(true),
				UserCreated: types.NewBool(true),
			},
			Vm: vms,
		},
	}, nil
}

func ruleName(i fleet.Installation, f fleet.Name) string { return fmt.Sprintf("hale-%s-%s", f, i) }
