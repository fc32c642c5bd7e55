package members

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hale/internal/cluster/door"
	"hale/internal/cluster/invitation"
	"hale/internal/cluster/papers"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/state"
	"hale/internal/state/beliefs"
	"hale/internal/state/etcd"
	"hale/internal/state/format"
)

// Here says where a command runs.
type Here struct {
	DataDir string
	Version string
	Logger  *slog.Logger
}

// Begun is what became of a data folder.
type Begun struct {
	Name, Address string
	Aside         string // where the state is that was there; empty: there was none
	Left          string // where the papers are that were there
}

// errNoCluster is what a configuration lacks.
var errNoCluster = errors.New("the configuration does not say where this server is reached by the others: write " +
	"state: {cluster: {listen: ADDRESS:PORT}}")

// Init makes this server the first one of a new cluster, with the state that its data folder has.
//
// fault.Conflict: it is in a cluster, or hale runs on the folder. fault.Invalid: the name or the configuration.
func Init(ctx context.Context, h Here, c config.Cluster, name string) (Begun, error) {
	const op = "cluster.init"
	if err := checkName(name); err != nil {
		return Begun{}, err
	}
	if !c.Used() {
		return Begun{}, fault.New(fault.Invalid, op, h.DataDir, errNoCluster)
	}
	switch p, err := papers.Read(h.DataDir); {
	case err == nil:
		return Begun{}, fault.New(fault.Conflict, op, h.DataDir, fmt.Errorf("this server is %s of a cluster already; "+
			"hale server invite NAME invites another one", p.Name))
	case !fault.Is(err, fault.NotFound):
		return Begun{}, err
	}
	return begin(ctx, h, papers.First(name, c.Listen, c.Advertise), nil)
}

// begin makes the folder's store that of the first server of a new cluster, with what fill puts in; nil: with what the
// folder's store has.
func begin(ctx context.Context, h Here, s papers.Server, fill func(context.Context, state.Store) error) (Begun, error) {
	b := Begun{Name: s.Name, Address: s.Advertise}
	if err := os.MkdirAll(h.DataDir, 0o700); err != nil {
		return b, fault.New(fault.Permanent, "cluster.init", h.DataDir, err)
	}
	a, err := papers.NewAuthority(time.Now())
	if err != nil {
		return b, err
	}
	draft, err := papers.Draft(h.DataDir, s, a, time.Now())
	if err != nil {
		return b, err
	}
	b.Aside, err = etcd.Found(ctx, etcd.Options{Dir: h.DataDir, Logger: h.Logger}, etcd.Membership{Name: s.Name,
		Cluster: s.Cluster, Address: s.Advertise, CA: draft.AuthorityFile(), Certificate: draft.CertificateFile(),
		Key: draft.KeyFile(), ServerName: papers.ServerName}, fill)
	if err != nil {
		return b, err
	}
	old, err := papers.Read(h.DataDir)
	if err == nil {
		b.Left, err = old.Leave(time.Now())
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return b, err
	}
	return b, draft.Settle()
}

// Renew makes the one server of a cluster that is left the first one of a new cluster, with its copy of the state.
//
// fault.Conflict: another server answers, or hale runs on the folder. fault.NotFound: it is in no cluster.
func Renew(ctx context.Context, h Here) (Begun, error) {
	const op = "cluster.renew"
	p, err := papers.Read(h.DataDir)
	if err != nil {
		return Begun{}, err
	}
	for _, at := range p.Others {
		asking, cancel := context.WithTimeout(ctx, standingWithin)
		is, err := door.Member(p).Standing(asking, at)
		cancel()
		switch {
		case err == nil && is.Led:
			return Begun{}, fault.New(fault.Conflict, op, p.Name, fmt.Errorf("%s at %s answers, and the cluster has "+
				"its "+
				"majority: a second cluster would do everything twice. If this server is out of it, say hale server "+
				"replace %s there", is.Name, at, p.Name))
		case err == nil:
			return Begun{}, fault.New(fault.Conflict, op, p.Name, fmt.Errorf("%s at %s answers: stop it first, and "+
				"see "+
				"that it does not start again; its copy of the state may be the newer one (it has %d entries of the "+
				"log)",
				is.Name, at, is.Committed))
		}
	}
	made := time.Now()
	fill := etcd.Refill(etcd.Options{Dir: h.DataDir, Logger: h.Logger}, func(ctx context.Context, s state.Store) error {
		return beliefs.MarkRestored(ctx, s, made) // what only the others had is not in it
	})
	return begin(ctx, h, papers.First(p.Name, p.Listen, p.Advertise), fill)
}

// Restore makes this server the first one of a new cluster, with what fill puts in. The cluster that it was of must be
// stopped for good. fault.NotFound: it is in no cluster.
func Restore(ctx context.Context, h Here, fill func(context.Context, state.Store) error) (Begun, error) {
	p, err := papers.Read(h.DataDir)
	if err != nil {
		return Begun{}, err
	}
	return begin(ctx, h, papers.First(p.Name, p.Listen, p.Advertise), fill)
}

