// Package named answers about holds that have names of their owners': as a tool declares them that owns what it makes.
//
// It promises that a name is one hold's in the whole installation, that what was declared comes back in the same words,
// at once and from every server, and that it is changed only as it was seen by its owner. What holds is in the beliefs
// of the fleets; the declaration lies beside, and is stored with the orders that follow from it.
package named

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/api/rest"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/inbox"
	"hale/internal/state/once"
)

// Holds answers the calls.
type Holds struct {
	Store state.Store
	// Seen are the fleets in which the caller has the role, and Resolve finds what a subject names among them.
	Seen    func(ctx context.Context, r access.Role) []published.Fleet
	Resolve func(subject string, among []published.Fleet) ([]fleet.Order, error)
	// Await waits until the owners took the orders up that were posted at the revision, and Try asks what they would
	// make of them.
	Await func(ctx context.Context, orders []fleet.Order, revision int64, wait api.Duration) []api.Ordered
	Try   func(ctx context.Context, orders []fleet.Order) []api.Ordered
}

// holdsRoot is where lies what the owners of named holds wish for. What is in force is in their fleets' beliefs.
const holdsRoot = "holds/"

// wish is a named hold as it lies in the store.
type wish struct {
	api.HoldWish
	Name  fleet.HoldName
	By    string
	Given time.Time
	Parts []part
}

// part is the order by which it holds in one fleet.
type part struct {
	Order   fleet.OrderID
	Fleet   fleet.Name
	Machine fleet.MachineName `json:",omitempty"`
	Host    fleet.HostName    `json:",omitempty"`
}

// kept is a wish as it was read.
type kept struct {
	wish
	revision int64 // 0: there is none
	parts    []api.HoldPart
}

// inForce reports whether it holds anything, or will.
func (k kept) inForce() bool {
	return slices.ContainsFunc(k.parts, func(p api.HoldPart) bool { return p.State != api.HoldEnded })
}

func (k kept) view() api.NamedHold {
	return api.NamedHold{
		Name: string(k.Name), HoldWish: k.HoldWish, By: k.By, Given: k.Given,
		Revision: strconv.FormatInt(k.revision, 10),
		Parts:    k.parts,
	}
}

// readHold returns the named hold with how it stands; one that holds nothing any more has its revision only.
func (s *Holds) readHold(ctx context.Context, name string) (kept, error) {
	e, err := s.Store.Get(ctx, holdsRoot+name)
	if fault.Is(err, fault.NotFound) {
		return kept{}, nil
	}
	if err != nil {
		return kept{}, err
	}
	return s.openHold(ctx, e)
}

func (s *Holds) openHold(ctx context.Context, e state.Entry) (kept, error) {
	k := kept{revision: e.Revision}
	if err := json.Unmarshal(e.Value, &k.wish); err != nil {
		return k, fault.New(fault.Permanent, "named.hold", e.Key, err)
	}
	for _, p := range k.Parts {
		stands, err := s.standsPart(ctx, p)
		if err != nil {
			return k, err
		}
		k.parts = append(k.parts, stands)
	}
	return k, nil
}

// standsPart says how a part stands. An order leaves the inbox in the transaction that stores what follows from it: who
// reads in this turn sees one of both.
func (s *Holds) standsPart(ctx context.Context, p part) (api.HoldPart, error) {
	out := api.HoldPart{
		Fleet: string(p.Fleet), Machine: string(p.Machine), Host: string(p.Host), State: api.HoldPending,
	}
	letters, _, err := inbox.Pending(ctx, s.Store, p.Fleet)
	if err != nil || slices.ContainsFunc(letters, func(l inbox.Letter) bool { return l.Order.ID == p.Order }) {
		return out, err
	}
	out.State = api.HoldEnded
	holds, err := beliefs.Holds(ctx, s.Store, p.Fleet)
	for _, h := range holds {
		if h.Order == p.Order {
			out.State, out.Until = api.HoldHeld, h.Until
		}
	}
	return out, err
}

