// Package etcdtest starts an etcd server as others run it, on loopback, for tests. It is etcd itself, in the test's
// process.
package etcdtest

import (
	"net/url"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"hale/internal/testbed/nettest"
)

// Server is one.
type Server struct {
	*embed.Etcd
	// End stops it before the test ends.
	End func()
	// URL is where clients ask.
	URL string
}

// patience bounds its start.
const patience = time.Minute

// Start starts one in a new folder, with the changes to its settings, and stops it when the test ends.
func Start(t testing.TB, change ...func(*embed.Config)) *Server {
	t.Helper()
	anywhere := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.ZapLoggerBuilder = t.TempDir(), embed.NewZapLoggerBuilder(zap.NewNop())
	cfg.ListenClientUrls, cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = anywhere, anywhere, anywhere
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true // the machine does not die
	for _, c := range change {
		c(cfg)
	}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Etcd: e, End: sync.OnceFunc(e.Close)}
	t.Cleanup(s.End)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		t.Fatal("etcd is not ready")
	}
	s.URL = cfg.ListenClientUrls[0].Scheme + "://" + e.Clients[0].Addr().String()
	return s
}

// Cluster starts three that are one cluster.
func Cluster(t testing.TB) []*Server {
	t.Helper()
	names, cluster := []string{"a", "b", "c"}, ""
	peers := make([]url.URL, len(names))
	for i, name := range names {
		peers[i] = url.URL{Scheme: "http", Host: nettest.Free(t)}
		cluster += "," + name + "=" + peers[i].String()
	}
	all := make([]*Server, len(names))
	var starting sync.WaitGroup
	for i, name := range names {
		starting.Go(func() { // each waits for the others
			all[i] = Start(t, func(c *embed.Config) {
				c.Name, c.InitialCluster = name, cluster[1:]
				c.ListenPeerUrls, c.AdvertisePeerUrls = peers[i:i+1], peers[i:i+1]
			})
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}
