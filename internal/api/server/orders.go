package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/access/pair"
	"hale/internal/api/naming"
	"hale/internal/api/rest"
	"hale/internal/api/rights"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/state/inbox"
	"hale/internal/state/journal"
	"hale/internal/state/once"
)

// Limits of an order over the API.
const (
	orderBytes   = 16 << 10         // of a request's body
	longestAwait = 30 * time.Second // for an owner to take it up
	mostOrders   = 100              // at once, so that they fit into one transaction
	// how long, and how often, what follows from an order that was taken up is looked for
	followsWithin, readsAgain = 2 * time.Second, 20 * time.Millisecond
)

// order takes a person's order, stores it, and answers when its owner took it up, or when the time to wait is over.
func (s *Server) order(ctx context.Context, in *rest.Asked[api.OrderRequest]) (api.Orders, error) {
	wanted, revision, err := posted(ctx)
	if err == nil && revision == 0 {
		if wanted, err = s.wanted(ctx, in.Body, in.Dry); err != nil {
			return api.Orders{}, err
		}
		if !in.Dry {
			if err := s.admitted(ctx, wanted); err != nil {
				return api.Orders{}, err
			}
		}
		// what a recovery finds its owner says, wherever that is
		if in.Dry && in.Body.Kind != string(fleet.OrderRecover) {
			return api.Orders{Orders: s.try(ctx, wanted)}, nil
		}
		revision, err = s.post(ctx, wanted, wanted)
	}
	if err != nil {
		return api.Orders{}, err
	}
	out := s.await(ctx, wanted, revision, in.Body.Wait)
	return api.Orders{Orders: out}, occupied(out)
}

// admitted refuses orders for which something is occupied, and keeps those that take a second person.
func (s *Server) admitted(ctx context.Context, orders []fleet.Order) error {
	if err := s.free(orders); err != nil {
		return err
	}
	return s.agreed(ctx, orders)
}

// risky are the orders that can take a second person.
var risky = map[fleet.OrderKind]access.Risk{
	fleet.OrderDelete: access.RiskDelete, fleet.OrderConfirm: access.RiskConfirm,
	fleet.OrderBrakeOff: access.RiskBrakeOff, fleet.OrderRolloutMend: access.RiskConfirm,
}

// agreed keeps orders that take a second person, and notes what they are about.
func (s *Server) agreed(ctx context.Context, orders []fleet.Order) error {
	var about []string
	var risk access.Risk
	for i := range orders {
		o := &orders[i]
		for _, name := range []string{string(o.Fleet), string(o.Machine), string(o.Host), o.Plan} {
			if name != "" && !slices.Contains(about, name) {
				about = append(about, name)
			}
		}
		audit.About(ctx, "order "+string(o.ID), string(o.Kind))
		if !o.DryRun {
			risk = risky[o.Kind]
		}
	}
	audit.About(ctx, about...)
	return s.hold(ctx, risk, about...)
}

// hold keeps the call if it takes a second person.
func (s *Server) hold(ctx context.Context, risk access.Risk, about ...string) error {
	return rights.Hold(ctx, pair.Rule{Store: s.opts.Store, Risks: s.opts.Risks}, risk, about...)
}

// post posts the orders that are all that a call does. The stage is what it is to know when it is asked again.
func (s *Server) post(ctx context.Context, orders []fleet.Order, stage any) (int64, error) {
	letters, err := inbox.Letters(orders...)
	if err != nil {
		return 0, err
	}
	return once.Commit(ctx, s.opts.Store, letters, stage)
}

// posted returns what the same call posted when it was made before, and at which revision. 0: it posted nothing.
func posted(ctx context.Context) ([]fleet.Order, int64, error) {
	var orders []fleet.Order
	revision, err := once.Stage(ctx, &orders)
	return orders, revision, err
}

// try says what would become of the orders, and has no effect.
func (s *Server) try(ctx context.Context, orders []fleet.Order) []api.Ordered {
	out := make([]api.Ordered, 0, len(orders))
	for i := range orders {
		o := &orders[i]
		would := ordered(o)
		would.State = api.OrderUntried
		if s.opts.Try != nil {
			ruling, records, tried := s.opts.Try(ctx, *o)
			for _, r := range records {
				would.Events = append(would.Events, view.Event(r))
			}
			switch {
			case !tried:
			case ruling.Refused != "":
				would.State, would.Refused, would.Until = api.OrderRefused, s.refusal(ruling.Refused, o.Fleet),
					ruling.Until
			default:
				would.State = api.OrderTaken
			}
		}
		out = append(out, would)
	}
	return out
}

