package etcd

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"

	"hale/internal/core/fault"
)

// Peer is one server of hale's own cluster.
type Peer struct {
	ID      uint64
	Name    string // empty: it never ran
	Address string
	Learner bool // it copies the state, and has no vote yet
	Leader  bool
}

// Servers are those of the cluster, as far as this one knows, sorted by name.
func (o *Own) Servers() []Peer {
	server := o.member.etcd.Server
	var all []Peer
	for _, m := range server.Cluster().Members() {
		all = append(all, Peer{ID: uint64(m.ID), Name: m.Name, Address: addressOf(m), Learner: m.IsLearner,
			Leader: m.ID == server.Leader()})
	}
	slices.SortFunc(all, func(a, b Peer) int { return strings.Compare(a.Name+a.Address, b.Name+b.Address) })
	return all
}

func addressOf(m *membership.Member) string {
	for _, text := range m.PeerURLs {
		if at, err := url.Parse(text); err == nil {
			return at.Host
		}
	}
	return ""
}

// Self is this server, as far as it knows; false: the cluster has let it go.
func (o *Own) Self() (Peer, bool) {
	id := uint64(o.member.etcd.Server.MemberID())
	all := o.Servers()
	i := slices.IndexFunc(all, func(p Peer) bool { return p.ID == id })
	if i < 0 {
		return Peer{}, false
	}
	return all[i], true
}

// Leads reports whether this server leads the cluster.
func (o *Own) Leads() bool {
	server := o.member.etcd.Server
	return server.Leader() == server.MemberID()
}

// HandLead hands the lead to the server of the id, and returns when that one leads. An error says that it does not lead
// yet.
func (o *Own) HandLead(ctx context.Context, to uint64) error {
	server := o.member.etcd.Server
	if err := server.MoveLeader(ctx, uint64(server.MemberID()), to); err != nil {
		return fault.New(fault.Transient, "cluster.lead", "", err)
	}
	return nil
}

// Led reports whether the cluster has a leader that this server hears.
func (o *Own) Led() bool { return o.member.etcd.Server.Leader() != 0 }

// Progress is how far this server has come.
type Progress struct {
	Applied   uint64 // entries of the log
	Committed uint64
}

// Progress says it.
func (o *Own) Progress() Progress {
	server := o.member.etcd.Server
	return Progress{Applied: server.AppliedIndex(), Committed: server.CommittedIndex()}
}

// errUnready is why the servers of a cluster do not change now.
var errUnready = errors.New("not all servers of the cluster have been in touch for five seconds, or another change " +
	"is under way")

// changed explains why the servers of the cluster did not change.
func (o *Own) changed(ctx context.Context, err error, op, subject string) error {
	switch {
	case errors.Is(err, rpctypes.ErrMemberNotFound):
		return fault.New(fault.NotFound, op, subject, nil)
	case errors.Is(err, rpctypes.ErrPeerURLExist), errors.Is(err, rpctypes.ErrMemberExist),
		errors.Is(err, rpctypes.ErrGRPCMemberExist), errors.Is(err, rpctypes.ErrGRPCPeerURLExist):
		return fault.New(fault.Conflict, op, subject, errors.New("a server of the cluster has that address"))
	case errors.Is(err, rpctypes.ErrGRPCUnhealthy), errors.Is(err, rpctypes.ErrUnhealthy),
		errors.Is(err, rpctypes.ErrGRPCMemberNotEnoughStarted), errors.Is(err, rpctypes.ErrMemberNotEnoughStarted),
		errors.Is(err, rpctypes.ErrGRPCLearnerNotReady), errors.Is(err, rpctypes.ErrMemberLearnerNotReady),
		errors.Is(err, rpctypes.ErrGRPCTooManyLearners), errors.Is(err, rpctypes.ErrTooManyLearners):
		return fault.New(fault.Transient, op, subject, errors.Join(errUnready, err))
	}
	return o.explain(ctx, err, writing, op, subject)
}

// Admit adds a server that copies the state, and gets a vote by Promote.
//
// fault.Conflict: a server has the address. fault.Transient: not now.
func (o *Own) Admit(ctx context.Context, address string) error {
	const op = "state.admit"
	at := urlOf(address)
	_, err := await(ctx, o.calls, func(ctx context.Context) (*clientv3.MemberAddResponse, error) {
		return o.client.MemberAddAsLearner(ctx, []string{at.String()})
	})
	if err != nil {
		return o.changed(ctx, err, op, address)
	}
	return nil
}

// Promote gives this server its vote. fault.Transient: it has not caught up.
func (o *Own) Promote(ctx context.Context) error {
	id := uint64(o.member.etcd.Server.MemberID())
	_, err := await(ctx, o.calls, func(ctx context.Context) (*clientv3.MemberPromoteResponse, error) {
		return o.client.MemberPromote(ctx, id)
	})
	if err != nil {
		return o.changed(ctx, err, "state.promote", o.membership.Name)
	}
	return nil
}

// HandOver has another server lead the cluster in the place of this one.
func (o *Own) HandOver(ctx context.Context, to Peer) error {
	_, err := await(ctx, o.calls, func(ctx context.Context) (*clientv3.MoveLeaderResponse, error) {
		return o.client.MoveLeader(ctx, to.ID)
	})
	if err != nil {
		return o.changed(ctx, err, "state.hand-over", to.Address)
	}
	return nil
}

// Dismiss lets another server of the cluster go. fault.NotFound: it is none. fault.Transient: not now.
func (o *Own) Dismiss(ctx context.Context, p Peer) error {
	_, err := await(ctx, o.calls, func(ctx context.Context) (*clientv3.MemberRemoveResponse, error) {
		return o.client.MemberRemove(ctx, p.ID)
	})
	if err != nil {
		return o.changed(ctx, err, "state.dismiss", p.Address)
	}
	return nil
}

// Here returns whether this server's own copy has the key: an answer that needs no majority, and may be old.
func (o *Own) Here(ctx context.Context, key string) (bool, error) {
	resp, err := await(ctx, o.calls, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return o.client.Get(ctx, key, clientv3.WithSerializable(), clientv3.WithCountOnly())
	})
	if err != nil {
		return false, o.explain(ctx, err, reading, "state.here", key)
	}
	return resp.Count > 0, nil
}
