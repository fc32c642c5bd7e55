package libvirt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/provider"
)

// The daemon waits for an agent by its own limit: five seconds for the greeting alone, whatever the caller asks.
// Meanwhile one of its few workers is taken. So there is at most one question per domain, and agentsAtOnce per host; a
// second caller waits for the same answer. A question goes on when its caller gives up: cutting the connection would
// not end it at the daemon.
const (
	agentsAtOnce = 8
	// agentLimit is after what time a question is given up for good: the daemon waits no longer for greeting and
	// answer.
	agentLimit = 20 * time.Second
	agentPing  = `{"execute":"guest-ping"}`
	// errAgentCommandTimeout is VIR_ERR_AGENT_COMMAND_TIMEOUT, which the client does not know yet.
	errAgentCommandTimeout golibvirt.ErrorNumber = 112
	// aliveShare is the part of the asker's time that is kept for the question whether the daemon still answers.
	aliveShare = 4
)

var (
	errAgentSilent = errors.New("the guest's agent does not answer")
	errAgentsBusy  = fmt.Errorf("%d guests of the host are being asked and do not answer", agentsAtOnce)
)

// agents are a host's questions to guest agents that are under way.
type agents struct {
	mu     sync.Mutex
	asking map[fleet.InstanceID]*asking
}

// asking is one question; err is there when over is closed.
type asking struct {
	over chan struct{}
	err  error
}

// PingGuest asks QEMU's guest agent. When it does not answer, hale asks the daemon for the instance's state. If the
// daemon answers that at once, the agent is silent; if not, the daemon is, and nothing is known of the agent
// (fault.Transient).
func (p *Provider) PingGuest(ctx context.Context, ref provider.Ref) error {
	const op = "libvirt.ping-guest"
	h, err := p.host(op, ref)
	if err != nil {
		return err
	}
	started, limit := time.Now(), p.callLimit
	if deadline, bounded := ctx.Deadline(); bounded {
		limit = deadline.Sub(started)
	}
	q := h.agents.ask(ref.ID, func() error { return p.askAgent(context.WithoutCancel(ctx), h, op, ref.ID) })
	if q == nil {
		return fault.New(fault.Transient, op, string(ref.ID), errAgentsBusy)
	}
	patience := time.NewTimer(limit - limit/aliveShare)
	defer patience.Stop()
	select {
	case <-q.over:
		return q.err
	case <-ctx.Done():
		return fault.New(fault.Transient, op, string(ref.ID), context.Cause(ctx))
	case <-patience.C:
	}
	return p.silent(ctx, op, ref)
}

// silent says what it means that no answer came.
func (p *Provider) silent(ctx context.Context, op string, ref provider.Ref) error {
	_, s, err := p.open(ctx, op, ref)
	if err != nil {
		return err
	}
	defer s.end()
	dom, err := s.find(ref.ID)
	if err != nil {
		return err
	}
	if _, err := s.power(dom); err != nil {
		return err
	}
	return s.conflict(errAgentSilent)
}

// ask joins the question to the instance's agent that is under way, or puts one. Nil: too many are.
func (a *agents) ask(id fleet.InstanceID, put func() error) *asking {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q, under := a.asking[id]; under {
		return q
	}
	if len(a.asking) >= agentsAtOnce {
		return nil
	}
	if a.asking == nil {
		a.asking = map[fleet.InstanceID]*asking{}
	}
	q := &asking{over: make(chan struct{})}
	a.asking[id] = q
	// Owned by the host: it ends with agentLimit, or when the provider is closed. A panic is the error that the one who
	// asked gets.
	go func() {
		q.err = defect.Try(put)
		a.mu.Lock()
		delete(a.asking, id)
		a.mu.Unlock()
		close(q.over)
	}()
	return q
}

// askAgent puts the question and waits for the daemon's answer.
func (p *Provider) askAgent(ctx context.Context, h *host, op string, id fleet.InstanceID) error {
	_, s, err := h.open(ctx, agentLimit, op, string(id))
	if err != nil {
		return err
	}
	defer s.end()
	dom, err := s.find(id)
	if err != nil {
		return err
	}
	_, err = s.QEMUDomainAgentCommand(dom, agentPing, int32(golibvirt.DomainAgentResponseTimeoutDefault), 0)
	switch {
	case err == nil:
		return nil
	case isCode(err, golibvirt.ErrAgentUnresponsive), isCode(err, golibvirt.ErrAgentUnsynced),
		isCode(err, errAgentCommandTimeout):
		return s.conflict(err)
	case isCode(err, golibvirt.ErrOperationInvalid):
		if power, perr := s.power(dom); perr == nil && power != fleet.PowerRunning {
			return s.conflict(fmt.Errorf("its state is %q", power))
		}
	}
	return s.fault(err)
}
