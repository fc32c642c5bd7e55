package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/invitation"
	"hale/internal/cluster/papers"
	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/etcd"
	"hale/internal/state/format"
)

// Keys of the cluster's own, which go into no backup.
const (
	recordPrefix     = state.ClusterPrefix + "servers/"     // a record by name
	invitationPrefix = state.ClusterPrefix + "invitations/" // what is kept of one, by name
	gonePrefix       = state.ClusterPrefix + "gone/"        // by the id of a server that the cluster let go
)

const (
	// invitedFor is how long an invitation is good.
	invitedFor = time.Hour
	longestFor = 7 * 24 * time.Hour
	// changeWithin is how long a change of servers may wait until the others are in touch.
	changeWithin = 20 * time.Second
)

// Record is what the cluster knows of one of its servers.
type Record struct {
	ID, Address, Version string
	Format               int // the newest format of the state that it reads
}

// ready is the store, once this server has its vote.
func (m *Member) ready() (*etcd.Own, error) {
	store := m.store.Load()
	if store != nil {
		if is, listed := store.Self(); listed && !is.Learner {
			return store, nil
		}
	}
	return nil, fault.New(fault.Transient, "cluster.ask", m.Name(),
		errors.New("it is not yet one of the cluster: ask another server, or this one a little later"))
}

