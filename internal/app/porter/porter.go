// Package porter lets callers of the API in by the network, as the configuration says, and has the audit note who does
// what.
//
// It promises that an edit of the configuration counts from the next request on, without a restart. Why it does not
// listen is a trouble of hale, and no reason to end.
package porter

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/access/openid"
	"hale/internal/access/pair"
	"hale/internal/access/token"
	"hale/internal/api/gate"
	"hale/internal/api/rest"
	"hale/internal/api/server"
	"hale/internal/config"
	"hale/internal/defect"
	"hale/internal/state"
)

// sweepEvery is the time from one look for what is long over to the next.
const sweepEvery = 10 * time.Minute

// Porter is at the door. A nil Porter is told of configurations, and does nothing.
type Porter struct {
	Book    *audit.Book
	store   state.Store
	log     *slog.Logger
	defects *defect.Register
	gate    *gate.Gate
	is      atomic.Pointer[config.API]
	last    *openid.Provider // of the configuration that is in force
}

// New makes a porter who lets nobody in yet.
func New(store state.Store, log *slog.Logger, defects *defect.Register) *Porter {
	p := &Porter{store: store, log: log, defects: defects, Book: audit.New(store, log)}
	p.gate = gate.New(gate.Options{
		Store: store, Logger: log, Refused: p.refused, Panics: defects.Witness(defect.Surface, ""),
	})
	return p
}

// refused notes a caller that was turned away at the gate.
func (p *Porter) refused(ctx context.Context, who access.Principal, operation string, said api.Problem) {
	r := audit.Of(who, operation)
	r.Request, r.Status, r.Why = rest.RequestOf(ctx), said.Status, said.Detail
	p.Book.Refuse(ctx, r)
}

// Take has the gate go by another configuration. What was made for the old one and still fits is kept. It is called by
// one goroutine at a time.
func (p *Porter) Take(c *config.Config) {
	if p == nil {
		return
	}
	was := p.is.Swap(&c.API)
	if c.API.Listen == "" {
		p.gate.Take(nil)
		return
	}
	a := c.API
	rules := &gate.Rules{
		Place: gate.Place{Listen: a.Listen, Certificate: a.Certificate, Key: a.Key, ClientCA: a.ClientCA},
		Names: a.Names, Certificates: map[string]access.Grant{}, Requests: a.Limits.Requests,
		Strangers: a.Limits.Strangers, Connections: a.Limits.Connections, Streams: a.Limits.Streams,
	}
	for _, r := range a.Certificates {
		rules.Certificates[r.Name] = r.Grant
	}
	if was == nil || !reflect.DeepEqual(was.OpenID, a.OpenID) {
		if p.last != nil {
			p.last.Close()
		}
		p.last = p.people(a.OpenID)
	}
	rules.OpenID = p.last
	p.gate.Take(rules)
}

// people is the OpenID provider of the configuration; nil: there is none.
func (p *Porter) people(o *config.OpenID) *openid.Provider {
	if o == nil {
		return nil
	}
	how := openid.Options{
		Issuer: o.Issuer, ClientID: o.ClientID, Secret: o.ClientSecret, Audience: o.Audience, GroupsClaim: o.GroupsClaim,
	}
	for _, r := range o.Roles {
		how.Roles = append(how.Roles, openid.Role{Group: r.Group, Email: r.Email, Grant: r.Grant})
	}
	made, err := openid.New(how)
	if err != nil {
		p.log.Error("people cannot sign in", "issuer", o.Issuer, "err", err)
		return nil
	}
	return made
}

// Risks are the acts that take a second person.
func (p *Porter) Risks() []access.Risk {
	if is := p.is.Load(); is != nil {
		return is.SecondPerson
	}
	return nil
}

// Door is where callers come in by the network.
func (p *Porter) Door() server.Door { return server.Door{Listener: p.gate, Guard: p.gate.Guard} }

// Run listens, and keeps what is stored of callers within its bounds, until ctx ends.
func (p *Porter) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for what, work := range map[string]func(context.Context){
		"the API on the network": p.gate.Run, "audit": p.Book.Run, "what is over of tokens": p.sweep,
	} {
		wg.Go(func() { p.defects.Keep(ctx, defect.Place{Part: defect.Surface, Name: what}, work) })
	}
	wg.Wait()
}

// sweep forgets what is long over, again and again until ctx ends.
func (p *Porter) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		now := time.Now()
		for what, sweep := range map[string]func(context.Context, state.Store, time.Time) error{
			"tokens": token.Sweep, "acts that waited for a second person": pair.Sweep,
		} {
			if err := sweep(ctx, p.store, now); err != nil && ctx.Err() == nil {
				p.log.Warn("what is over is kept longer than it should", "what", what, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Trouble is why the API is not on the network although it should be; false: it is.
func (p *Porter) Trouble() (api.Trouble, bool) {
	if p == nil {
		return api.Trouble{}, false
	}
	since, err := p.gate.Trouble()
	if err != nil {
		return api.Trouble{Part: api.TroubleAPI, Since: since.UTC(), Text: "the API is on the socket only: " + err.Error(),
			Advice: "see which program has the port (ss -ltnp), and whether hale may read api.tls; hale tries again by itself",
		}, true
	}
	return api.Trouble{}, false
}
