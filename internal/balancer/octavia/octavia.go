// Package octavia keeps a pool of Octavia, the load balancers of OpenStack clouds, by its API.
//
// A machine is the member of its own name. It serves with a weight, drains with weight 0, and is out when it is
// deleted, or disabled. An address cannot be changed there, so a machine that moved is a new member, and the old one
// goes. A weight that a person gave is given back to a member that serves again: while it drains, a tag of the member
// says the weight, and when it is out it is disabled with its tag, and not deleted. It promises that what it says was
// done is what Octavia shows afterwards, done by the load balancer and not only accepted. A load balancer takes one
// change at a time: what comes meanwhile waits, and is told again when its time is over. How many connections a member
// has Octavia does not tell.
package octavia

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/balancer"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider/openstack"
)

// Options are what a Pool is made of.
type Options struct {
	Name string // the balancer's, for errors
	// Pool is the pool's id, or its name.
	Pool string
	// Subnet is the id of the subnet from which the load balancer reaches members; empty: that of its own address.
	Subnet string
	// Weight is what a member gets that is to serve; one with another weight is left as it is.
	Weight int
}

// Service is Octavia, as a cloud's credentials lead there.
type Service interface {
	Ask(ctx context.Context, q openstack.Query) error
	Close()
}

// Pool is one pool.
type Pool struct {
	o       Options
	service Service
}

var _ balancer.Pool = (*Pool)(nil)

// New makes a pool, which closes the service. It connects to nothing yet.
func New(o Options, s Service) *Pool { return &Pool{o: o, service: s} }

// Close implements balancer.Pool.
func (p *Pool) Close() { p.service.Close() }

// member is one as Octavia has it.
type member struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Address      string `json:"address"`
	Port         uint16 `json:"protocol_port"`
	Weight       int    `json:"weight"`
	Enabled      bool   `json:"admin_state_up"`
	Provisioning string `json:"provisioning_status"`
	Operating    string `json:"operating_status"`
	// Tags are missing where the API is older than them (2.5).
	Tags *[]string `json:"tags"`
}

// Octavia's words for how far a change is, and for what it finds of a member.
const (
	pendingCreate = "PENDING_CREATE"
	pendingUpdate = "PENDING_UPDATE"
	pendingDelete = "PENDING_DELETE"
	failed        = "ERROR" // of a change, and of a member
	online        = "ONLINE"
)

func (m *member) at() netip.AddrPort {
	a, err := netip.ParseAddr(m.Address)
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a.Unmap(), m.Port)
}

// state is what Octavia was told of the member. One that is still being made gets nothing yet.
func (m *member) state() balancer.State {
	switch {
	case !m.Enabled, m.Provisioning == pendingCreate, m.Provisioning == pendingDelete:
		return balancer.Out
	case m.Weight == 0:
		return balancer.Draining
	}
	return balancer.Serving
}

// verdict is what its health monitor finds. Without one, and of a member that drains, it finds nothing out.
func (m *member) verdict() balancer.Verdict {
	switch m.Operating {
	case online:
		return balancer.Up
	case failed:
		return balancer.Down
	}
	return balancer.Unknown
}

func (m *member) pending() bool {
	return m.Provisioning == pendingCreate || m.Provisioning == pendingUpdate || m.Provisioning == pendingDelete
}

// Members implements balancer.Pool.
func (p *Pool) Members(ctx context.Context) ([]balancer.Member, error) {
	const op = "octavia.members"
	pool, err := p.find(ctx, op)
	if err != nil {
		return nil, err
	}
	all, err := p.list(ctx, op, pool)
	if err != nil {
		return nil, err
	}
	return joined(all), nil
}

// joined are the members by name. Those that share one, as when a move was broken off, are one that is not at any
// single address, so that it is put right: it serves where any of them does.
func joined(all []member) []balancer.Member {
	var out []balancer.Member
	for i := range all {
		m := &all[i]
		if m.Name == "" {
			continue // another's
		}
		is := balancer.Member{Name: fleet.MachineName(m.Name), At: m.at(), State: m.state(), Verdict: m.verdict(),
			Connections: balancer.UnknownConnections, Failed: m.Provisioning == failed}
		n := len(out) - 1
		if n < 0 || out[n].Name != is.Name {
			out = append(out, is)
			continue
		}
		out[n].At, out[n].Verdict, out[n].Failed = netip.AddrPort{}, balancer.Unknown, out[n].Failed || is.Failed
		if serves(is.State) > serves(out[n].State) {
			out[n].State = is.State
		}
	}
	return out
}

func serves(s balancer.State) int {
	return slices.Index([]balancer.State{balancer.Out, balancer.Draining, balancer.Serving}, s)
}

// lookEvery is the time from one look at a change to the next.
const lookEvery = 500 * time.Millisecond

