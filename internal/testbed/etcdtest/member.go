package etcdtest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"hale/internal/testbed/nettest"
)

// Program is the name under which a test binary runs Serve; see package testscript.
const Program = "hale-test-etcd"

// Serve is an etcd server as a process of its own, which can be killed, and syncs what it acknowledges. It ends with
// SIGTERM.
func Serve() {
	cfg := embed.NewConfig()
	var client, peer, advertised string
	f := flag.NewFlagSet(Program, flag.ContinueOnError)
	f.StringVar(&cfg.Name, "name", "", "")
	f.StringVar(&cfg.Dir, "dir", "", "")
	f.StringVar(&client, "client", "", "")
	f.StringVar(&peer, "peer", "", "")
	f.StringVar(&advertised, "advertised", "", "")
	f.StringVar(&cfg.InitialCluster, "cluster", "", "")
	f.StringVar(&cfg.ClientTLSInfo.CertFile, "certificate", "", "")
	f.StringVar(&cfg.ClientTLSInfo.KeyFile, "key", "", "")
	if f.Parse(os.Args[1:]) != nil {
		return // it said why
	}
	cfg.LogLevel = "warn"
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = at(client), at(client)
	if cfg.ClientTLSInfo.CertFile != "" {
		cfg.ListenClientUrls[0].Scheme = "https"
	}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = at(peer), at(advertised)
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
		return
	}
	defer e.Close()
	// As a file system does by itself sooner or later: etcd does not sync all folders that it makes files in.
	_ = filepath.WalkDir(filepath.Dir(cfg.Dir), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			syncFolder(path)
		}
		return err
	})
	select {
	case <-told.Done():
	case err := <-e.Err():
		fmt.Fprintln(os.Stderr, "etcd:", err)
	}
}

func syncFolder(path string) {
	f, err := os.Open(path)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "etcd:", err)
	}
}

func at(host string) []url.URL { return []url.URL{{Scheme: "http", Host: host}} }

// Member is one of a cluster's servers, as a process.
type Member struct {
	Name string
	Dir  string // where its data is to be
	URL  string // where clients ask
	Peer string // where it listens for the others
	Via  string // where the others ask for it

	t       testing.TB
	all     string // the cluster as etcd has it
	process *exec.Cmd
	ended   chan struct{}
}

// Members returns three that are one cluster, with their data in the folders. They are not started yet. via says where
// a member's fellows ask for it that listens at an address; nil: there.
func Members(t testing.TB, dirs [3]string, via func(address string) string) []*Member {
	t.Helper()
	var all []*Member
	var cluster []string
	for i, dir := range dirs {
		m := &Member{Name: string(rune('a' + i)), Dir: dir, Peer: nettest.Free(t),
			URL: "http://" + nettest.Free(t), t: t}
		if m.Via = m.Peer; via != nil {
			m.Via = via(m.Peer)
		}
		cluster = append(cluster, m.Name+"=http://"+m.Via)
		all = append(all, m)
	}
	for _, m := range all {
		m.all = strings.Join(cluster, ",")
	}
	return all
}

// Begin starts its process.
func (m *Member) Begin(log *os.File) {
	m.t.Helper()
	program, err := exec.LookPath(Program)
	if err != nil {
		m.t.Fatal(err)
	}
	m.process = exec.CommandContext(context.WithoutCancel(m.t.Context()), program, "-name", m.Name, "-dir", m.Dir,
		"-client", strings.TrimPrefix(m.URL, "http://"),
		"-peer", m.Peer, "-advertised", m.Via, "-cluster", m.all)
	m.process.Stdout, m.process.Stderr = log, log
	if err := m.process.Start(); err != nil {
		m.t.Fatal(err)
	}
	ended, process := make(chan struct{}), m.process
	go func() { // ends with the process
		_ = process.Wait() // how it ended is in its state
		close(ended)
	}()
	m.ended = ended
	m.t.Cleanup(func() {
		_ = process.Process.Kill() // an error says that it has ended
		<-ended
	})
}

// Signal sends it a signal.
func (m *Member) Signal(s os.Signal) {
	_ = m.process.Process.Signal(s) // an error says that it has ended
}

// Ended is closed when its process has ended.
func (m *Member) Ended() <-chan struct{} { return m.ended }

// Ready waits until it answers, with the cluster's majority behind it.
func (m *Member) Ready() {
	m.t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{m.URL}, Logger: zap.NewNop()})
	if err != nil {
		m.t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	limit := time.Now().Add(patience)
	for {
		ctx, cancel := context.WithTimeout(m.t.Context(), 2*time.Second)
		_, err := client.Get(ctx, "ready")
		cancel()
		if err == nil {
			return
		}
		select {
		case <-m.ended:
			m.t.Fatalf("etcd member %s ended", m.Name)
		default:
		}
		if time.Now().After(limit) {
			m.t.Fatalf("etcd member %s is not ready: %v", m.Name, err)
		}
	}
}