func ordered(o *fleet.Order) api.Ordered {
	return api.Ordered{
		ID: string(o.ID), Kind: string(o.Kind), Fleet: string(o.Fleet), Machine: string(o.Machine),
		Host: string(o.Host), By: o.By, State: api.OrderPending, Events: []api.Event{},
	}
}

// await waits so long for the orders to be taken up, and tells what became of each.
func (s *Server) await(ctx context.Context, orders []fleet.Order, revision int64, wait api.Duration) []api.Ordered {
	ctx, cancel := context.WithTimeout(ctx, min(longestAwait, time.Duration(max(0, wait))))
	defer cancel()
	out := make([]api.Ordered, 0, len(orders))
	for i := range orders {
		done, err := s.tookUp(ctx, &orders[i], revision)
		if err != nil {
			s.opts.Logger.Warn("what became of an order is not known", "order", orders[i].ID, "err", err)
		}
		out = append(out, done)
	}
	return out
}

// tookUp waits until the order was taken up or refused, and tells what follows from it.
func (s *Server) tookUp(ctx context.Context, o *fleet.Order, revision int64) (api.Ordered, error) {
	out := ordered(o)
	if err := inbox.Await(ctx, s.opts.Store, o, revision); err != nil {
		if ctx.Err() != nil {
			err = nil // no owner took it up in time
		}
		return out, err
	}
	out.State = api.OrderTaken
	records, err := s.followed(context.WithoutCancel(ctx), o)
	for _, r := range records {
		if r.Kind == record.Order && r.Reason != "" {
			out.State, out.Refused, out.Until = api.OrderRefused, s.refusal(r.Reason, o.Fleet), r.Until
			if r.Occupied != nil {
				out.Refused.Text = prose.Occupied(r.Occupied, r.At)
			}
		}
		out.Events = append(out.Events, view.Event(r))
	}
	return out, err
}

// refusal says why an order is refused. A brake that a person put on does not release by itself: it is said who put it
// on, when, and what ends it.
func (s *Server) refusal(why fleet.Reason, name fleet.Name) api.Reason {
	out := view.Reason(why, "")
	if why != fleet.ReasonBrake {
		return out
	}
	for _, f := range s.opts.Status() {
		if b := f.Brake; f.Spec.Name == name && b.By != "" {
			out.Text = prose.ByHand(b.By, b.Words) + " " + prose.Span(max(0, f.Now.Wall.Sub(b.At))) + " ago"
			out.Advice = prose.LetGo(name)
		}
	}
	return out
}

// followed returns what the journal has of the order, which was taken up. A recovery says how many machines fail, and
// what follows for each of them is stored after that: it is waited for.
func (s *Server) followed(ctx context.Context, o *fleet.Order) ([]record.Record, error) {
	limit := time.NewTimer(followsWithin)
	defer limit.Stop()
	again := time.NewTicker(readsAgain)
	defer again.Stop()
	for {
		records, _, err := journal.Read(ctx, s.opts.Store, o.Fleet)
		records = slices.DeleteFunc(records, func(r record.Record) bool { return r.Order != o.ID })
		failing, told := 0, map[fleet.MachineName]bool{}
		for _, r := range records {
			if r.Machine != "" {
				told[r.Machine] = true
			} else if r.Kind == record.Found {
				failing = r.Failing
			}
		}
		if err != nil || len(told) >= failing {
			return records, err
		}
		select {
		case <-again.C:
		case <-limit.C:
			return records, nil
		}
	}
}

// wanted makes the orders of a request: one for each fleet that it concerns.
func (s *Server) wanted(ctx context.Context, q api.OrderRequest, dry bool) ([]fleet.Order, error) {
	if fleet.OrderKind(q.Kind).Notes() {
		return nil, rest.BadRequest("that is asked of /v1/fences/off and /v1/fences/uncut: " +
			"what is noted of it is what was done")
	}
	status := s.seen(ctx, access.Viewer)
	if err := confirmsWorld(&q, status); err != nil {
		return nil, err
	}
	subjects := q.Subjects
	if len(subjects) == 0 {
		for _, f := range s.seen(ctx, access.Operator) {
			subjects = append(subjects, string(f.Spec.Name))
		}
	}
	now := time.Now().UTC()
	var out []fleet.Order
	for _, text := range subjects {
		about, err := resolve(text, status)
		if err != nil {
			return nil, err
		}
		for _, o := range about {
			if err := rest.May(ctx, access.Operator, o.Fleet); err != nil {
				return nil, err
			}
			if o.ID, err = once.OrderID(ctx, strconv.Itoa(len(out))); err != nil {
				return nil, err
			}
			o.DryRun = dry && q.Kind == string(fleet.OrderRecover)
			if err := fill(ctx, &o, &q, now); err != nil {
				return nil, rest.BadRequest(text + ": " + err.Error())
			}
			out = append(out, o)
		}
	}
	if len(out) > mostOrders {
		return nil, rest.BadRequest(fmt.Sprintf("these are %d orders; give at most %d at once", len(out), mostOrders))
	}
	return out, nil
}

