package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/invitation"
	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/active"
	"hale/internal/state/etcd"
	"hale/internal/state/format"
)

const (
	// standingWithin is how long a server may take to say how it finds itself.
	standingWithin = 3 * time.Second
	// farBehind is by how many entries of the log a server lags that is not up to date.
	farBehind = 1000
	// clocksApart is by how much clocks may differ unsaid.
	clocksApart = 5 * time.Second
)

// survey is what the servers of the cluster say now.
type survey struct {
	self    string
	all     []seen
	records map[string]Record
}

// seen is one server: what etcd and the record have of it, and what it answers; why says why it does not.
type seen struct {
	name string
	etcd.Peer
	says door.Standing
	late time.Duration // its clock, against this server's
	why  error
}

func (s seen) up() bool { return s.why == nil }

// look asks all servers. The error says that the cluster does not answer.
func (m *Member) look(ctx context.Context, store *etcd.Own) (survey, error) {
	all, err := records(ctx, store)
	f := survey{self: m.Name(), records: all, all: m.ask(ctx, store, all)}
	return f, err
}

func (m *Member) ask(ctx context.Context, store *etcd.Own, known map[string]Record) []seen {
	peers := store.Servers()
	out := make([]seen, len(peers))
	var asking sync.WaitGroup
	for i, p := range peers {
		out[i] = seen{name: nameOf(p, known), Peer: p}
		asking.Go(func() {
			defer m.Panics.Catch("question to a server", p.Address, nil)
			out[i].question(ctx, m)
		})
	}
	asking.Wait()
	slices.SortStableFunc(out, func(a, b seen) int { return strings.Compare(a.name, b.name) })
	return out
}

func (s *seen) question(ctx context.Context, m *Member) {
	s.why = errors.New("it was not asked to the end")
	if s.Address == m.papers.Advertise {
		s.says, s.why = m.Standing(ctx), nil
		return
	}
	ctx, cancel := context.WithTimeout(ctx, standingWithin)
	defer cancel()
	asked := time.Now()
	s.says, s.why = m.client.Standing(ctx, s.Address)
	if s.why == nil {
		s.late = s.says.Now.Sub(asked.Add(time.Since(asked) / 2))
	}
}

// nameOf is the server's name; of one that never ran etcd has none.
func nameOf(p etcd.Peer, known map[string]Record) string {
	for name, r := range known {
		if r.Address == p.Address {
			return name
		}
	}
	return p.Name
}

// answers reports whether the server does.
func (f survey) answers(name string) bool {
	return slices.ContainsFunc(f.all, func(s seen) bool { return s.name == name && s.up() })
}

// up returns where a server other than the named one answers that has a vote; best the one that leads.
func (f survey) up(but string) (address string, ok bool) {
	for _, s := range f.all {
		if s.name != but && s.up() && !s.Learner && s.says.Led && (address == "" || s.Leader) {
			address, ok = s.Address, true
		}
	}
	return address, ok
}

// votes counts the servers with a vote, and how many of those answer.
func (f survey) votes(but string) (all, up int) {
	for _, s := range f.all {
		if s.Learner || s.name == but {
			continue
		}
		all++
		if s.up() {
			up++
		}
	}
	return all, up
}

// without is nil if the others go on when the cluster lets the server go.
func (f survey) without(name string) error {
	const op = "cluster.dismiss"
	all, up := f.votes(name)
	switch {
	case all == 0:
		return fault.New(fault.Conflict, op, name, fmt.Errorf("%s is the only server with a vote: nobody would have "+
			"the state; to end hale for good, stop it", name))
	case up < all/2+1:
		return fault.New(fault.Conflict, op, name, fmt.Errorf("of the %d servers that would be left %d answer, and "+
			"the majority would be lost: bring the others up first (hale server list says which)", all, up))
	}
	return nil
}

