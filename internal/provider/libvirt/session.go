package libvirt

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// maxIdle is how many connections a host keeps for later operations.
const maxIdle = 4

var (
	errClosed  = errors.New("the provider is closed")
	errRetired = errors.New("the connection is no longer needed")
)

// host is one hypervisor with its connections.
type host struct {
	name  fleet.HostName
	place fleet.Place
	addr  reach
	facts factCache

	agents agents
	// own is the host's address, as it was last connected to.
	own atomic.Pointer[netip.Addr]

	mu       sync.Mutex
	idle     []*link
	sessions map[*session]bool
	closed   bool
}

func newHost(o HostOptions, addr reach) *host {
	h := &host{name: o.Name, place: o.Place, addr: addr, sessions: map[*session]bool{}}
	h.addr.met = func(a netip.Addr) { h.own.Store(&a) }
	return h
}

// address returns the host's own address; invalid: hale has not connected to it yet.
func (h *host) address() netip.Addr {
	if a := h.own.Load(); a != nil {
		return *a
	}
	return netip.Addr{}
}

// session is one operation under way on a host. It has a connection for itself, so cutting it when the operation's
// context ends harms no other, and it knows whether the operation may have changed something.
type session struct {
	*link
	host    *host
	op      string
	subject string
	doubt   bool // a change was sent and its effect is not known
	cancel  context.CancelFunc
	unhook  func() bool
}

// noLimit is for operations that watch over their time themselves.
const noLimit time.Duration = 0

// open starts an operation; the caller ends it. The returned context is the operation's: it ends with ctx, after limit
// when ctx has no deadline, and with the host's close. An error means that nothing was sent.
func (h *host) open(ctx context.Context, limit time.Duration, op, subject string) (context.Context, *session, error) {
	s := &session{host: h, op: op, subject: subject}
	if _, bounded := ctx.Deadline(); bounded || limit == noLimit {
		ctx, s.cancel = context.WithCancel(ctx)
	} else {
		ctx, s.cancel = context.WithTimeout(ctx, limit)
	}
	if err := s.begin(ctx); err != nil {
		s.cancel()
		h.leave(s)
		return nil, nil, s.fault(err)
	}
	return ctx, s, nil
}

// begin finds the session a connection that ends with ctx.
func (s *session) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l, err := s.host.enter(s)
	if err == nil && l == nil {
		l, err = connect(ctx, s.host.addr)
	}
	if err != nil {
		return err
	}
	s.link = l
	s.unhook = context.AfterFunc(ctx, func() { l.wire.cut(context.Cause(ctx)) })
	return nil
}

// end gives the connection back, or gives it up when it was cut.
func (s *session) end() {
	if !s.unhook() {
		s.wire.cut(context.Canceled) // the context ended: the cut is under way already
	}
	s.cancel()
	switch cause := s.wire.whyCut(); {
	case cause == nil:
		s.host.keep(s.link)
	case !errors.Is(cause, errRetired):
		s.host.suspect()
	}
	s.host.leave(s)
}

// enter registers the session and returns an idle connection if there is one.
func (h *host) enter(s *session) (*link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	h.sessions[s] = true
	for len(h.idle) > 0 {
		l := h.idle[len(h.idle)-1]
		h.idle = h.idle[:len(h.idle)-1]
		if l.wire.whyCut() == nil {
			return l, nil
		}
	}
	return nil, nil
}

func (h *host) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s)
}

// keep makes the connection available for later operations.
func (h *host) keep(l *link) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.idle) >= maxIdle {
		l.wire.cut(errRetired)
		return
	}
	h.idle = append(h.idle, l)
}

// suspect gives up the idle connections: one to the same daemon has just failed, and a dead peer shows only in use.
func (h *host) suspect() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.idle {
		l.wire.cut(errRetired)
	}
	h.idle = nil
}

