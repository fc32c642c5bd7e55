package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// stateOf translates libvirt's state and reason.
func stateOf(state, reason int32) (fleet.Power, fleet.Stop) {
	switch golibvirt.DomainState(state) {
	case golibvirt.DomainRunning, golibvirt.DomainBlocked, golibvirt.DomainShutdown:
		return fleet.PowerRunning, fleet.StopUnknown
	case golibvirt.DomainPaused:
		return pausedOf(golibvirt.DomainPausedReason(reason))
	case golibvirt.DomainPmsuspended:
		return fleet.PowerPaused, fleet.StopGuest
	case golibvirt.DomainShutoff:
		return fleet.PowerOff, stopOf(golibvirt.DomainShutoffReason(reason))
	case golibvirt.DomainCrashed:
		return fleet.PowerCrashed, fleet.StopCrash
	case golibvirt.DomainNostate:
	}
	return fleet.PowerUnknown, fleet.StopUnknown
}

// pausedOf tells the pauses that are none apart: a domain is paused for a moment while it starts and while it ends. Of
// the others it says who paused it.
func pausedOf(reason golibvirt.DomainPausedReason) (fleet.Power, fleet.Stop) {
	switch reason {
	case golibvirt.DomainPausedStartingUp, golibvirt.DomainPausedShuttingDown:
		return fleet.PowerRunning, fleet.StopUnknown
	case golibvirt.DomainPausedCrashed:
		return fleet.PowerCrashed, fleet.StopUnknown
	case golibvirt.DomainPausedIoerror:
		return fleet.PowerPaused, fleet.StopIOError
	case golibvirt.DomainPausedUser:
		return fleet.PowerPaused, fleet.StopExternal
	}
	return fleet.PowerPaused, fleet.StopUnknown
}

// resumable reports whether an order may resume a domain that is paused for the reason: not while the daemon holds it
// for a job of its own, nor while the cause of its stop lasts.
func resumable(reason golibvirt.DomainPausedReason) bool {
	switch reason {
	case golibvirt.DomainPausedUnknown, golibvirt.DomainPausedUser, golibvirt.DomainPausedWatchdog,
		golibvirt.DomainPausedFromSnapshot, golibvirt.DomainPausedSnapshot:
		return true
	}
	return false
}

// stopOf says who turned a domain off. A daemon that was restarted no longer knows it. A clean shutdown has one reason
// only, whether the guest began it or virsh shutdown asked for it.
func stopOf(reason golibvirt.DomainShutoffReason) fleet.Stop {
	switch reason {
	case golibvirt.DomainShutoffShutdown:
		return fleet.StopShutdown
	case golibvirt.DomainShutoffMigrated:
		return fleet.StopMoved
	case golibvirt.DomainShutoffDestroyed, golibvirt.DomainShutoffSaved, golibvirt.DomainShutoffFromSnapshot:
		return fleet.StopExternal
	case golibvirt.DomainShutoffCrashed, golibvirt.DomainShutoffFailed, golibvirt.DomainShutoffDaemon:
		return fleet.StopCrash
	case golibvirt.DomainShutoffUnknown:
	}
	return fleet.StopUnknown
}

// Start powers the instance on, and resumes a paused one. fault.Conflict: it crashed and its remains must be powered
// off first, or it was put aside.
func (p *Provider) Start(ctx context.Context, ref provider.Ref) error {
	_, s, err := p.open(ctx, "libvirt.start", ref)
	if err != nil {
		return err
	}
	defer s.end()
	dom, err := s.startable(ref)
	if err != nil {
		return err
	}
	power, err := p.sole(ctx, s, dom, ref)
	if err != nil {
		return err
	}
	switch power {
	case fleet.PowerRunning:
		return nil
	case fleet.PowerPaused:
		return s.order(func() error { return s.DomainResume(dom) })
	case fleet.PowerOff:
		return s.boot(dom)
	case fleet.PowerUnknown, fleet.PowerCrashed, fleet.PowerError, fleet.PowerGone:
	}
	return s.conflict(fmt.Errorf("its state is %q", power))
}

