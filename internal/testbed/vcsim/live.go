package vcsim

import (
	"context"
	"net/netip"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Machine is a real one behind a simulated one.
type Machine interface {
	// Address is where its guest answers.
	Address() netip.Addr
	// Ended is closed when its process has ended, by Kill or otherwise.
	Ended() <-chan struct{}
	// Kill ends the process and returns when it is gone.
	Kill()
}

// Live lets what is powered on from now on be real. boot starts a machine and returns when its guest has booted, so
// that its address is told as tools in a guest tell it; its context ends when the machine is powered off meanwhile. A
// machine is off when its process ends, and no event tells vCenter so. Call it before the first client connects.
func (v *VCenter) Live(t T, boot func(ctx context.Context, name string) (Machine, error)) {
	v.guests.live = &live{v: v, boot: boot, powered: map[types.ManagedObjectReference]*powered{}}
	t.Cleanup(v.guests.live.end)
}

// live are the real machines. Its fields are guarded by the guests' lock.
type live struct {
	v       *VCenter
	boot    func(ctx context.Context, name string) (Machine, error)
	powered map[types.ManagedObjectReference]*powered
}

// powered is one machine from power on to power off.
type powered struct {
	off  context.CancelFunc // it was told to power off
	gone chan struct{}      // closed when its process is gone
}

// on starts the machine, and lets vCenter know what becomes of it.
func (l *live) on(vm *mo.VirtualMachine) {
	g, ref, name := l.v.guests, vm.Self, vm.Name
	ctx, off := context.WithCancel(context.Background())
	p := &powered{off: off, gone: make(chan struct{})}
	g.mu.Lock()
	before := l.powered[ref]
	l.powered[ref] = p
	g.mu.Unlock()
	go func() { // ends with the machine
		defer close(p.gone)
		if before != nil {
			before.off()
			<-before.gone
		}
		m, err := l.boot(ctx, name)
		if err != nil {
			l.died(ctx, ref)
			return
		}
		if ctx.Err() == nil {
			l.v.set(ref, g.awake(m.Address())...)
		}
		select {
		case <-m.Ended():
			l.died(ctx, ref)
		case <-ctx.Done():
			m.Kill()
		}
	}()
}

// died is what vCenter sees of a machine when its process ends without an order.
func (l *live) died(ctx context.Context, ref types.ManagedObjectReference) {
	if ctx.Err() == nil {
		l.v.set(ref, types.PropertyChange{Name: "runtime.cleanPowerOff", Val: false},
			types.PropertyChange{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff})
	}
}

// cut powers the machine off.
func (l *live) cut(ref types.ManagedObjectReference) {
	g := l.v.guests
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := l.powered[ref]; p != nil {
		p.off()
	}
}

// end powers all machines off and waits until their processes are gone.
func (l *live) end() {
	g := l.v.guests
	g.mu.Lock()
	var all []*powered
	for _, p := range l.powered {
		all = append(all, p)
	}
	g.mu.Unlock()
	for _, p := range all {
		p.off()
		<-p.gone
	}
}