// Set implements balancer.Pool: look, do the next thing that is missing, and look again, until all is as wanted. What
// did not help is not done again at once.
func (p *Pool) Set(ctx context.Context, name fleet.MachineName, w balancer.Want) error {
	const op = "octavia.set"
	if err := w.Check(op, name); err != nil {
		return err
	}
	pool, err := p.find(ctx, op)
	if err != nil {
		return err
	}
	told, last := false, ""
	for {
		all, err := p.list(ctx, op, pool)
		if err != nil {
			return p.after(told, op, name, err)
		}
		next, err := p.next(all, name, w)
		switch {
		case err != nil:
			return err
		case next == nil:
			return nil
		case next.Method == "":
			err = errors.New("the load balancer is still at work") // on this very member
		default:
			next.Op, next.Subject = op, string(name)
			next.Path = append([]string{"lbaas", "pools", pool, "members"}, next.Path...)
			err = p.service.Ask(ctx, *next)
		}
		is := next.Method + " " + strings.Join(next.Path, "/")
		again := is == last
		last = is
		switch {
		case err == nil && !again:
			told = true
			continue
		case err == nil: // what it was told went wrong
			told, err = true, errors.New("the load balancer did not do it")
		case next.Method == "", fault.Is(err, fault.Conflict): // it is busy with a change
		case next.Method != http.MethodPost && fault.Is(err, fault.NotFound): // it went meanwhile; the list tells
		default:
			return p.after(told, op, name, refused(op, name, err))
		}
		if !pause(ctx) {
			return p.after(told || next.Method == "", op, name, fault.New(fault.Transient, op, string(name), err))
		}
	}
}

// after returns the error of an order that failed in part: the load balancer took an earlier call of it.
func (p *Pool) after(told bool, op string, name fleet.MachineName, err error) error {
	if !told || fault.Is(err, fault.UnknownOutcome) {
		return err
	}
	return fault.New(fault.UnknownOutcome, op, string(name), errors.New("it was told, and then "+fault.Plain(err)))
}

// refused is the pool's word for what Octavia refused.
func refused(op string, name fleet.MachineName, err error) error {
	switch {
	case fault.Is(err, fault.Quota):
		return fault.New(fault.NotFound, op, string(name), err)
	case fault.Is(err, fault.Throttled), fault.Is(err, fault.Permanent):
		return fault.New(fault.Transient, op, string(name), err)
	}
	return err
}

