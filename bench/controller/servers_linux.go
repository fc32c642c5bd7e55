package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"hale/api"
	"hale/bench/rig"
)

// rest is what one process takes at rest.
type rest struct {
	Name        string  `json:"name"`
	Cores       float64 `json:"cores"`
	ResidentMiB float64 `json:"resident_mib"`
	AnonMiB     float64 `json:"anonymous_mib"`
	DiskBytes   float64 `json:"disk_bytes_per_second"`
}

// quiet is what several servers take at rest.
type quiet struct {
	Machines     int                `json:"machines"`
	Fleets       int                `json:"fleets"`
	EverySeconds float64            `json:"every_seconds"`
	State        string             `json:"state"`
	Transactions float64            `json:"transactions_per_second"`
	Wire         map[string]float64 `json:"wire_bytes_per_second"` // with the headers of IP and TCP
	Processes    []rest             `json:"processes"`             // the first is the active server
}

// The addresses of the servers of hale's own cluster and of the etcd servers, each its own.
func memberAt(k int) string { return fmt.Sprintf("127.0.1.%d", k+1) }
func etcdAt(k int) string   { return fmt.Sprintf("127.0.2.%d", k+1) }

const (
	memberPort = 7120
	clientPort = 2379
	peerPort   = 2380
	etcds      = 3
)

// group is several servers that share their state.
type group struct {
	trial // of the first one, which is the active one
	all   []*program
	etcds []*rig.Program
}

func idle(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "controller")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	g := &group{trial: trial{options: o, dir: filepath.Join(dir, "hale-1")}}
	defer g.end()
	begin := g.beginCluster
	if o.etcd {
		begin = g.beginOnEtcd
	}
	if err := begin(ctx, dir); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(filepath.Join(g.dir, "log")))
	}
	if err := g.await(ctx, time.Second, g.allHealthy(ctx)); err != nil {
		return err
	}
	if err := rig.Pass(ctx, g.restAfter()); err != nil {
		return err
	}
	told, err := g.measure(ctx)
	if err != nil {
		return err
	}
	return o.tell(told)
}

func (g *group) end() {
	for _, p := range g.all {
		p.end()
	}
	for _, p := range g.etcds {
		p.Kill()
	}
}

// beginCluster starts servers that are a cluster of their own.
func (g *group) beginCluster(ctx context.Context, dir string) error {
	for k := range g.servers {
		s := g.server(dir, k)
		s.state = fmt.Sprintf("state: {cluster: {listen: \"%s:%d\"}}\n", memberAt(k), memberPort)
		if err := errors.Join(os.Mkdir(s.dir, 0o700), s.configure(ctx)); err != nil {
			return err
		}
		file, data := filepath.Join(s.dir, "hale.yaml"), filepath.Join(s.dir, "data")
		if k == 0 {
			_, err := g.says(ctx, "server", "init", "--name", "hale-1", "--config", file, "--data-dir", data)
			if err != nil {
				return err
			}
		} else {
			invitation, err := g.says(ctx, "server", "invite", filepath.Base(s.dir), "--data-dir",
				filepath.Join(g.dir, "data"))
			if err != nil {
				return err
			}
			letter := filepath.Join(s.dir, "invitation")
			if err := os.WriteFile(letter, invitation, 0o600); err != nil {
				return err
			}
			if _, err := g.says(ctx, "server", "join", letter, "--config", file, "--data-dir", data); err != nil {
				return err
			}
		}
		if err := g.run(ctx, s, k); err != nil {
			return err
		}
	}
	return nil
}

// beginOnEtcd starts etcd servers, and servers that share them.
func (g *group) beginOnEtcd(ctx context.Context, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var members, clients []string
	for k := range etcds {
		members = append(members, fmt.Sprintf("etcd-%d=http://%s:%d", k+1, etcdAt(k), peerPort))
		clients = append(clients, fmt.Sprintf("%q", fmt.Sprintf("http://%s:%d", etcdAt(k), clientPort)))
	}
	for k := range etcds {
		at := func(port int) string { return fmt.Sprintf("%s:%d", etcdAt(k), port) }
		name := fmt.Sprintf("etcd-%d", k+1)
		cmd := exec.CommandContext(ctx, self, "etcd", "-name", name, "-dir", filepath.Join(dir, name), "-client",
			at(clientPort), "-peer", at(peerPort), "-advertised", at(peerPort), "-cluster", strings.Join(members, ","))
		p, err := rig.Start(cmd)
		if err != nil {
			return err
		}
		g.etcds = append(g.etcds, p)
	}
	for k := range g.servers {
		s := g.server(dir, k)
		s.state = "state: {etcd: {endpoints: [" + strings.Join(clients, ", ") + "]}}\n"
		s.args = []string{"--server", filepath.Base(s.dir)}
		if err := errors.Join(os.Mkdir(s.dir, 0o700), s.configure(ctx)); err != nil {
			return err
		}
		if err := g.run(ctx, s, k); err != nil {
			return err
		}
	}
	return nil
}

// server is one of them, not started.
func (g *group) server(dir string, k int) *trial {
	return &trial{options: g.options, dir: filepath.Join(dir, fmt.Sprintf("hale-%d", k+1))}
}

