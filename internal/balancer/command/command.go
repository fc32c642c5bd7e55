// Package command keeps a pool by a program on hale's side: for load balancers that hale does not know.
//
// It promises that the program is run without a shell, and with nothing of hale's environment but a PATH; that only
// what it lists afterwards proves that it did as told; that a program which takes too long is killed with all that it
// started; that what it prints is bounded; and that no secret of its environment is in any error.
package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/notify"
	"hale/internal/program"
	"hale/internal/secret"
)

// Options are what a Pool is made of.
type Options struct {
	Name    string // the balancer's, for errors
	Command []string
	Env     []secret.Named
}

// Pool runs one program.
type Pool struct{ o Options }

var _ balancer.Pool = (*Pool)(nil)

// New makes a pool. It runs nothing yet.
func New(o Options) *Pool { return &Pool{o} }

// Close implements balancer.Pool: nothing is open.
func (p *Pool) Close() {}

const (
	// exitNoRoom is the program's word that there is no such pool, or no room for the member.
	exitNoRoom = 4
	// longestOutput bounds what is read of its output, in bytes, and longestErrors of what it complains about.
	longestOutput = 1 << 20
	longestErrors = 4 << 10
)

// Members implements balancer.Pool.
func (p *Pool) Members(ctx context.Context) ([]balancer.Member, error) {
	const op = "command.members"
	said, err := p.run(ctx, op, balancer.Question{Action: balancer.List})
	if fault.Is(err, fault.UnknownOutcome) {
		return nil, p.fail(fault.Transient, op, "", fault.Plain(err))
	}
	if err != nil {
		return nil, err
	}
	all, err := balancer.ParseMembers([]byte(said))
	if err != nil {
		return nil, p.fail(fault.Transient, op, "", err.Error())
	}
	return all, nil
}

// Set implements balancer.Pool.
func (p *Pool) Set(ctx context.Context, name fleet.MachineName, w balancer.Want) error {
	const op = "command.set"
	if err := w.Check(op, name); err != nil {
		return err
	}
	if _, err := p.run(ctx, op, balancer.Ordered(name, w)); err != nil {
		return err
	}
	return balancer.Confirm(ctx, p, op, name, w)
}

func (p *Pool) fail(kind fault.Kind, op string, name fleet.MachineName, why string) error {
	subject := p.o.Name
	if name != "" {
		subject = string(name)
	}
	return fault.New(kind, op, subject, errors.New(strings.TrimSpace(why)))
}

// run asks the program, and returns what it printed.
func (p *Pool) run(ctx context.Context, op string, q balancer.Question) (string, error) {
	env, hidden, err := secret.Environment(ctx, p.o.Env)
	if err != nil {
		return "", err
	}
	env = append(env, "HALE_ACTION="+string(q.Action))
	if q.Action == balancer.Put {
		env = append(env, "HALE_MEMBER="+string(q.Member), "HALE_STATE="+string(q.State), "HALE_ADDRESS="+q.Address,
			"HALE_PORT="+strconv.Itoa(int(q.Port)))
	}
	said, complaint := &program.Head{Most: longestOutput}, &program.Head{Most: longestErrors}
	code, err := program.Run(ctx, program.Process{Args: p.o.Command, Env: env, Output: said, Errors: complaint})
	var never program.NotStarted
	switch clean := notify.Clean(complaint.String(), hidden...); {
	case ctx.Err() != nil:
		return "", p.fail(fault.UnknownOutcome, op, q.Member, "its time was over, and it was killed "+clean)
	case errors.As(err, &never):
		kind, why := never.Judge()
		return "", p.fail(kind, op, "", why)
	case err != nil:
		return "", p.fail(fault.UnknownOutcome, op, q.Member, err.Error())
	case code < 0:
		return "", p.fail(fault.UnknownOutcome, op, q.Member, "a signal killed it "+clean)
	case code == exitNoRoom:
		return "", p.fail(fault.NotFound, op, q.Member, "there is no such pool, or no room: "+clean)
	case code > 0:
		return "", p.fail(fault.Transient, op, q.Member, fmt.Sprintf("exit code %d %s", code, clean))
	}
	return said.String(), nil
}