func (h *host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// close ends what is under way and all connections, for good.
func (h *host) close() {
	h.suspect()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.sessions {
		s.cancel()
	}
}

// order sends a change that may have taken effect even when the daemon refuses it with an internal or system error.
func (s *session) order(change func() error) error { return s.send(change, false) }

// write sends a change that is all or nothing: when the daemon reports an error, nothing was done.
func (s *session) write(change func() error) error { return s.send(change, true) }

func (s *session) send(change func() error, atomic bool) error {
	if cause := s.wire.whyCut(); cause != nil {
		return s.fault(cause)
	}
	before := s.doubt
	s.doubt = true
	err := change()
	if err == nil {
		return nil
	}
	kind, answered := kindOf(err)
	if errors.Is(err, syscall.EINVAL) || answered && (atomic || kind != "") {
		s.doubt = before
	}
	if atomic && kind == "" && answered && !s.doubt {
		return fault.New(fault.Permanent, s.op, s.subject, err)
	}
	return s.fault(err)
}

// settled says that all changes of the session so far are known to be done, or undone.
func (s *session) settled() { s.doubt = false }

// fault classifies an error of any call of the session.
func (s *session) fault(err error) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return err
	}
	kind, _ := kindOf(err)
	switch {
	case s.doubt:
		kind = fault.UnknownOutcome
	case kind == "":
		kind = fault.Transient
	}
	if s.link != nil {
		if cause := s.wire.whyCut(); cause != nil && !errors.Is(err, cause) {
			err = errors.Join(cause, err)
		}
	}
	return fault.New(kind, s.op, s.subject, err)
}

// conflict makes a refusal by the adapter itself.
func (s *session) conflict(err error) error { return fault.New(fault.Conflict, s.op, s.subject, err) }

// codeOf returns the daemon's error code, and whether err is the daemon's answer.
func codeOf(err error) (golibvirt.ErrorNumber, bool) {
	var answer golibvirt.Error // the client returns values, not pointers
	if !errors.As(err, &answer) {
		return 0, false
	}
	return golibvirt.ErrorNumber(answer.Code), true //nolint:gosec // codes are small
}

// isCode reports whether the daemon answered with the code.
func isCode(err error, code golibvirt.ErrorNumber) bool {
	c, ok := codeOf(err)
	return ok && c == code
}

// kindOf returns the kind of an error where its code says it beyond doubt, and whether the daemon answered at all.
func kindOf(err error) (fault.Kind, bool) {
	code, answered := codeOf(err)
	if !answered {
		switch {
		case errors.Is(err, golibvirt.ErrUnsupported):
			return fault.Unsupported, true
		case errors.Is(err, fs.ErrPermission), errors.As(err, new(*distrust)):
			return fault.Unauthorised, false
		}
		return "", false
	}
	switch code {
	case golibvirt.ErrNoDomain:
		return fault.NotFound, true
	case golibvirt.ErrAuthFailed, golibvirt.ErrAuthCancelled, golibvirt.ErrAuthUnavailable,
		golibvirt.ErrAccessDenied, golibvirt.ErrOperationDenied:
		return fault.Unauthorised, true
	case golibvirt.ErrNoSupport, golibvirt.ErrConfigUnsupported, golibvirt.ErrOperationUnsupported,
		golibvirt.ErrArgumentUnsupported:
		return fault.Unsupported, true
	case golibvirt.ErrXMLError, golibvirt.ErrXMLDetail, golibvirt.ErrXMLInvalidSchema, golibvirt.ErrInvalidArg,
		golibvirt.ErrOsType, golibvirt.ErrInvalidMac, golibvirt.ErrNoNetwork, golibvirt.ErrNoStoragePool,
		golibvirt.ErrNoStorageVol, golibvirt.ErrOverflow:
		return fault.Invalid, true
	case golibvirt.ErrNoMemory, golibvirt.ErrResourceBusy, golibvirt.ErrOperationInvalid:
		return fault.Transient, true
	case golibvirt.ErrSystemError:
		if tapTaken(err) {
			return fault.Transient, true
		}
	}
	return "", true
}

// tapTaken reports whether the daemon found the name for a tap device taken. Two daemons of one host that start a domain
// at once can choose the same free name; one of them gets EBUSY and starts nothing. EBUSY of other calls says less:
// "Failed to terminate process: Device or resource busy" means that a killed domain may still end. The daemon has no
// code for it, only words.
func tapTaken(err error) bool {
	var answer golibvirt.Error
	return errors.As(err, &answer) && strings.Contains(answer.Message, "create tap device") &&
		strings.HasSuffix(answer.Message, ": Device or resource busy")
}
