package libvirt

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Hosts know nothing of each other. What a migration left behind, or what a person defined twice, is on two of them
// under one id. So the other hosts are asked before anything is done that would be wrong then.

// moment is for how long a host is waited for that need not answer.
const moment = time.Second

// question is asked of another host. It returns what is in the way there; nil: nothing is. An error means that the host
// did not say.
type question func(s *session) (inTheWay, err error)

// askOthers puts the question to all hosts but ref's, and returns the first thing that is in the way. A host that does
// not answer may have it, and is fault.Transient, unless it is among ref.Excused. With a single host there is no
// question to ask.
func (p *Provider) askOthers(ctx context.Context, op string, ref provider.Ref, ask question) error {
	others := slices.DeleteFunc(slices.Clone(p.hosts), func(h *host) bool { return h.name == ref.Host })
	if len(others) == 0 {
		return nil
	}
	half, cancel := p.half(ctx)
	defer cancel()
	excused := func(h *host) bool { return slices.Contains(ref.Excused, h.name) }
	within := func(h *host) (context.Context, context.CancelFunc) {
		if excused(h) {
			return context.WithTimeout(half, moment)
		}
		return half, func() {}
	}
	ways := make([]error, len(others))
	errs := p.onHosts(others, within, op, func(s *session, i int) (err error) {
		ways[i], err = ask(s)
		return err
	})
	for _, way := range ways {
		if way != nil {
			return way
		}
	}
	var silent []string
	for i, h := range others {
		if errs[i] != nil && !excused(h) {
			silent = append(silent, string(h.name))
		}
	}
	if len(silent) == 0 {
		return nil
	}
	return fault.New(fault.Transient, op, string(ref.ID), unheard(silent, errors.Join(errs...)))
}

// unheard says what is to be done about hosts that did not answer.
func unheard(hosts []string, why error) error {
	return fmt.Errorf("%s did not answer, and may have it, too; nothing is done until it answers, or is proven off by "+
		"its fence, or by a person: hale fence confirm %s --reason TEXT: %w",
		strings.Join(hosts, " and "), hosts[0], why)
}

// claim is what an order takes for itself on ref.Host: an id, and a name where it is given.
type claim struct {
	op   string
	ref  provider.Ref
	name string
}

// alone refuses an order about a domain that is not at work on ref.Host unless no other host has what it claims.
func (p *Provider) alone(ctx context.Context, c claim) error {
	return p.askOthers(ctx, c.op, c.ref, c.rival)
}

// rival is the question whether the host has the id or the name.
func (c claim) rival(s *session) (inTheWay, err error) {
	uuid, err := parseID(c.ref.ID)
	if err != nil {
		return fault.New(fault.Invalid, c.op, string(c.ref.ID), err), nil
	}
	if inTheWay, err = s.hasToo(uuid); inTheWay == nil && err == nil && c.name != "" {
		inTheWay, err = s.named(c.name, c.ref.Mark)
	}
	if inTheWay != nil {
		inTheWay = fault.New(fault.Conflict, c.op, string(c.ref.ID), inTheWay)
	}
	return inTheWay, err
}

// sole returns the domain's power. One that does not run here must be nowhere else. What is paused, or crashed, has
// its process here: a host that does not answer is no reason to leave that alone.
func (p *Provider) sole(ctx context.Context, s *session, dom golibvirt.Domain, ref provider.Ref) (fleet.Power, error) {
	power, err := s.power(dom)
	switch {
	case err != nil || power == fleet.PowerRunning:
		return power, err
	case power == fleet.PowerPaused || power == fleet.PowerCrashed:
		ref.Excused = p.names()
	}
	return power, p.alone(ctx, claim{op: s.op, ref: ref})
}

// hasToo says that the host has a domain with the id, and what that does; nil: it has none.
func (s *session) hasToo(uuid golibvirt.UUID) (inTheWay, err error) {
	dom, err := s.DomainLookupByUUID(uuid)
	if err == nil {
		var power fleet.Power
		if power, err = s.power(dom); err == nil {
			return fmt.Errorf("%s's id is on %s, too, and %s there; undefine it on the host where it does not belong",
				dom.Name, s.host.name, does(power)), nil
		}
	}
	if fault.Is(s.fault(err), fault.NotFound) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return nil, s.fault(err)
}

// does says what a domain does that has the power.
func does(power fleet.Power) string {
	if power == fleet.PowerRunning {
		return "runs"
	}
	return "is " + string(power)
}

// named says that the name belongs to a domain of the host. nil: it does not, or only to an earlier instance of the
// mark's machine that is off, and was left when its successor was built elsewhere.
func (s *session) named(name string, mark fleet.Mark) (inTheWay, err error) {
	dom, err := s.DomainLookupByName(name)
	if isCode(err, golibvirt.ErrNoDomain) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, s.fault(err)
	}
	has, err := s.readMark(dom)
	power := fleet.PowerUnknown
	if err == nil {
		power, err = s.power(dom)
	}
	if fault.Is(err, fault.NotFound) {
		return nil, nil //nolint:nilnil // it was undefined while hale read it: a rival that gave way
	}
	if err != nil {
		return nil, err
	}
	earlier := has.Installation == mark.Installation && has.Machine == mark.Machine && has.Generation < mark.Generation
	if earlier && power == fleet.PowerOff {
		return nil, nil //nolint:nilnil // see above
	}
	return fmt.Errorf("the name %s belongs to VM %s on %s, which %s",
		name, idOf(dom.UUID), s.host.name, does(power)), nil
}

// claims are the order's id and name.
func (b *build) claims() claim {
	return claim{op: "libvirt.create", ref: b.order.Ref, name: b.order.Name}
}

// elsewhere refuses an order if its id or name is taken on another host. It also refuses to make an empty kept disk
// when that disk lies on another host: the instance would miss its data.
func (p *Provider) elsewhere(ctx context.Context, b *build) error {
	c := b.claims()
	return p.askOthers(ctx, c.op, c.ref, func(s *session) (inTheWay, err error) {
		if inTheWay, err = c.rival(s); inTheWay != nil || err != nil || len(b.absent) == 0 {
			return inTheWay, err
		}
		pool, err := s.poolAt(p.stateDir)
		if err != nil {
			return nil, err
		}
		for _, name := range b.absent {
			there, err := s.has(pool, name)
			if err != nil {
				return nil, err
			}
			if there {
				lies := fmt.Errorf("the disk %s lies on host %s: move it to %s, or remove it",
					path.Join(p.stateDir, name), s.host.name, b.order.Host)
				return fault.New(fault.Invalid, c.op, string(b.order.ID), lies), nil
			}
		}
		return nil, nil //nolint:nilnil // none is an answer
	})
}

// names are the hosts'.
func (p *Provider) names() []fleet.HostName {
	names := make([]fleet.HostName, len(p.hosts))
	for i, h := range p.hosts {
		names[i] = h.name
	}
	return names
}