func pause(ctx context.Context) bool {
	t := time.NewTimer(lookEvery)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// next is what is to be done to have the member be as wanted; nil: it is; without a method: to wait.
func (p *Pool) next(all []member, name fleet.MachineName, w balancer.Want) (*openstack.Query, error) {
	mine, rival := parted(all, name, w)
	if rival != nil {
		return rival.givesWay(name)
	}
	there := slices.IndexFunc(mine, func(m *member) bool { return m.at() == w.At && m.Provisioning != pendingDelete })
	for i, m := range mine {
		switch {
		case m.pending():
			return &openstack.Query{}, nil
		case w.State == balancer.Out && (i > 0 || m.Tags == nil || p.weightOf(m) == p.o.Weight):
			return remove(m), nil
		case w.State != balancer.Serving && (m.state() != w.State || m.Provisioning == failed),
			w.State == balancer.Serving && i == there && (m.state() != balancer.Serving || m.Provisioning == failed):
			return p.change(m, w.State), nil
		}
	}
	if w.State != balancer.Serving {
		return nil, nil //nolint:nilnil // nothing is to be done
	}
	if there < 0 {
		return p.create(name, w.At, mine), nil
	}
	if elsewhere := slices.IndexFunc(mine, func(m *member) bool { return m != mine[there] }); elsewhere >= 0 {
		return remove(mine[elsewhere]), nil // where it was before
	}
	return nil, nil //nolint:nilnil // it is as wanted
}

// parted returns the members of the name, and another that has the address at which the name is to serve.
func parted(all []member, name fleet.MachineName, w balancer.Want) (mine []*member, rival *member) {
	for i := range all {
		switch m := &all[i]; {
		case m.Name == string(name):
			mine = append(mine, m)
		case w.State == balancer.Serving && m.at() == w.At && m.Provisioning != pendingDelete:
			rival = m
		}
	}
	return mine, rival
}

// givesWay removes the member for another machine that has its address now, if it is out.
func (m *member) givesWay(to fleet.MachineName) (*openstack.Query, error) {
	if !m.Enabled && m.noted() != 0 {
		return remove(m), nil
	}
	return nil, fault.New(fault.Transient, "octavia.set", string(to),
		fmt.Errorf("member %s has its address and port", cmp.Or(m.Name, m.ID)))
}

func remove(m *member) *openstack.Query {
	return &openstack.Query{Method: http.MethodDelete, Path: []string{m.ID}, OK: []int{http.StatusNoContent}}
}

// change has the member be so. What a person gave it is noted as long as it does not show.
func (p *Pool) change(m *member, to balancer.State) *openstack.Query {
	is := map[string]any{"weight": 0, "admin_state_up": to != balancer.Out}
	note := ""
	switch weight := p.weightOf(m); {
	case to == balancer.Serving:
		is["weight"] = weight
	case weight != p.o.Weight:
		note = weightNote + strconv.Itoa(weight)
	}
	if tags, news := m.tagged(note); news {
		is["tags"] = tags
	}
	return &openstack.Query{Method: http.MethodPut, Path: []string{m.ID}, OK: []int{http.StatusOK},
		Body: map[string]any{"member": is}}
}

// create makes the member, with the weight that a person gave one of those that the machine has elsewhere.
func (p *Pool) create(name fleet.MachineName, at netip.AddrPort, mine []*member) *openstack.Query {
	weight := p.o.Weight
	for _, m := range mine {
		if is := p.weightOf(m); is != p.o.Weight {
			weight = is
		}
	}
	body := map[string]any{"name": name, "address": at.Addr().String(), "protocol_port": at.Port(), "weight": weight}
	if p.o.Subnet != "" {
		body["subnet_id"] = p.o.Subnet
	}
	return &openstack.Query{Method: http.MethodPost, OK: []int{http.StatusCreated},
		Body: map[string]any{"member": body}}
}

// weightOf is what the member has when it serves.
func (p *Pool) weightOf(m *member) int { return cmp.Or(m.Weight, m.noted(), p.o.Weight) }

// weightNote begins the tag with the weight of a member that does not show it.
const weightNote = "hale:weight="

// noted is the weight that its tag says; 0: none does.
func (m *member) noted() int {
	if m.Tags == nil {
		return 0
	}
	for _, t := range *m.Tags {
		if text, is := strings.CutPrefix(t, weightNote); is {
			if n, err := strconv.Atoi(text); err == nil && 0 < n && n <= heaviest {
				return n
			}
		}
	}
	return 0
}

// tagged returns the member's tags with the note, or with none, and whether they are others than it has.
func (m *member) tagged(note string) (tags []string, news bool) {
	if m.Tags == nil {
		return nil, false
	}
	tags = slices.DeleteFunc(slices.Clone(*m.Tags), func(t string) bool { return strings.HasPrefix(t, weightNote) })
	if note != "" {
		tags = append(tags, note)
	}
	return append([]string{}, tags...), !slices.Equal(tags, *m.Tags)
}

// find returns the id of the pool.
func (p *Pool) find(ctx context.Context, op string) (string, error) {
	if openstack.IsID(p.o.Pool) {
		return p.o.Pool, nil
	}
	var found struct {
		Pools []struct {
			ID string `json:"id"`
		} `json:"pools"`
	}
	err := p.ask(ctx, op, []string{"lbaas", "pools"}, url.Values{"name": {p.o.Pool}, "fields": {"id"}}, &found)
	switch {
	case err != nil:
		return "", err
	case len(found.Pools) == 0:
		return "", fault.New(fault.NotFound, op, p.o.Name, fmt.Errorf("the project has no pool %s", p.o.Pool))
	case len(found.Pools) > 1:
		return "", fault.New(fault.Invalid, op, p.o.Name, fmt.Errorf("the project has %d pools %s: write its id",
			len(found.Pools), p.o.Pool))
	}
	return found.Pools[0].ID, nil
}

// list returns the members, in the order of their names and addresses. Octavia has them all in one page, up to a limit
// of its operators; a page that has a next one is asked for again from the last id on.
func (p *Pool) list(ctx context.Context, op, pool string) ([]member, error) {
	var all []member
	var turned openstack.Turning
	for where := (url.Values{}); ; {
		var page struct {
			Members *[]member `json:"members"`
			Links   []struct {
				Rel string `json:"rel"`
			} `json:"members_links"`
		}
		if err := p.ask(ctx, op, []string{"lbaas", "pools", pool, "members"}, where, &page); err != nil {
			return nil, err
		}
		if page.Members == nil {
			return nil, fault.New(fault.Transient, op, p.o.Name, errors.New("its answer has no list of members"))
		}
		for _, m := range *page.Members {
			if !known(&m) {
				return nil, fault.New(fault.Transient, op, p.o.Name,
					errors.New("its answer has a member without an id, "+
						"an address or a status"))
			}
		}
		all = append(all, *page.Members...)
		more := false
		for _, l := range page.Links {
			more = more || l.Rel == "next"
		}
		if !more || len(*page.Members) == 0 {
			break
		}
		marker := all[len(all)-1].ID
		if err := turned.Over(marker); err != nil {
			return nil, fault.New(fault.Transient, op, p.o.Name, err)
		}
		where.Set("marker", marker)
	}
	slices.SortFunc(all, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.at().Compare(b.at()), cmp.Compare(a.ID, b.ID))
	})
	return all, nil
}

func known(m *member) bool { return m.ID != "" && m.at().IsValid() && m.Provisioning != "" }

// ask puts a question, which is never an order.
func (p *Pool) ask(ctx context.Context, op string, path []string, where url.Values, into any) error {
	err := p.service.Ask(ctx, openstack.Query{Op: op, Subject: p.o.Name, Method: http.MethodGet, Path: path,
		Where: where,
		Into:  into, OK: []int{http.StatusOK}})
	switch {
	case err == nil:
		return nil
	case fault.Is(err, fault.Unauthorised), fault.Is(err, fault.NotFound), fault.Is(err, fault.Unsupported),
		fault.Is(err, fault.Invalid), fault.Is(err, fault.Transient):
		return err
	}
	return fault.New(fault.Transient, op, p.o.Name, err)
}