// sees reports whether the caller may see the hold: a part of it is in a fleet in which it is a viewer.
func sees(ctx context.Context, k kept) bool {
	p := access.Of(ctx)
	return slices.ContainsFunc(k.Parts, func(q part) bool { return p.May(access.Viewer, q.Fleet) })
}

func (s *Holds) allHolds(ctx context.Context) ([]kept, error) {
	entries, _, err := s.Store.List(ctx, holdsRoot)
	if err != nil {
		return nil, err
	}
	var all []kept
	for _, e := range entries {
		k, err := s.openHold(ctx, e)
		if err != nil {
			return nil, err
		}
		all = append(all, k)
	}
	return all, nil
}

// List returns those that the caller may see.
func (s *Holds) List(ctx context.Context, _ *rest.Nothing) (api.NamedHolds, error) {
	all, err := s.allHolds(ctx)
	out := api.NamedHolds{Holds: []api.NamedHold{}}
	for _, k := range all {
		if k.inForce() && sees(ctx, k) {
			out.Holds = append(out.Holds, k.view())
		}
	}
	return out, err
}

// Sweep forgets the names whose holds are over.
func (s *Holds) Sweep(ctx context.Context) error {
	all, err := s.allHolds(ctx)
	for _, k := range all {
		key := holdsRoot + string(k.Name)
		if err == nil && !k.inForce() {
			_, err = s.Store.Commit(ctx, state.Txn{
				If: []state.Compare{state.At(key, k.revision)}, Then: []state.Write{state.Delete(key)},
			})
			if fault.Is(err, fault.Conflict) {
				err = nil // it is used anew
			}
		}
	}
	return err
}

// holdNamed is what is asked by a hold's name.
type holdNamed struct {
	Name string `path:"name" maxLength:"100"`
}

// Current is a named hold with its revision.
type Current struct {
	Revision string `header:"ETag" doc:"The hold's revision."`
	Body     api.NamedHold
}

// Get returns one.
func (s *Holds) Get(ctx context.Context, in *holdNamed) (*Current, error) {
	k, err := s.readHold(ctx, in.Name)
	if err == nil && (!k.inForce() || !sees(ctx, k)) {
		err = s.unknownHold(ctx, in.Name)
	}
	if err != nil {
		return nil, err
	}
	return &Current{Revision: k.view().ETag(), Body: k.view()}, nil
}

func (s *Holds) unknownHold(ctx context.Context, name string) error {
	all, err := s.List(ctx, nil)
	if err != nil {
		return err
	}
	var known []string
	for _, h := range all.Holds {
		known = append(known, h.Name)
	}
	return api.Unknown(api.CodeUnknownHold, "hold "+name, name, known)
}

// putting has a hold of a name be so.
type putting struct {
	rest.Repeatable
	Name    string `path:"name" maxLength:"100" pattern:"^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"`
	IfMatch string `header:"If-Match" maxLength:"50" doc:"The revision that was seen."`
	IfNone  string `header:"If-None-Match" enum:"*" doc:"There must be no hold of the name."`
	Wait    string `query:"wait" pattern:"^[0-9]+(s|ms)$" maxLength:"8" doc:"How long to wait for the owners of the fleets."`
	Body    api.HoldWish
}

// heldSo is how far a change of a named hold came, for when it is asked again.
type heldSo struct {
	Wish   wish
	Orders []fleet.Order
	own    bool // nobody else's hold is changed by it
}

// Put has one be so.
func (s *Holds) Put(ctx context.Context, in *putting) (api.NamedHold, error) {
	audit.About(ctx, "hold "+in.Name, in.Body.Subject)
	var so heldSo
	if revision, err := once.Stage(ctx, &so); err != nil || revision > 0 {
		return s.became(ctx, so, revision, in.Wait, err)
	}
	before, err := s.readHold(ctx, in.Name)
	if err == nil {
		err = fits(in, before)
	}
	if err != nil {
		return api.NamedHold{}, err
	}
	if before.inForce() && before.HoldWish == in.Body && sees(ctx, before) {
		return before.view(), nil // it is so already
	}
	if so, err = s.wishes(ctx, in, before); err != nil {
		return api.NamedHold{}, err
	}
	if in.Dry {
		return so.made(before.revision, s.Try(ctx, so.Orders))
	}
	revision, err := s.commitHold(ctx, in.Name, before, so)
	return s.became(ctx, so, revision, in.Wait, err)
}