// run starts one, and waits until it stands by; the first one, until it looks after the fleets.
func (g *group) run(ctx context.Context, s *trial, k int) error {
	p, err := begin(s.hale, s.dir, s.args...)
	if err != nil {
		return err
	}
	g.all = append(g.all, p)
	s.program, s.client = p, api.Dial(filepath.Join(s.dir, "data", "hale.sock"))
	if k == 0 {
		g.program, g.client = p, s.client
	}
	return s.await(ctx, 200*time.Millisecond, func() (bool, error) {
		if k > 0 {
			_, err := os.Stat(filepath.Join(s.dir, "data", "hale.sock"))
			return err == nil, ctx.Err()
		}
		_, err := s.client.Fleets(ctx, api.Page{})
		return err == nil, ctx.Err()
	})
}

// says runs one of hale's commands.
func (g *group) says(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.hale, args...)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("hale %s: %w: %s", strings.Join(args, " "), err, wrong.String())
	}
	return out, nil
}

// measure lets the time of rest pass.
func (g *group) measure(ctx context.Context) (*quiet, error) {
	all, names := []*rig.Program{}, []string{}
	for k, p := range g.all {
		all, names = append(all, p.Program), append(names, fmt.Sprintf("hale-%d", k+1))
	}
	for k, p := range g.etcds {
		all, names = append(all, p), append(names, fmt.Sprintf("etcd-%d", k+1))
	}
	if err := g.meter(ctx); err != nil {
		return nil, err
	}
	done, err := g.transactions(ctx)
	if err != nil {
		return nil, err
	}
	cpu, disk, at := make([]time.Duration, len(all)), make([]float64, len(all)), time.Now()
	for k, p := range all {
		cpu[k], disk[k] = p.CPU(), p.Written()
	}
	if err := rig.Pass(ctx, g.options.rest); err != nil {
		return nil, err
	}
	took := time.Since(at).Seconds()
	told := &quiet{Machines: g.machines, Fleets: g.fleets, EverySeconds: g.every.Seconds(), State: "cluster"}
	if g.etcd {
		told.State = "etcd"
	}
	for k, p := range all {
		told.Processes = append(told.Processes, rest{
			Name: names[k], Cores: (p.CPU() - cpu[k]).Seconds() / took, DiskBytes: (p.Written() - disk[k]) / took,
			ResidentMiB: p.Memory("VmRSS"), AnonMiB: p.Memory("RssAnon"),
		})
	}
	if told.Wire, err = g.wire(ctx, took); err != nil {
		return nil, err
	}
	now, err := g.transactions(ctx)
	told.Transactions = (now - done) / took
	return told, err
}

// transactions is how many the active server made so far, by what it shows to monitoring.
func (g *group) transactions(ctx context.Context) (float64, error) {
	text, err := g.get(ctx, "/metrics")
	if err != nil {
		return 0, err
	}
	total, some := 0.0, false
	for line := range strings.Lines(string(text)) {
		if rest, is := strings.CutPrefix(line, "hale_store_transactions_total{"); is {
			_, value, _ := strings.Cut(rest, "} ")
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return 0, err
			}
			total, some = total+n, true
		}
	}
	if !some {
		return 0, errors.New("hale counts no transactions")
	}
	return total, nil
}

// meter has the kernel count, from now on, what goes to and from each server.
func (g *group) meter(ctx context.Context) error {
	var counters, rules strings.Builder
	count := func(name, address string, port int) {
		fmt.Fprintf(&counters, "  counter to-%s { }\n  counter from-%s { }\n", name, name)
		fmt.Fprintf(&rules, "    ip daddr %s tcp dport %d counter name \"to-%s\"\n"+
			"    ip saddr %s tcp sport %d counter name \"from-%s\"\n", address, port, name, address, port, name)
	}
	for k := range g.servers {
		count(fmt.Sprintf("hale-%d", k+1), memberAt(k), memberPort)
	}
	for k := range g.etcds {
		count(fmt.Sprintf("etcd-%d-clients", k+1), etcdAt(k), clientPort)
		count(fmt.Sprintf("etcd-%d-peers", k+1), etcdAt(k), peerPort)
	}
	file := filepath.Join(g.dir, "wire.nft")
	text := "table ip wire {\n" + counters.String() +
		"  chain out { type filter hook output priority 0;\n" + rules.String() + "  }\n}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "nft", "-f", file).CombinedOutput(); err != nil {
		return fmt.Errorf("nft: %w: %s", err, out)
	}
	return nil
}

// wire is what the kernel counted, by the second.
func (g *group) wire(ctx context.Context, seconds float64) (map[string]float64, error) {
	out, err := exec.CommandContext(ctx, "nft", "-j", "list", "counters", "table", "ip", "wire").Output()
	if err != nil {
		return nil, fmt.Errorf("nft: %w", err)
	}
	var told struct {
		Nftables []struct {
			Counter *struct {
				Name  string  `json:"name"`
				Bytes float64 `json:"bytes"`
			} `json:"counter"`
		} `json:"nftables"`
	}
	if err := json.Unmarshal(out, &told); err != nil {
		return nil, err
	}
	by := map[string]float64{}
	for _, t := range told.Nftables {
		if t.Counter != nil && t.Counter.Bytes > 0 {
			by[t.Counter.Name] = t.Counter.Bytes / seconds
		}
	}
	return by, nil
}