// Standing implements door.House.
func (m *Member) Standing(context.Context) door.Standing {
	is := door.Standing{Name: m.Name(), Version: m.Version, Format: format.Current(), Now: time.Now()}
	store := m.store.Load()
	if store == nil {
		is.Trouble = "it is starting"
		return is
	}
	p := store.Progress()
	is.Led, is.Applied, is.Committed = store.Led(), p.Applied, p.Committed
	if room, err := store.Space(); err == nil {
		is.Free = room.Free
	}
	is.Trouble = m.Full()
	if r := m.hears.Load(); r != nil {
		for _, e := range r.eyes() {
			if e.Server {
				is.Eyes = append(is.Eyes, door.Eye{Name: e.Name, Since: e.Since, Heard: e.Heard, Silent: e.Silent,
					But: e.But})
			}
		}
	}
	return is
}

// Servers implements door.House. Of a cluster without a majority it says what this server knows.
func (m *Member) Servers(ctx context.Context) (door.Servers, error) {
	store := m.store.Load()
	if store == nil {
		return door.Servers{}, fault.New(fault.Transient, "cluster.list", m.Name(), errors.New("it is starting"))
	}
	out := door.Servers{Cluster: m.papers.Cluster, Majority: true}
	f, err := m.look(ctx, store)
	if err != nil {
		out.Majority, out.Unknown = false, "the majority of the servers is out of touch: none can store anything, so "+
			"none acts ("+fault.Plain(err)+")"
	}
	offices := map[string]office{}
	if err == nil {
		offices, err = officesOf(ctx, store)
	}
	if err == nil {
		out.Invited, err = pending(ctx, store)
	}
	if err != nil && out.Unknown == "" {
		out.Unknown = fault.Plain(err)
	}
	votes, up := f.votes("")
	out.May = max(0, up-(votes/2+1))
	far, eyes := uint64(0), map[string]*door.Eye{}
	for _, s := range f.all {
		far = max(far, s.says.Committed)
		for _, e := range s.says.Eyes {
			eyes[e.Name] = &e
		}
	}
	for _, s := range f.all {
		is := m.describe(s, offices[s.name], far)
		is.Eye = eyes[s.name]
		out.Servers = append(out.Servers, is)
	}
	return out, nil
}

// office is what a server is in the store.
type office struct {
	role  string
	since time.Time
	unfit string
}

func officesOf(ctx context.Context, store state.Store) (map[string]office, error) {
	out := map[string]office{}
	waiting, err := active.StandBy(ctx, store)
	if err != nil {
		return out, err
	}
	for _, s := range waiting {
		out[s.Name] = office{"standby", s.Since, s.Unfit}
	}
	is, some, err := active.Is(ctx, store)
	if err == nil && some {
		out[is.Name] = office{role: "active", since: is.Since}
	}
	return out, err
}

func pending(ctx context.Context, store state.Store) ([]door.Pending, error) {
	entries, _, err := store.List(ctx, invitationPrefix)
	if err != nil {
		return nil, err
	}
	var out []door.Pending
	for _, e := range entries {
		var k invitation.Kept
		if err := json.Unmarshal(e.Value, &k); err != nil {
			return nil, fault.New(fault.Permanent, "cluster.read", e.Key, err)
		}
		if time.Now().Before(k.Expires) {
			out = append(out, door.Pending{Name: e.Key[len(invitationPrefix):], Expires: k.Expires})
		}
	}
	return out, nil
}

func (m *Member) describe(s seen, o office, far uint64) door.Server {
	out := door.Server{Name: s.name, Address: s.Address, Role: o.role, Since: o.since, But: o.unfit, Vote: "voter",
		State: "up", Version: s.says.Version, Here: s.Address == m.papers.Advertise}
	switch {
	case s.Learner:
		out.Vote = "learner"
	case s.Leader:
		out.Vote = "leader"
	}
	switch {
	case !s.up():
		out.State, out.But = "away", fault.Plain(s.why)
	case s.says.Trouble != "":
		out.But = s.says.Trouble
	case !s.says.Led:
		out.State, out.But = "cut off", "it hears no leader"
	case far > s.says.Applied+farBehind:
		out.State, out.But = "behind", fmt.Sprintf("it lacks %d entries of the log", far-s.says.Applied)
	case s.late.Abs() > clocksApart:
		out.But = fmt.Sprintf("its clock differs by %v from this server's", s.late.Round(time.Second))
	}
	return out
}
