// Package external is the adapter to any provider that hale has no adapter for: hale runs the operator's program once
// for each call. The program reads one JSON object from its standard input and writes one to its standard output. The
// contract is docs/reference/exec-provider.md.
//
// It promises what package provider's port demands of an adapter's own side. Every call ends with its context, and the
// program's whole process group with it. A change without a plain answer is fault.UnknownOutcome, whatever the program
// did. An answer outside the contract's closed sets is none. Output is bounded. The program gets secrets in its
// environment only, and hale hides them in all that the program says. It does not compare marks: the program does, in
// the same call.
package external

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/program"
	"hale/internal/provider"
	"hale/internal/secret"
)

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Watcher  = (*Provider)(nil)
	_ provider.Chooser  = (*Provider)(nil)

	_ provider.Resumer      = (*Provider)(nil)
	_ provider.SoftRebooter = (*Provider)(nil)
	_ provider.Keeper       = (*Provider)(nil)
	_ provider.Snapshotter  = (*Provider)(nil)
	_ provider.Rebuilder    = (*Provider)(nil)
	_ provider.Adjuster     = (*Provider)(nil)
	_ provider.GuestPinger  = (*Provider)(nil)

	_ provider.UsageReader   = (*Provider)(nil)
	_ provider.ConsoleReader = (*Provider)(nil)
	_ provider.Screenshooter = (*Provider)(nil)
	_ provider.StartReader   = (*Provider)(nil)
	_ provider.StartNoter    = (*Provider)(nil)
)

// Options are what New needs. The zero value of each but Command has a default.
type Options struct {
	// Command is the program and its arguments, the program by an absolute path.
	Command []string
	// Env is its environment beside a PATH; nothing else is handed down.
	Env []secret.Named
	// Timeout ends calls without a deadline in their context. Default: one minute.
	Timeout time.Duration
	// Parallel is how many programs run at once for calls that change something, and how many for those that read.
	// Default: 8.
	Parallel int
	// Strict makes a key in an answer that the contract does not know an error. Else it is logged once per operation.
	Strict bool
	// Logger receives what no caller can be told, and what the program writes to its standard error. Default: none.
	Logger *slog.Logger
	// Run runs the program. Default: program.Run.
	Run func(ctx context.Context, p program.Process) (code int, err error)
}

const (
	defaultTimeout  = time.Minute
	defaultParallel = 8
)

// Provider is the adapter. Its methods may be called at the same time.
type Provider struct {
	o              Options
	changes, reads chan struct{} // a place in them is a program that runs

	describing chan struct{} // a token for the call that asks what the program can do

	mu       sync.Mutex
	said     *description // nil: not known yet
	checked  map[operation]bool
	closed   bool
	underWay map[*context.CancelCauseFunc]bool
	calls    sync.WaitGroup
}

// New checks the options and makes the adapter. It runs nothing yet.
func New(o Options) (*Provider, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, fault.New(fault.Invalid, "external.new", "", errors.New("no program"))
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Parallel <= 0 {
		o.Parallel = defaultParallel
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Run == nil {
		o.Run = program.Run
	}
	return &Provider{
		o:          o,
		changes:    make(chan struct{}, o.Parallel),
		reads:      make(chan struct{}, o.Parallel),
		describing: make(chan struct{}, 1),
		checked:    map[operation]bool{},
		underWay:   map[*context.CancelCauseFunc]bool{},
	}, nil
}

// Close kills the programs that run, and returns when all of them have ended.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	for cancel := range p.underWay {
		(*cancel)(net.ErrClosed)
	}
	p.mu.Unlock()
	p.calls.Wait()
	return nil
}

// begin returns a context that ends with the adapter, too. The caller calls end.
func (p *Provider) begin(ctx context.Context) (_ context.Context, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, net.ErrClosed
	}
	own, cancel := context.WithCancelCause(ctx)
	p.underWay[&cancel] = true
	p.calls.Add(1)
	return own, func() {
		cancel(nil)
		p.mu.Lock()
		delete(p.underWay, &cancel)
		p.mu.Unlock()
		p.calls.Done()
	}, nil
}

// Describe asks the program what it is, once it has answered never again. Every other call does it, too, where it was
// not done.
func (p *Provider) Describe(ctx context.Context) (Description, error) {
	d, err := p.describe(ctx)
	if err != nil {
		return Description{}, err
	}
	return Description{Name: d.Name, Abilities: slices.Clone(d.Abilities)}, nil
}