// Resume lets a paused domain go on, and wakes one that suspended itself.
func (p *Provider) Resume(ctx context.Context, ref provider.Ref) error {
	_, s, err := p.open(ctx, "libvirt.resume", ref)
	if err != nil {
		return err
	}
	defer s.end()
	dom, err := s.startable(ref)
	if err != nil {
		return err
	}
	state, reason, err := s.DomainGetState(dom, 0)
	if err != nil {
		return s.fault(err)
	}
	power, by := stateOf(state, reason)
	if power == fleet.PowerPaused {
		if power, err = p.sole(ctx, s, dom, ref); err != nil {
			return err
		}
	}
	switch {
	case power == fleet.PowerRunning:
		return nil
	case golibvirt.DomainState(state) == golibvirt.DomainPmsuspended:
		return s.order(func() error { return s.DomainPmWakeup(dom, 0) })
	case power == fleet.PowerPaused && resumable(golibvirt.DomainPausedReason(reason)):
		return s.order(func() error { return s.DomainResume(dom) })
	}
	return s.conflict(fmt.Errorf("its state is %q %s (libvirt's reason %d)", power, by, reason))
}

// RebootSoft asks the guest to reboot: by its agent where the domain has one, else by its power button.
func (p *Provider) RebootSoft(ctx context.Context, ref provider.Ref) error {
	s, dom, err := p.openMarked(ctx, "libvirt.soft-reboot", ref)
	if err != nil {
		return err
	}
	defer s.end()
	power, err := s.power(dom)
	if err != nil {
		return err
	}
	if power != fleet.PowerRunning {
		return s.conflict(fmt.Errorf("its state is %q", power))
	}
	return s.order(func() error { return s.DomainReboot(dom, golibvirt.DomainRebootDefault) })
}

// firmwareTime is the processor time, at least, that an instance has used when its firmware is surely done. QEMU that
// is reset in the first moments of its life can run into the void, and no later reset brings it back.
const firmwareTime = time.Second

// Reboot resets a running instance. One that is paused, crashed or off, or has only just been started, is cut off and
// started, with a new process.
func (p *Provider) Reboot(ctx context.Context, ref provider.Ref) error {
	s, dom, err := p.openMarked(ctx, "libvirt.reboot", ref)
	if err != nil {
		return err
	}
	defer s.end()
	power, err := p.sole(ctx, s, dom, ref)
	if err != nil {
		return err
	}
	_, _, _, _, used, err := s.DomainGetInfo(dom)
	if err != nil {
		return s.fault(err)
	}
	if power == fleet.PowerRunning && used > uint64(firmwareTime) {
		return s.order(func() error { return s.DomainReset(dom, 0) })
	}
	if err := s.cutPower(dom); err != nil {
		return err
	}
	return s.boot(dom)
}

// PowerOff ends the instance's process. A process that does not react gets 10 s from libvirt before it is killed; a
// context that ends earlier yields fault.UnknownOutcome, and libvirt goes on.
func (p *Provider) PowerOff(ctx context.Context, ref provider.Ref) error {
	s, dom, err := p.openMarked(ctx, "libvirt.power-off", ref)
	if err != nil {
		return err
	}
	defer s.end()
	if _, err := p.sole(ctx, s, dom, ref); err != nil {
		return err
	}
	return s.cutPower(dom)
}

// boot starts a domain that is off, unless it was put aside, or half of it, or lacks disks: an order that comes late
// must not let it run beside its successor. A domain that another client started meanwhile is success.
func (s *session) boot(dom golibvirt.Domain) error {
	if err := s.whole(dom); err != nil {
		return err
	}
	err := s.order(func() error { return s.DomainCreate(dom) })
	if isCode(err, golibvirt.ErrOperationInvalid) {
		if power, perr := s.power(dom); perr == nil && power == fleet.PowerRunning {
			return nil
		}
	}
	return err
}

// stayedOff judges a start or a removal that the daemon said it could not do: if the domain is there and still off, the
// order has failed beyond doubt. It need not be tried until a person is called, since the policy may know another way.
func (s *session) stayedOff(dom golibvirt.Domain, err error) error {
	code, answered := codeOf(err)
	f := (*fault.Error)(nil)
	if !answered || code == golibvirt.ErrOperationTimeout || !errors.As(err, &f) || f.Kind != fault.UnknownOutcome {
		return err
	}
	if power, perr := s.power(dom); perr != nil || power != fleet.PowerOff {
		return err
	}
	s.settled()
	return fault.New(fault.Permanent, s.op, s.subject, f.Err)
}

// cutPower destroys the domain's process. Code 55 means that there is none.
func (s *session) cutPower(dom golibvirt.Domain) error {
	state, reason, err := s.DomainGetState(dom, 0)
	if err != nil {
		return s.fault(err)
	}
	err = s.order(func() error {
		err := s.DomainDestroy(dom)
		if err != nil && isStarting(state, reason) {
			return fmt.Errorf(neverStarted, err, dom.Name)
		}
		return err
	})
	if isCode(err, golibvirt.ErrOperationInvalid) {
		return nil
	}
	return err
}