// Join has this server be let into the cluster of the invitation.
func Join(ctx context.Context, h Here, c config.Cluster, o JoinOptions) (Begun, error) {
	const op = "cluster.join"
	i, err := invitation.Parse(o.Invitation)
	if err != nil {
		return Begun{}, fault.New(fault.Invalid, op, "", err)
	}
	b := Begun{Name: i.Name, Address: c.Advertise}
	if !c.Used() {
		return b, fault.New(fault.Invalid, op, h.DataDir, errNoCluster)
	}
	if err := vacant(h.DataDir, o); err != nil {
		return b, err
	}
	a, err := admitted(ctx, h, c, i)
	if err != nil {
		return b, err
	}
	authority, err := papers.ReadAuthority(a.Authority, a.Key)
	if err == nil && authority.Fingerprint() != i.Authority {
		err = papers.ErrStranger
	}
	if err != nil {
		return b, fault.New(fault.Unauthorised, op, i.Name, err)
	}
	if b, err = vacate(h.DataDir, b); err != nil {
		return b, err
	}
	draft, err := papers.Draft(h.DataDir, papers.Server{Name: i.Name, ID: a.ID, Cluster: a.Cluster, Listen: c.Listen,
		Advertise: c.Advertise, Others: a.Others}, authority, time.Now())
	if err != nil {
		return b, err
	}
	return b, draft.Settle()
}

// JoinOptions are what a server joins by.
type JoinOptions struct {
	Invitation string // its text
	Force      bool   // a state that is here is put aside
}

// vacant says what is in the way of a new server in the folder.
func vacant(dataDir string, o JoinOptions) error {
	const op = "cluster.join"
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return fault.New(fault.Permanent, op, dataDir, err)
	}
	if user := etcd.UserOf(dataDir); user != "" {
		return fault.New(fault.Conflict, op, dataDir, fmt.Errorf("process %s uses it: stop the hale that runs there "+
			"first", user))
	}
	if !o.Force && (InCluster(dataDir) || etcd.HasData(dataDir)) {
		return fault.New(fault.Conflict, op, dataDir, errors.New("there is a state already, of a single server or of "+
			"another cluster: --force puts it aside, and this server gets the cluster's"))
	}
	return nil
}

// vacate puts papers and state aside that are in the folder.
func vacate(dataDir string, b Begun) (Begun, error) {
	old, err := papers.Read(dataDir)
	if err == nil {
		b.Left, err = old.Leave(time.Now())
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return b, err
	}
	b.Aside, err = etcd.PutAside(dataDir)
	return b, err
}

// admitted asks the servers of the cluster, one after the other, to let this one in.
func admitted(ctx context.Context, h Here, c config.Cluster, i invitation.Invitation) (door.JoinAnswer, error) {
	q := door.JoinRequest{Name: i.Name, Secret: i.Secret, Address: c.Advertise, Version: h.Version,
		Format: format.Current()}
	var problems []error
	for _, at := range i.At {
		asking, cancel := context.WithTimeout(ctx, 2*changeWithin)
		a, err := door.Guest(i.Authority).Join(asking, at, q)
		cancel()
		if err == nil || !fault.Is(err, fault.Transient) {
			return a, err
		}
		problems = append(problems, err)
	}
	return door.JoinAnswer{}, fault.New(fault.Transient, "cluster.join", i.Name, errors.Join(problems...))
}

// local is this server's door; where it does not answer, those of the others follow.
func (h Here) local() (door.Client, *papers.Papers, error) {
	p, err := papers.Read(h.DataDir)
	if err != nil {
		return door.Client{}, nil, err
	}
	return door.Member(p), p, nil
}

// anywhere asks this server, and where it does not answer, the others.
func anywhere[A any](
	ctx context.Context, h Here, call func(context.Context, door.Client, string) (A, error),
) (A, error) {
	var none A
	c, p, err := h.local()
	if err != nil {
		return none, err
	}
	var problems []error
	for _, at := range append([]string{near(p.Listen)}, p.Others...) {
		asking, cancel := context.WithTimeout(ctx, 2*changeWithin)
		a, err := call(asking, c, at)
		cancel()
		if err == nil || !fault.Is(err, fault.Transient) {
			return a, err
		}
		problems = append(problems, err)
	}
	return none, fault.New(fault.Transient, "cluster.ask", p.Name, errors.Join(problems...))
}

// Invite makes an invitation.
func Invite(ctx context.Context, h Here, name string, lasts time.Duration) (door.Invited, error) {
	return anywhere(ctx, h, func(ctx context.Context, c door.Client, at string) (door.Invited, error) {
		return c.Invite(ctx, at, door.InviteRequest{Name: name, For: lasts})
	})
}

// Replace lets a server go that is lost, and makes an invitation for the one in its place.
func Replace(ctx context.Context, h Here, name string, lasts time.Duration) (door.Invited, error) {
	return anywhere(ctx, h, func(ctx context.Context, c door.Client, at string) (door.Invited, error) {
		return c.Replace(ctx, at, door.InviteRequest{Name: name, For: lasts})
	})
}

// List says which servers there are.
func List(ctx context.Context, h Here) (door.Servers, error) {
	return anywhere(ctx, h, func(ctx context.Context, c door.Client, at string) (door.Servers, error) {
		return c.Servers(ctx, at)
	})
}

// Leave has the server that runs here leave its cluster. It returns the server's name.
func Leave(ctx context.Context, h Here) (string, error) {
	c, p, err := h.local()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, leftWithin)
	defer cancel()
	err = c.Leave(ctx, near(p.Listen))
	if fault.Is(err, fault.Transient) && etcd.UserOf(h.DataDir) == "" {
		return p.Name, fault.New(fault.Transient, "cluster.leave", p.Name, fmt.Errorf("hale does not run here, so "+
			"that it cannot leave: start it, or say hale server replace %s on another server", p.Name))
	}
	return p.Name, err
}

// InCluster reports whether the data folder is of a server of a cluster.
func InCluster(dataDir string) bool {
	_, err := os.Lstat(filepath.Join(dataDir, papers.Folder))
	return err == nil
}