// became waits for the owners of the fleets, and returns what they made of the hold.
func (s *Holds) became(ctx context.Context, so heldSo, revision int64, wait string, err error) (api.NamedHold, error) {
	if err != nil {
		return api.NamedHold{}, err
	}
	return so.made(revision, s.Await(ctx, so.Orders, revision, waitOf(wait)))
}

// waitOf reads how long to wait; the document keeps out what is none.
func waitOf(text string) api.Duration {
	d, _ := time.ParseDuration(text)
	return api.Duration(d)
}

// fits refuses what does not have the conditions of its caller.
func fits(in *putting, is kept) error {
	tag := ""
	if is.inForce() {
		tag = is.view().ETag()
	}
	if in.IfNone != "" && tag != "" {
		return api.NewProblem(api.CodePrecondition, "there is a hold "+in.Name+" already, and If-None-Match is *")
	}
	return rest.Matches(in.IfMatch, tag)
}

// wishes makes what is asked for: a hold in each fleet that it concerns, and the release of what it was in others.
func (s *Holds) wishes(ctx context.Context, in *putting, before kept) (heldSo, error) {
	lasts, err := time.ParseDuration(in.Body.For)
	if err != nil {
		return heldSo{}, rest.BadRequest("for: " + err.Error())
	}
	so := heldSo{Wish: wish{HoldWish: in.Body, Name: fleet.HoldName(in.Name), By: access.Of(ctx).Name,
		Given: time.Now().UTC()}, own: !before.inForce() || before.By == access.Of(ctx).Name}
	about, err := s.Resolve(in.Body.Subject, s.Seen(ctx, access.Viewer))
	if err != nil {
		return so, err
	}
	held := map[fleet.Name]bool{}
	for _, o := range about {
		held[o.Fleet], o.Kind, o.Name, o.For, o.Only = true, fleet.OrderHold, so.Wish.Name, lasts,
			fleet.HoldScope(in.Body.Only)
		if err := so.add(ctx, o); err != nil {
			return so, err
		}
		so.Wish.Parts = append(so.Wish.Parts, part{so.Orders[len(so.Orders)-1].ID, o.Fleet, o.Machine, o.Host})
	}
	err = so.release(ctx, before, held)
	return so, err
}