// neverStarted says how to get rid of a domain that a daemon was starting when it died, before it had written down the
// process. The next daemon believes in the start for ever, and refuses to end the domain.
const neverStarted = "%w; it is still starting: if libvirtd died while it started it, stop libvirtd on the host, " +
	"remove /run/libvirt/qemu/%s.xml there, and start it again"

func isStarting(state, reason int32) bool {
	return golibvirt.DomainState(state) == golibvirt.DomainPaused &&
		golibvirt.DomainPausedReason(reason) == golibvirt.DomainPausedStartingUp
}

// power asks for the domain's state.
func (s *session) power(dom golibvirt.Domain) (fleet.Power, error) {
	state, reason, err := s.DomainGetState(dom, 0)
	if err != nil {
		return fleet.PowerUnknown, s.fault(err)
	}
	power, _ := stateOf(state, reason)
	return power, nil
}

// find looks the domain up by its id.
func (s *session) find(id fleet.InstanceID) (golibvirt.Domain, error) {
	uuid, err := parseID(id)
	if err != nil {
		return golibvirt.Domain{}, s.invalid(err)
	}
	dom, err := s.DomainLookupByUUID(uuid)
	if err != nil {
		return dom, s.fault(err)
	}
	return dom, nil
}

// startable looks the domain up; an adopted one must not have come to bear a mark.
func (s *session) startable(ref provider.Ref) (golibvirt.Domain, error) {
	dom, err := s.find(ref.ID)
	if err == nil && ref.Adopted {
		err = s.unmarked(ref, dom)
	}
	return dom, err
}

// openMarked is open with the domain of ref, which bears the mark that ref names, or none where it is adopted.
func (p *Provider) openMarked(ctx context.Context, op string, ref provider.Ref) (*session, golibvirt.Domain, error) {
	_, s, err := p.open(ctx, op, ref)
	if err != nil {
		return nil, golibvirt.Domain{}, err
	}
	dom, err := s.marked(ref, p.installation)
	if err != nil {
		s.end()
		return nil, golibvirt.Domain{}, err
	}
	return s, dom, nil
}

// marked looks the domain up and refuses it unless it bears ref's mark now.
func (s *session) marked(ref provider.Ref, only fleet.Installation) (golibvirt.Domain, error) {
	dom, err := s.find(ref.ID)
	if err != nil {
		return dom, err
	}
	if ref.Adopted {
		return dom, s.unmarked(ref, dom)
	}
	mark, err := s.readMark(dom)
	if err != nil {
		return dom, err
	}
	if err := sameMark(ref.Mark, mark, only); err != nil {
		return dom, s.conflict(err)
	}
	return dom, nil
}

// unmarked refuses a domain that bears a mark, be it a damaged one. One that names another domain says only what this
// one is a copy of.
func (s *session) unmarked(ref provider.Ref, dom golibvirt.Domain) error {
	if ref.Mark != (fleet.Mark{}) {
		return s.conflict(errors.New("an adopted instance must not carry a mark"))
	}
	text, err := s.DomainGetMetadata(dom, int32(golibvirt.DomainMetadataElement), golibvirt.OptString{markSpace},
		golibvirt.DomainAffectCurrent)
	switch {
	case err == nil:
		if mark, damaged := decodeMark(text); damaged == nil && mark.Of(idOf(dom.UUID)) == (fleet.Mark{}) {
			return nil
		}
		return s.conflict(errors.New("it was adopted, and carries a mark now"))
	case isCode(err, golibvirt.ErrNoDomainMetadata):
		return nil
	}
	return s.fault(err)
}

// sameMark reports why an instance with mark has may not be touched by a caller who believes in want. An instance
// without a mark is never touched.
func sameMark(want, has fleet.Mark, only fleet.Installation) error {
	switch {
	case has.Installation == "":
		return errors.New("it bears no mark")
	case only != "" && has.Installation != only:
		return fmt.Errorf("its mark names another installation, %s", has.Installation)
	case want.Installation != has.Installation || want.Machine != has.Machine || want.Generation != has.Generation:
		return fmt.Errorf("its mark names %s generation %d of installation %s",
			has.Machine, has.Generation, has.Installation)
	}
	return nil
}