// Description is what a program says of itself.
type Description struct {
	Name      string
	Abilities []string // words of the contract
}

func (p *Provider) describe(ctx context.Context) (*description, error) {
	if d := p.known(); d != nil {
		return d, nil
	}
	select { // one at a time: the others profit
	case p.describing <- struct{}{}:
		defer func() { <-p.describing }()
	case <-ctx.Done():
		return nil, fault.New(fault.Transient, "external.describe", "", ctx.Err())
	}
	if d := p.known(); d != nil {
		return d, nil
	}
	var d description
	if err := p.send(ctx, request{Operation: opDescribe}, &d); err != nil {
		return nil, err
	}
	if err := d.check(); err != nil {
		return nil, fault.New(fault.Invalid, "external.describe", "", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said = &d
	return &d, nil
}

func (p *Provider) known() *description {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said
}

// Has implements provider.Chooser.
func (p *Provider) Has(ability string) bool {
	d := p.known()
	word, optional := abilityWords[ability]
	return d == nil || !optional || slices.Contains(d.Abilities, word)
}

// call asks the program for something, if it says that it can, and reads the result into result.
func (p *Provider) call(ctx context.Context, r request, result any) error {
	d, err := p.describe(ctx)
	if err != nil {
		return p.because(r, err)
	}
	if word, optional := r.Operation.ability(); optional && !slices.Contains(d.Abilities, word) {
		return p.fail(r, fault.Unsupported, fmt.Errorf("the program does not have the ability %q", word))
	}
	if r.attachesDisks() && !slices.Contains(d.Abilities, abilityDisks) {
		return p.fail(r, fault.Unsupported,
			fmt.Errorf("the template has disks that outlive their instances, and the program does not have the "+
				"ability %q", abilityDisks))
	}
	return p.send(ctx, r, result)
}

// because says why a call was not sent: the program did not say what it is.
func (p *Provider) because(r request, err error) error {
	kind := fault.KindOf(err)
	if kind != fault.Invalid && kind != fault.Unauthorised {
		kind = fault.Transient
	}
	return p.fail(r, kind, err)
}

func (p *Provider) fail(r request, kind fault.Kind, err error) error {
	return fault.New(kind, "external."+string(r.Operation), r.subject(), err)
}

// send runs the program once.
func (p *Provider) send(ctx context.Context, r request, result any) error {
	ctx, end, err := p.begin(ctx)
	if err != nil {
		return p.fail(r, fault.Transient, err)
	}
	defer end()
	if _, limited := ctx.Deadline(); !limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.o.Timeout)
		defer cancel()
	}
	places := p.reads
	if r.Operation.changes() {
		places = p.changes
	}
	select {
	case places <- struct{}{}:
		defer func() { <-places }()
	case <-ctx.Done():
		return p.fail(r, fault.Transient, fmt.Errorf("no program was free: %w", context.Cause(ctx)))
	}
	return p.converse(ctx, r, result)
}

// converse runs the program and judges how it ended.
func (p *Provider) converse(ctx context.Context, r request, result any) error {
	deadline, _ := ctx.Deadline()
	r.Contract, r.Seconds = contractVersion, max(time.Until(deadline).Round(time.Millisecond).Seconds(), 0.001)
	env, secrets, err := secret.Environment(ctx, p.o.Env)
	if err != nil {
		return p.fail(r, fault.Unauthorised, err)
	}
	input, err := r.encode()
	if err != nil {
		return p.fail(r, fault.Invalid, err)
	}
	answer, said := &paper{most: longestAnswer}, p.ear(r, secrets, callLines)
	code, err := p.o.Run(ctx, program.Process{Args: p.o.Command, Env: env, Input: input, Output: answer, Errors: said})
	said.end()
	cause := context.Cause(ctx)
	var never program.NotStarted
	switch {
	case errors.As(err, &never):
		return p.fail(r, fault.Transient, fmt.Errorf("%s: %w", p.o.Command[0], err))
	case ctx.Err() != nil && (err != nil || !answer.whole()):
		return p.fail(r, r.unanswered(fault.Transient),
			fmt.Errorf("it was killed without an answer: %w%s", cause, said.last()))
	case answer.over:
		return p.fail(r, r.unanswered(fault.Permanent),
			fmt.Errorf("its answer is longer than %d MiB", longestAnswer>>20))
	case err != nil:
		return p.fail(r, r.unanswered(fault.Transient), fmt.Errorf("%w%s", err, said.last()))
	}
	return p.judge(r, reply{code: code, text: answer.text, said: said}, result)
}