// release adds the releases of what the hold is in other fleets.
func (so *heldSo) release(ctx context.Context, before kept, but map[fleet.Name]bool) error {
	gone := map[fleet.Name]bool{}
	for _, p := range before.Parts {
		gone[p.Fleet] = !but[p.Fleet]
	}
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		if !gone[name] {
			continue
		}
		o := fleet.Order{Kind: fleet.OrderRelease, Name: so.Wish.Name, Fleet: name,
			Expires: so.Wish.Given.Add(fleet.OrderLife)}
		if err := so.add(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// may refuses what the caller may not do in the order's fleet: who is merely a holder there may place a hold for a
// while, and end its own.
func (so *heldSo) may(ctx context.Context, o *fleet.Order) error {
	p := access.Of(ctx)
	if p.May(access.Operator, o.Fleet) || !p.May(access.Holder, o.Fleet) {
		return rest.May(ctx, access.Operator, o.Fleet)
	}
	switch {
	case !so.own:
		return api.NewProblem(api.CodeForbidden, p.Name+" is holder in fleet "+string(o.Fleet)+
			", and hold "+string(so.Wish.Name)+" is another's")
	case o.For > access.LongestQuiet:
		return api.NewProblem(api.CodeForbidden, p.Name+" is holder in fleet "+string(o.Fleet)+
			": its holds last at most "+access.LongestQuiet.String()+"; put it again before it ends")
	}
	return nil
}

func (so *heldSo) add(ctx context.Context, o fleet.Order) error {
	if err := so.may(ctx, &o); err != nil {
		return err
	}
	var err error
	if o.ID, err = once.OrderID(ctx, string(o.Kind)+"/"+string(o.Fleet)); err != nil {
		return err
	}
	o.By, o.Reason, o.At = so.Wish.By, so.Wish.Reason, so.Wish.Given
	if err := o.Check(); err != nil {
		return rest.BadRequest(err.Error())
	}
	so.Orders = append(so.Orders, o)
	return nil
}

// commitHold stores the wish and posts its orders, if the hold is still as it was read.
func (s *Holds) commitHold(ctx context.Context, name string, before kept, so heldSo) (int64, error) {
	txn, err := inbox.Letters(so.Orders...)
	if err != nil {
		return 0, err
	}
	key := holdsRoot + name
	txn.If = append(txn.If, state.At(key, before.revision))
	data, err := json.Marshal(so.Wish)
	if err != nil {
		return 0, err
	}
	if len(so.Wish.Parts) > 0 {
		txn.Then = append(txn.Then, state.Put(key, data))
	} else {
		txn.Then = append(txn.Then, state.Delete(key))
	}
	revision, err := once.Commit(ctx, s.Store, txn, so)
	if fault.Is(err, fault.Conflict) {
		return 0, api.NewProblem(api.CodePrecondition, "hold "+name+" was changed meanwhile")
	}
	return revision, err
}

// made is the hold as the owners of its fleets made it. If none of them took it up, it is none.
func (so *heldSo) made(revision int64, orders []api.Ordered) (api.NamedHold, error) {
	k := kept{wish: so.Wish, revision: revision, parts: []api.HoldPart{}}
	var refused []string
	for _, o := range orders {
		p := api.HoldPart{Fleet: o.Fleet, Machine: o.Machine, Host: o.Host, State: api.HoldPending}
		switch {
		case o.State == api.OrderRefused:
			p.State, p.Refused = api.HoldEnded, o.Refused
		case o.State == api.OrderTaken && o.Kind == string(fleet.OrderHold):
			p.State = api.HoldHeld
			lasts, _ := time.ParseDuration(so.Wish.For) // it was read before
			p.Until = so.Wish.Given.Add(lasts)
		case o.State == api.OrderTaken:
			p.State = api.HoldEnded
		}
		if o.Kind == string(fleet.OrderHold) && p.Refused.Code != "" {
			refused = append(refused, o.Fleet+": "+p.Refused.Text)
		}
		k.parts = append(k.parts, p)
	}
	if len(refused) > 0 && !k.inForce() {
		return k.view(), rest.Refused("nothing is held: " + strings.Join(refused, "; "))
	}
	return k.view(), nil
}

// deleting releases a hold of a name.
type deleting struct {
	rest.Repeatable
	Name    string `path:"name" maxLength:"100"`
	IfMatch string `header:"If-Match" maxLength:"50" doc:"The revision that was seen."`
	Wait    string `query:"wait" pattern:"^[0-9]+(s|ms)$" maxLength:"8" doc:"How long to wait for the owners of the fleets."`
}

// Delete releases one.
func (s *Holds) Delete(ctx context.Context, in *deleting) (api.NamedHold, error) {
	audit.About(ctx, "hold "+in.Name)
	var so heldSo
	if revision, err := once.Stage(ctx, &so); err != nil || revision > 0 {
		return s.became(ctx, so, revision, in.Wait, err)
	}
	before, err := s.readHold(ctx, in.Name)
	if err == nil {
		if !before.inForce() || !sees(ctx, before) {
			return api.NamedHold{}, s.unknownHold(ctx, in.Name)
		}
		err = rest.Matches(in.IfMatch, before.view().ETag())
	}
	if err != nil {
		return api.NamedHold{}, err
	}
	so.own = before.By == access.Of(ctx).Name
	so.Wish = wish{HoldWish: before.HoldWish, Name: before.Name, By: access.Of(ctx).Name, Given: time.Now().UTC()}
	if err := so.release(ctx, before, nil); err != nil {
		return api.NamedHold{}, err
	}
	if in.Dry {
		return so.made(before.revision, s.Try(ctx, so.Orders))
	}
	revision, err := s.commitHold(ctx, in.Name, before, so)
	return s.became(ctx, so, revision, in.Wait, err)
}
