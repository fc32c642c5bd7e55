package openstack

import (
	"context"
	"errors"
	"net/http"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// openMarked begins an operation on the server of ref, which bears the mark that ref names, or none where it is
// adopted. The caller ends the call.
func (p *Provider) openMarked(ctx context.Context, op string, ref provider.Ref) (*call, *server, error) {
	c, err := p.open(ctx, op, string(ref.ID))
	if err != nil {
		return nil, nil, err
	}
	s, err := c.find(ref)
	if err == nil {
		err = c.belongs(ref, s)
	}
	if err != nil {
		c.end()
		return nil, nil, err
	}
	return c, s, nil
}

// belongs refuses a server with another mark than ref names.
func (c *call) belongs(ref provider.Ref, s *server) error {
	if ref.Adopted {
		return c.unmarked(ref, s)
	}
	mark, err := s.mark()
	if err == nil {
		err = sameMark(ref.Mark, mark)
	}
	if err != nil {
		return c.fault(fault.Conflict, err)
	}
	return nil
}

func (c *call) unmarked(ref provider.Ref, s *server) error {
	switch {
	case ref.Mark != (fleet.Mark{}):
		return c.conflictf("an adopted instance must not carry a mark")
	case s.marked():
		return c.conflictf("it was adopted, and carries a mark now")
	}
	return nil
}

// act asks Nova to begin something with the server.
func (c *call) act(s *server, action string, how any) error {
	_, err := c.send(c.compute, request{
		method: http.MethodPost,
		url:    c.compute.ServiceURL("servers", s.ID, "action"),
		body:   map[string]any{action: how},
		ok:     []int{http.StatusOK, http.StatusAccepted, http.StatusNoContent},
	})
	return err
}

// startable is open with the server of ref. It refuses an adopted server that carries a mark now, and a server that was
// put aside, or half of it.
func (p *Provider) startable(ctx context.Context, op string, ref provider.Ref) (*call, *server, error) {
	c, err := p.open(ctx, op, string(ref.ID))
	if err != nil {
		return nil, nil, err
	}
	s, err := c.find(ref)
	if err == nil && ref.Adopted {
		err = c.unmarked(ref, s)
	}
	if err == nil {
		err = c.whole(s)
	}
	if err == nil {
		s, err = c.idle(s)
	}
	if err != nil {
		c.end()
		return nil, nil, err
	}
	return c, s, nil
}

// idle waits until Nova has done with the server what it was asked before: it refuses everything else meanwhile.
func (c *call) idle(s *server) (*server, error) {
	if s.Task == "" || s.Task == taskPoweringOff {
		return s, nil
	}
	last := s
	err := c.await(s.ID, func(now *server) bool {
		last = now
		return now.Task == "" || now.Task == taskPoweringOff
	})
	if fault.Is(err, fault.UnknownOutcome) { // nothing was asked for
		err = c.fault(fault.Transient, errors.New("nova is still busy with it: "+last.Task))
	}
	return last, err
}

// openIdle is openMarked with a server that Nova is not busy with.
func (p *Provider) openIdle(ctx context.Context, op string, ref provider.Ref) (*call, *server, error) {
	c, s, err := p.openMarked(ctx, op, ref)
	if err != nil {
		return nil, nil, err
	}
	if s, err = c.idle(s); err != nil {
		c.end()
		return nil, nil, err
	}
	return c, s, nil
}

// Start powers the instance on, and lets a paused one go on. fault.Conflict: Nova calls it broken, or it was put aside.
func (p *Provider) Start(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.startable(ctx, "openstack.start", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if s, err = c.confirmed(s); err != nil {
		return err
	}
	switch s.Status {
	case statusOff:
		return c.act(s, "os-start", nil)
	case "SHELVED", "SHELVED_OFFLOADED":
		return c.act(s, "unshelve", nil)
	case statusSoftDeleted:
		return c.act(s, "restore", nil)
	case statusBuild:
		return c.fault(fault.Transient, errors.New("nova is still building it"))
	}
	if s.ended() {
		return c.fault(fault.Transient, errors.New("nova has not noticed yet that it ended"))
	}
	switch s.power() {
	case fleet.PowerRunning:
		return nil
	case fleet.PowerPaused:
		return c.goOn(s)
	case fleet.PowerOff, fleet.PowerUnknown, fleet.PowerError, fleet.PowerGone, fleet.PowerCrashed:
	}
	return c.conflictf("its status is %s", s.Status)
}

// Resume lets a paused or suspended server go on. One that was rescued runs another system, which is a person's
// business.
func (p *Provider) Resume(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.startable(ctx, "openstack.resume", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if s.power() == fleet.PowerRunning {
		return nil
	}
	return c.goOn(s)
}

func (c *call) goOn(s *server) error {
	switch s.Status {
	case statusPaused:
		return c.act(s, "unpause", nil)
	case statusSuspended:
		return c.act(s, "resume", nil)
	}
	return c.conflictf("its status is %s", s.Status)
}

// Reboot resets the server hard, whatever its status is: one that is off is started, unless it was put aside.
func (p *Provider) Reboot(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.openIdle(ctx, "openstack.reboot", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if err := c.whole(s); err != nil {
		return err
	}
	return c.act(s, "reboot", map[string]string{"type": "HARD"})
}

// RebootSoft asks the guest to reboot. Nova waits for the guest, two minutes by default, and then resets the server.
func (p *Provider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.openIdle(ctx, "openstack.soft-reboot", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if s.power() != fleet.PowerRunning {
		return c.conflictf("its status is %s", s.Status)
	}
	return c.act(s, "reboot", map[string]string{"type": "SOFT"})
}

// PowerOff stops the server. Nova gives the guest time to shut down, one minute by default, and then cuts the power.
// PowerOff waits until the server is off, so that no second order follows meanwhile. fault.UnknownOutcome: it was
// ordered, and is not off yet.
func (p *Provider) PowerOff(ctx context.Context, ref provider.Ref) error {
	c, s, err := p.openIdle(ctx, "openstack.power-off", ref)
	if err != nil {
		return err
	}
	defer c.end()
	if s, err = c.confirmed(s); err != nil {
		return err
	}
	if s.ended() { // Nova has it off as soon as it looks
		return c.awaitOff(s)
	}
	switch s.power() {
	case fleet.PowerOff, fleet.PowerGone:
		return nil
	case fleet.PowerPaused:
		if err := c.wake(s); err != nil {
			return err
		}
	case fleet.PowerUnknown:
		return c.fault(fault.Transient, errors.New("nova is still busy with it: "+s.Status))
	case fleet.PowerRunning, fleet.PowerError, fleet.PowerCrashed:
	}
	if s.Task != taskPoweringOff {
		if err := c.act(s, "os-stop", nil); err != nil {
			return err
		}
	}
	return c.awaitOff(s)
}

func (c *call) awaitOff(s *server) error {
	err := c.await(s.ID, func(now *server) bool { return now.power() == fleet.PowerOff })
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	return err
}

// wake lets a server run that stands still, and waits until it does: Nova stops nothing else.
func (c *call) wake(s *server) error {
	var err error
	if s.Status == statusRescue {
		err = c.act(s, "unrescue", nil)
	} else {
		err = c.goOn(s)
	}
	if err != nil {
		return err
	}
	return c.await(s.ID, func(now *server) bool { return now.Status == statusActive && now.Task == "" })
}

// await looks at the server until done holds. The order was given before: when the time is over, or a look fails, its
// outcome is not known.
func (c *call) await(nova string, done func(*server) bool) error {
	for {
		began := time.Now()
		s, err := c.server(nova)
		switch {
		case fault.Is(err, fault.NotFound):
			return err
		case err == nil && done(s):
			return nil
		}
		if c.wait(lookAgain(time.Since(began))) != nil {
			return c.fault(fault.UnknownOutcome, c.Err())
		}
	}
}
