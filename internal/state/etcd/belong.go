package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/pkg/v3/featuregate"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"

	"hale/internal/core/fault"
	"hale/internal/state"
)

// The clock of a server that has others: as etcd's own, for one network.
const (
	clusterTick     = 100 * time.Millisecond
	clusterElection = 10 * clusterTick
	// keptForOthers is how many entries of the log are kept for servers that lag: what is older comes as a snapshot.
	keptForOthers = 10_000
	// learners may join at a time.
	learners = 3
	// checksEvery is how often the servers compare what history was forgotten.
	checksEvery = 10 * time.Minute
	// leaderlessFor is how long twice in a row a watch bears that there is no leader.
	leaderlessFor = 2 * time.Second
)

// Membership says which server of which cluster a store's is.
type Membership struct {
	Name    string
	Cluster string // the cluster's id
	Address string // where the others reach it, as 10.0.0.1:7120
	// Others are the servers there are, by name, with their addresses; only a server that begins without data needs
	// them. None: it is the first one.
	Others map[string]string
	// CA, Certificate and Key are files in PEM form; ServerName is what the others' certificates are for.
	CA, Certificate, Key, ServerName string
}

// urlOf is how etcd names an address.
func urlOf(address string) url.URL { return url.URL{Scheme: "https", Host: address} }

// apply has the settings be those of the server.
func (m Membership) apply(cfg *embed.Config) {
	cfg.Name = m.Name
	cfg.AdvertisePeerUrls = []url.URL{urlOf(m.Address)}
	all := []string{m.Name + "=https://" + m.Address}
	for name, address := range m.Others {
		all = append(all, name+"=https://"+address)
	}
	slices.Sort(all)
	cfg.InitialCluster, cfg.InitialClusterToken = strings.Join(all, ","), m.Cluster
	cfg.ClusterState = embed.ClusterStateFlagNew
	if len(m.Others) > 0 {
		cfg.ClusterState = embed.ClusterStateFlagExisting
	}
	cfg.PeerTLSInfo = transport.TLSInfo{CertFile: m.Certificate, KeyFile: m.Key, TrustedCAFile: m.CA,
		ClientCertAuth: true, ServerName: m.ServerName}
	cfg.TickMs, cfg.ElectionMs = uint(clusterTick/time.Millisecond), uint(clusterElection/time.Millisecond)
	cfg.SnapshotCatchUpEntries = keptForOthers
	cfg.CompactHashCheckTime = checksEvery
	cfg.MaxLearners = learners
}

// checked has the server compare its data with the others' at its start, and from time to time.
func checked(cfg *embed.Config) error {
	gate, ok := cfg.ServerFeatureGate.(featuregate.MutableFeatureGate)
	if !ok {
		return errors.New("etcd has no feature gate")
	}
	return gate.SetFromMap(map[string]bool{"InitialCorruptCheck": true, "CompactHashCheck": true})
}

// hasLog reports whether the folder has a server's data.
func hasLog(dir string) bool {
	logs, _ := filepath.Glob(filepath.Join(dir, dataName, "member", "wal", "*.wal")) // the pattern is sound
	return len(logs) > 0
}

// HasData reports whether the folder has a store's data.
func HasData(dir string) bool { return hasLog(dir) }

// Own is the store of a server of hale's own cluster. It implements state.Store.
type Own struct {
	*Store
	membership Membership
}

// Belong opens the store of a server of a cluster, and does not wait until the cluster answers: until then calls fail.
// The caller lets the other servers reach what Peers returns. ctx bounds the opening only.
//
// Errors are those of Open, and fault.Transient where a server without data reaches no other.
func Belong(ctx context.Context, opts Options, m Membership) (*Own, error) {
	if err := opts.complete(); err != nil {
		return nil, fault.New(fault.Invalid, "state.open", opts.Dir, err)
	}
	space := newSpace(opts)
	lock, err := enter(opts, space)
	if err != nil {
		return nil, err
	}
	var unchecked error
	how := manner{blame: m.damaged, kind: fault.Permanent, change: func(cfg *embed.Config) {
		m.apply(cfg)
		unchecked = checked(cfg)
	}}
	if !hasLog(opts.Dir) && len(m.Others) > 0 {
		how.blame, how.kind = func(err error) error { return err }, fault.Transient
	}
	server, err := launch(ctx, opts, lock, how)
	if err != nil {
		if ctx.Err() == nil { // else the server that comes up too late has the folder
			err = errors.Join(err, unchecked, lock.Close())
		}
		return nil, err
	}
	o := &Own{Store: newStore(ctx, opts, server, space), membership: m}
	o.limit, o.watch = requestLimit, o.changes
	if err := errors.Join(unchecked, o.keep()); err != nil {
		return nil, err
	}
	return o, nil
}

// changes begins to watch, and ends with an error when the cluster has had no leader for a while: the server would go
// on in silence.
func (o *Own) changes(ctx context.Context, prefix string, after int64) (next, error) {
	ctx, end := context.WithCancel(ctx)
	stream := o.member.etcd.Server.Watchable().NewWatchStream()
	context.AfterFunc(ctx, func() {
		_ = o.spawn(stream.Close) // an ended store ends its streams with the server
	})
	if _, err := stream.Watch(ctx, clientv3.AutoWatchID, []byte(rangeStart(prefix)), []byte(state.PrefixEnd(prefix)),
		after+1); err != nil {
		end()
		return nil, err
	}
	return func() ([]*mvccpb.Event, error) {
		look := time.NewTicker(leaderlessFor)
		defer look.Stop()
		led := true
		for {
			select {
			case some := <-stream.Chan():
				if some.CompactRevision != 0 {
					return some.Events, rpctypes.ErrCompacted
				}
				return some.Events, nil
			case <-look.C:
				if was := led; !o.Led() && !was {
					end()
					return nil, rpctypes.ErrNoLeader
				}
				led = o.Led()
			case <-ctx.Done():
				end()
				return nil, errClosed
			}
		}
	}, nil
}

// damaged says what is wrong with the server's data, and the way out.
func (m Membership) damaged(what error) error {
	return fmt.Errorf("this server's copy of the state is damaged: %w; the other servers have theirs: say hale server "+
		"replace %s on one of them, and hale server join --force here", what, m.Name)
}

// Peers answers the other servers, which must have been told from strangers.
func (o *Own) Peers() http.Handler {
	return etcdhttp.NewPeerHandler(o.member.etcd.GetLogger(), o.member.etcd.Server)
}

// ErrRemoved is the cause of the store's end when its server is not of the cluster any more.
var ErrRemoved = errors.New("this server is not one of the cluster any more")
