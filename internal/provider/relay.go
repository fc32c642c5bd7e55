package provider

import (
	"context"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// Pass says what becomes of a call on its way to a provider. do makes the call, to the provider that it is given, and
// may be called more than once.
type Pass func(ctx context.Context, c Call, do func(context.Context, Provider) error) error

// Relay is a provider that passes every call but Close through one function. A wrapper embeds it, and so hides no
// ability: each ability has its one method of Relay beside its interface. Relay can do what the provider behind it can;
// the rest is fault.Unsupported.
type Relay struct {
	behind Provider
	way    Pass
}

// NewRelay returns the provider behind the function.
func NewRelay(behind Provider, way Pass) *Relay { return &Relay{behind, way} }

// The calls that are no fleet.Op, as Call.Op: questions, and the notes of hale's own starts.
const (
	OpIdentity    fleet.Op = "identity"
	OpList        fleet.Op = "list"
	OpGet         fleet.Op = "get"
	OpPingGuest   fleet.Op = "ping-guest"
	OpMeter       fleet.Op = "meter"
	OpUsage       fleet.Op = "usage"
	OpConsole     fleet.Op = "console"
	OpScreenshot  fleet.Op = "screenshot"
	OpRehearse    fleet.Op = "rehearse"
	OpStarts      fleet.Op = "starts"
	OpNoteStart   fleet.Op = "note-start"
	OpForgetStart fleet.Op = "forget-start"
)

var questions = []fleet.Op{
	OpIdentity, OpList, OpGet, OpPingGuest, OpMeter, OpUsage, OpConsole, OpScreenshot, OpRehearse,
	OpStarts,
}

// Asks reports whether the call changes nothing.
func (c Call) Asks() bool { return slices.Contains(questions, c.Op) }

// absent says that the provider does not have what was asked for.
func (c Call) absent() error {
	return fault.New(fault.Unsupported, "provider."+string(c.Op), string(c.Ref.ID), nil)
}

// pass takes a call of the interface T on its way.
func pass[T any](ctx context.Context, r *Relay, c Call, do func(context.Context, T) error) error {
	return r.way(ctx, c, func(ctx context.Context, p Provider) error {
		able, ok := p.(T)
		if !ok {
			return c.absent()
		}
		return do(ctx, able)
	})
}

// onRef is pass for a call that takes nothing but the instance.
func onRef[T any](ctx context.Context, r *Relay, op fleet.Op, ref Ref, do func(T, context.Context, Ref) error) error {
	return pass(ctx, r, Call{Op: op, Ref: ref}, func(ctx context.Context, p T) error { return do(p, ctx, ref) })
}

// ask is pass for a call with an answer.
func ask[T, A any](ctx context.Context, r *Relay, c Call,
	do func(context.Context, T) (A, error)) (answer A, err error) {
	answers := make(chan A, 1)
	err = pass(ctx, r, c, func(ctx context.Context, p T) error {
		a, err := do(ctx, p)
		if err != nil {
			return err
		}
		select {
		case answers <- a:
		default: // the call was made twice
		}
		return nil
	})
	if err != nil {
		return answer, err
	}
	select {
	case answer = <-answers:
	default: // the call was not made
	}
	return answer, nil
}

// Has implements Chooser.
func (r *Relay) Has(name string) bool {
	a, known := abilityNamed(name)
	return known && a.Of(r.behind)
}

// Close implements Provider: the one behind is closed.
func (r *Relay) Close() error { return r.behind.Close() }

// Identity implements Reader.
func (r *Relay) Identity(ctx context.Context) (map[fleet.HostName]string, error) {
	return ask(ctx, r, Call{Op: OpIdentity}, func(ctx context.Context, p Reader) (map[fleet.HostName]string, error) {
		return p.Identity(ctx)
	})
}

// List implements Reader.
func (r *Relay) List(ctx context.Context) (Listing, error) {
	return ask(ctx, r, Call{Op: OpList}, func(ctx context.Context, p Reader) (Listing, error) { return p.List(ctx) })
}

// Get implements Reader.
func (r *Relay) Get(ctx context.Context, ref Ref) (fleet.Instance, error) {
	return ask(ctx, r, Call{Op: OpGet, Ref: ref}, func(ctx context.Context, p Reader) (fleet.Instance, error) {
		return p.Get(ctx, ref)
	})
}

// Start implements Power.
func (r *Relay) Start(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpStart, ref, Power.Start)
}

// Reboot implements Power.
func (r *Relay) Reboot(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpReboot, ref, Power.Reboot)
}

// PowerOff implements Power.
func (r *Relay) PowerOff(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpPowerOff, ref, Power.PowerOff)
}

// Create implements Builder.
func (r *Relay) Create(ctx context.Context, o Blueprint) error {
	return pass(ctx, r, Call{Op: fleet.OpCreate, Ref: o.Ref, Blueprint: o}, func(ctx context.Context, p Builder) error {
		return p.Create(ctx, o)
	})
}

// Delete implements Builder.
func (r *Relay) Delete(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpDelete, ref, Builder.Delete)
}

// Certify implements Builder.
func (r *Relay) Certify(ctx context.Context, ref Ref) error {
	return onRef(ctx, r, fleet.OpCertify, ref, Builder.Certify)
}