// read reads what lies at the key into the value; its revision is 0 where there is none.
func read(ctx context.Context, store state.Store, key string, into any) (revision int64, err error) {
	e, err := store.Get(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(e.Value, into); err != nil {
		return 0, fault.New(fault.Permanent, "cluster.read", key, err)
	}
	return e.Revision, nil
}

// put is the write of a value.
func put(key string, value any) (state.Write, error) {
	data, err := json.Marshal(value)
	return state.Put(key, data), err
}

// register has the cluster know this server's version.
func (m *Member) register(ctx context.Context, store *etcd.Own) error {
	want := Record{ID: m.papers.ID, Address: m.papers.Advertise, Version: m.Version, Format: format.Current()}
	var is Record
	at, err := read(ctx, store, recordPrefix+m.Name(), &is)
	if err != nil || is == want {
		return err
	}
	if at != 0 && is.ID != want.ID {
		return fault.New(fault.NotFound, "cluster.member", m.Name(), errRemoved)
	}
	w, err := put(recordPrefix+m.Name(), want)
	if err != nil {
		return err
	}
	_, err = store.Commit(ctx, state.Txn{If: []state.Compare{state.At(recordPrefix+m.Name(), at)},
		Then: []state.Write{w}})
	if fault.Is(err, fault.NoSpace) {
		return nil // its last record stands
	}
	return err
}

// records returns what the cluster knows of its servers, by name.
func records(ctx context.Context, store state.Store) (map[string]Record, error) {
	entries, _, err := store.List(ctx, recordPrefix)
	if err != nil {
		return nil, err
	}
	all := map[string]Record{}
	for _, e := range entries {
		var r Record
		if err := json.Unmarshal(e.Value, &r); err != nil {
			return nil, fault.New(fault.Permanent, "cluster.read", e.Key, err)
		}
		all[e.Key[len(recordPrefix):]] = r
	}
	return all, nil
}

// Unread says which server does not read the format that this one would bring the state to; empty: all do.
func Unread(ctx context.Context, store state.Store) (string, error) {
	mark, err := format.Read(ctx, store)
	if err != nil || mark.Format >= format.Current() {
		return "", err
	}
	all, err := records(ctx, store)
	if err != nil {
		return "", err
	}
	for name, r := range all {
		if r.Format < format.Current() {
			return fmt.Sprintf("it would bring the state from format %d to %d, which %s (hale %s) does not read: "+
				"upgrade "+
				"that server first, or let it go with hale server replace %s", mark.Format, format.Current(), name,
				r.Version, name), nil
		}
	}
	return "", nil
}

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9._-]{0,61}[a-zA-Z0-9])?$`)

// checkName is fault.Invalid for what no server can be called.
func checkName(name string) error {
	if namePattern.MatchString(name) {
		return nil
	}
	return fault.New(fault.Invalid, "cluster.name", name, fmt.Errorf("%q cannot be a server's name: it has up to 63 "+
		"letters, digits, dots, - and _, and begins and ends with a letter or digit", name))
}

// taken is fault.Conflict if a server of the cluster has the name.
func taken(ctx context.Context, store *etcd.Own, name string) error {
	all, err := records(ctx, store)
	if err != nil {
		return err
	}
	is, known := all[name]
	if !known && !slices.ContainsFunc(store.Servers(), func(p etcd.Peer) bool { return p.Name == name }) {
		return nil
	}
	return fault.New(fault.Conflict, "cluster.name", name, fmt.Errorf("a server called %s is in the cluster already "+
		"(%s): take another name; if that server is lost, say hale server replace %s", name, is.Address, name))
}

// Invite implements door.House.
func (m *Member) Invite(ctx context.Context, q door.InviteRequest) (door.Invited, error) {
	if err := checkName(q.Name); err != nil {
		return door.Invited{}, err
	}
	store, err := m.ready()
	if err == nil {
		err = taken(ctx, store, q.Name)
	}
	if err != nil {
		return door.Invited{}, err
	}
	return m.invite(ctx, store, q)
}

func (m *Member) invite(ctx context.Context, store *etcd.Own, q door.InviteRequest) (door.Invited, error) {
	if q.For <= 0 {
		q.For = invitedFor
	}
	i := invitation.Invitation{Name: q.Name, Cluster: m.papers.Cluster, Authority: m.papers.Authority.Fingerprint(),
		Secret: invitation.NewSecret(), Expires: time.Now().Add(min(q.For, longestFor)).Truncate(time.Second)}
	for _, p := range store.Servers() {
		i.At = append(i.At, p.Address)
	}
	w, err := put(invitationPrefix+q.Name, i.Keep())
	if err != nil {
		return door.Invited{}, err
	}
	if _, err := store.Commit(ctx, state.Txn{Then: []state.Write{w}}); err != nil {
		return door.Invited{}, err
	}
	m.Logger.Info("a server was invited to the cluster", "name", q.Name, "until", i.Expires)
	return door.Invited{Text: i.String(), Expires: i.Expires}, nil
}

// Join implements door.House.
func (m *Member) Join(ctx context.Context, q door.JoinRequest) (door.JoinAnswer, error) {
	const op = "cluster.join"
	if err := checkName(q.Name); err != nil {
		return door.JoinAnswer{}, err
	}
	store, err := m.ready()
	if err != nil {
		return door.JoinAnswer{}, err
	}
	var kept invitation.Kept
	at, err := read(ctx, store, invitationPrefix+q.Name, &kept)
	if err == nil {
		err = kept.Opens(q.Secret, time.Now())
	}
	if err != nil {
		return door.JoinAnswer{}, fault.New(fault.Unauthorised, op, q.Name, err)
	}
	mark, err := format.Read(ctx, store)
	if err != nil {
		return door.JoinAnswer{}, err
	}
	if q.Format < mark.Format {
		return door.JoinAnswer{}, fault.New(fault.Unsupported, op, q.Name, fmt.Errorf("hale %s on the new server "+
			"reads formats of the state up to %d, and it is of format %d: install hale %s there", q.Version, q.Format,
			mark.Format, m.Version))
	}
	if err := taken(ctx, store, q.Name); err != nil {
		return door.JoinAnswer{}, err
	}
	is := Record{ID: papers.NewID(), Address: q.Address, Version: q.Version, Format: q.Format}
	if err := m.use(ctx, store, q.Name, is, at); err != nil {
		return door.JoinAnswer{}, err
	}
	if err := m.patiently(ctx, func() error { return store.Admit(ctx, q.Address) }); err != nil {
		return door.JoinAnswer{}, errors.Join(err, m.giveBack(ctx, store, q.Name, kept))
	}
	m.Logger.Info("a server was let into the cluster", "name", q.Name, "at", q.Address)
	a := door.JoinAnswer{ID: is.ID, Cluster: m.papers.Cluster, Authority: m.papers.Authority.Certificate,
		Key: m.papers.Authority.Key}
	for _, p := range store.Servers() {
		if p.Address != q.Address {
			a.Others = append(a.Others, p.Address)
		}
	}
	return a, nil
}

// use spends the invitation on the server.
func (m *Member) use(ctx context.Context, store *etcd.Own, name string, is Record, at int64) error {
	w, err := put(recordPrefix+name, is)
	if err != nil {
		return err
	}
	_, err = store.Commit(ctx, state.Txn{
		If:   []state.Compare{state.At(invitationPrefix+name, at), state.Absent(recordPrefix + name)},
		Then: []state.Write{w, state.Delete(invitationPrefix + name)},
	})
	if fault.Is(err, fault.Conflict) {
		return fault.New(fault.Unauthorised, "cluster.join", name, invitation.ErrUnknown)
	}
	return err
}

// giveBack has the invitation be good again that let nobody in.
func (m *Member) giveBack(ctx context.Context, store *etcd.Own, name string, kept invitation.Kept) error {
	w, err := put(invitationPrefix+name, kept)
	if err != nil {
		return err
	}
	_, err = store.Commit(ctx, state.Txn{Then: []state.Write{w, state.Delete(recordPrefix + name)}})
	return err
}

// patiently changes the servers of the cluster as soon as all of them are in touch.
func (m *Member) patiently(ctx context.Context, change func() error) error {
	waiting, cancel := context.WithTimeout(ctx, changeWithin)
	defer cancel()
	for {
		err := change()
		if !fault.Is(err, fault.Transient) {
			return err
		}
		pause(waiting)
		if waiting.Err() != nil {
			return err
		}
	}
}

// Leave implements door.House.
func (m *Member) Leave(ctx context.Context) error {
	const op = "cluster.leave"
	store, err := m.ready()
	if err != nil {
		return err
	}
	found, err := m.look(ctx, store)
	if err != nil {
		return err
	}
	if err := found.without(m.Name()); err != nil {
		return err
	}
	helper, ok := found.up(m.Name())
	if !ok {
		return fault.New(fault.Transient, op, m.Name(), errors.New("no other server answers"))
	}
	m.Logger.Info("this server leaves the cluster")
	m.leave()
	select {
	case <-m.retired:
	case <-ctx.Done():
		return fault.New(fault.Transient, op, m.Name(), ctx.Err())
	}
	if err := m.hand(ctx, store, helper); err != nil {
		m.Logger.Warn("the leader of the cluster leaves without a successor", "err", err)
	}
	err = m.client.Dismiss(ctx, helper, door.DismissRequest{Name: m.Name(), ID: m.papers.ID})
	if err != nil && !errors.Is(store.Err(), etcd.ErrRemoved) { // who was let go may not hear it said
		return err
	}
	_, err = m.papers.Leave(time.Now())
	close(m.departed)
	return err
}

// hand has the server at the address lead the cluster, if this one does: a leader that is let go leaves an election.
func (m *Member) hand(ctx context.Context, store *etcd.Own, address string) error {
	if is, listed := store.Self(); !listed || !is.Leader {
		return nil
	}
	all := store.Servers()
	i := slices.IndexFunc(all, func(p etcd.Peer) bool { return p.Address == address })
	if i < 0 {
		return nil
	}
	return store.HandOver(ctx, all[i])
}

// Dismiss implements door.House.
func (m *Member) Dismiss(ctx context.Context, q door.DismissRequest) error {
	store, err := m.ready()
	if err != nil {
		return err
	}
	var is Record
	if _, err := read(ctx, store, recordPrefix+q.Name, &is); err != nil {
		return err
	}
	if is.ID != q.ID {
		return fault.New(fault.NotFound, "cluster.dismiss", q.Name, fmt.Errorf("there is no server %s", q.Name))
	}
	return m.dismiss(ctx, store, q.Name, is)
}

// dismiss lets the server go, and turns it away from then on.
func (m *Member) dismiss(ctx context.Context, store *etcd.Own, name string, is Record) error {
	all := store.Servers()
	if i := slices.IndexFunc(all, func(p etcd.Peer) bool { return p.Address == is.Address }); i >= 0 {
		err := m.patiently(ctx, func() error { return store.Dismiss(ctx, all[i]) })
		if err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	err := m.patiently(ctx, func() error {
		_, err := store.Commit(ctx, state.Txn{Then: []state.Write{
			state.Put(gonePrefix+is.ID, []byte(name)), state.Delete(recordPrefix + name),
		}})
		if fault.Is(err, fault.UnknownOutcome) { // it can be done twice
			err = fault.New(fault.Transient, "cluster.dismiss", name, err)
		}
		return err
	})
	if err == nil {
		m.Logger.Info("the cluster let a server go", "name", name)
	}
	return err
}

// Replace implements door.House.
func (m *Member) Replace(ctx context.Context, q door.InviteRequest) (door.Invited, error) {
	const op = "cluster.replace"
	if err := checkName(q.Name); err != nil {
		return door.Invited{}, err
	}
	store, err := m.ready()
	if err != nil {
		return door.Invited{}, err
	}
	found, err := m.look(ctx, store)
	if err != nil {
		return door.Invited{}, err
	}
	is, known := found.records[q.Name]
	switch {
	case !known:
		return door.Invited{}, fault.New(fault.NotFound, op, q.Name, fmt.Errorf("there is no server %s in the "+
			"cluster: hale server list has them; hale server invite %s adds one", q.Name, q.Name))
	case q.Name == m.Name():
		return door.Invited{}, fault.New(fault.Invalid, op, q.Name, errors.New("this is the server itself: say it on "+
			"another one, or hale server leave here"))
	case found.answers(q.Name):
		return door.Invited{}, fault.New(fault.Conflict, op, q.Name, fmt.Errorf("%s answers: say hale server leave "+
			"there, or stop it first", q.Name))
	}
	if err := found.without(q.Name); err != nil {
		return door.Invited{}, err
	}
	if err := m.dismiss(ctx, store, q.Name, is); err != nil {
		return door.Invited{}, err
	}
	return m.invite(ctx, store, q)
}