// fill writes into an order, which has its subject, what the caller requests. An error says what is wrong with it.
func fill(ctx context.Context, o *fleet.Order, q *api.OrderRequest, now time.Time) error {
	o.Kind, o.By, o.Reason, o.At = fleet.OrderKind(q.Kind), rest.SpokenFor(ctx, q.As), q.Reason, now
	o.For, o.All, o.Only = time.Duration(q.For), q.All, fleet.HoldScope(q.Only)
	o.Plan, o.Size, o.Believe, o.Signal = q.Plan, q.Size, q.Believe, q.Signal
	o.Change = fleet.SizeChange{By: q.Change, Percent: q.Percent, AtLeast: q.AtLeast}
	o.Word, o.Hook, o.Copy = fleet.HookWord(q.Word), fleet.HookID(q.Hook), fleet.SnapshotID(q.Copy)
	if o.Kind == fleet.OrderFenced {
		o.Proof = fleet.ProofWord // a person's word is never the proof of a power controller
	}
	if o.Kind.PermitsHarm() {
		o.Expires = now.Add(fleet.OrderLife)
	}
	return o.Check()
}

// resolve finds what a subject names: a fleet, a machine, or a host in each fleet that its provider serves.
func resolve(text string, status []published.Fleet) ([]fleet.Order, error) {
	if name, ok := strings.CutPrefix(text, api.HostWord); ok {
		return resolveHost(text, name, status)
	}
	text, err := naming.Meant(text, status)
	if err != nil {
		return nil, err
	}
	if _, numbered := fleet.MachineName(text).Ordinal(); numbered {
		return resolveMachine(fleet.MachineName(text), status)
	}
	var names []string
	for _, f := range status {
		if string(f.Spec.Name) == text {
			return []fleet.Order{{Fleet: f.Spec.Name}}, nil
		}
		names = append(names, string(f.Spec.Name))
	}
	return nil, api.UnknownFleet(text, names)
}

func resolveMachine(name fleet.MachineName, status []published.Fleet) ([]fleet.Order, error) {
	var names []string
	for _, f := range status {
		n, _ := name.Ordinal()
		// its owner says whether there is such a machine: people may have ordered more
		unseen := f.Acting == fleet.ReasonNotOwner
		if f.Spec.Name == name.Fleet() &&
			(n <= f.Spec.Size || unseen && n <= fleet.LargestSize ||
				slices.ContainsFunc(f.Machines, func(v situation.View) bool { return v.Machine.Name == name })) {
			return []fleet.Order{{Fleet: f.Spec.Name, Machine: name}}, nil
		}
		for n := range f.Spec.Size {
			names = append(names, string(f.Spec.Name.Machine(n+1)))
		}
		names = append(names, naming.Aliases(f)...)
	}
	return nil, naming.UnknownMachine(name, names)
}

// unknownMachine says that there is no machine of the name, and which names are near.
// resolveHost finds the fleets of the host's provider. A server that does not own a fleet has not asked for its hosts:
// then the owner says whether it knows the host.
func resolveHost(text, name string, status []published.Fleet) ([]fleet.Order, error) {
	provider, host, named := strings.Cut(name, "/")
	if !named {
		provider, host = "", name
	}
	var out []fleet.Order
	var names []string
	of := map[fleet.ProviderName]bool{}
	for _, f := range status {
		if provider != "" && string(f.Spec.Provider) != provider {
			continue
		}
		for _, h := range f.Hosts {
			if name := api.HostWord + string(h.Name); h.Name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if host != "" &&
			(len(f.Hosts) == 0 ||
				slices.ContainsFunc(f.Hosts, func(h fleet.Host) bool { return string(h.Name) == host })) {
			of[f.Spec.Provider] = true
			out = append(out, fleet.Order{Fleet: f.Spec.Name, Host: fleet.HostName(host)})
		}
	}
	switch {
	case len(out) == 0:
		return nil, api.Unknown(api.CodeUnknownHost, "host "+host, text, names)
	case len(of) > 1:
		return nil, rest.BadRequest(text +
			": several providers have, or may have, a host of that name: write host:PROVIDER/" + host)
	}
	return out, nil
}
