package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
)

const (
	fieldPort    = 9301
	otherPort    = 9302
	frontPort    = 9303
	exporterPort = 9115
)

// contestants are those of the table. Each asks every target once a second, but for the exporter, which is asked to,
// and the loops.
func (b *bout) contestants() ([]contestant, error) {
	opens := func() uint64 { return kernelCount("Tcp", "ActiveOpens") }
	pings := func() uint64 { return kernelCount("Icmp", "InEchos") }
	requests := func() uint64 { return b.seen.requests.Load() }
	accepts := func() uint64 { return b.seen.accepted.Load() }
	pings6 := func() uint64 { return kernelCount6("Icmp6InEchos") }
	hale := func(kind string, args ...string) func(context.Context) (*process, error) {
		return func(ctx context.Context) (*process, error) {
			return begin(ctx, b.self,
				append([]string{"check", "-kind", kind, "-n", fmt.Sprint(b.targets), "-port", fmt.Sprint(fieldPort)},
					args...)...)
		}
	}
	if err := b.write(); err != nil {
		return nil, err
	}
	fping := func(addresses string, args ...string) func(context.Context) (*process, error) {
		return func(ctx context.Context) (*process, error) {
			return begin(ctx, "fping", append(args, "-q", "-p", "1000", "-t", "900", "-f", b.dir+"/"+addresses)...)
		}
	}
	haproxy := func(mode string) func(context.Context) (*process, error) {
		return func(ctx context.Context) (*process, error) {
			return begin(ctx, "haproxy", "-db", "-f", b.dir+"/haproxy-"+mode)
		}
	}
	all := []contestant{
		{name: "haproxy tcp", begin: haproxy("tcp"), count: opens},
		{name: "hale tcp", begin: hale("tcp"), count: opens},
		{name: "haproxy http", begin: haproxy("http"), count: requests},
		{name: "hale http", begin: hale("http"), count: requests},
		{name: "hale http kept", begin: hale("keep"), count: requests},
		{name: "fping icmp, burst", begin: fping("addresses", "-i", "0", "-c", "60"), count: pings},
		{
			name:  "fping icmp, paced",
			begin: fping("addresses", "-l", "-i", fmt.Sprintf("%.3f", 900/float64(b.targets))),
			count: pings,
		},
		{name: "hale icmp", begin: hale("ping"), count: pings},
		{name: "hale tcp, IPv6", begin: hale("tcp", "-six"), count: opens},
		{name: "fping icmp, burst, IPv6", begin: fping("addresses6", "-6", "-i", "0", "-c", "60"), count: pings6},
		{name: "hale icmp, IPv6", begin: hale("ping", "-six"), count: pings6},
		{name: "blackbox tcp", begin: b.exporter, count: accepts},
	}
	if b.floor != "" {
		for _, kind := range []string{"tcp", "http", "http kept", "icmp"} {
			mode := strings.TrimPrefix(kind, "http ")
			all = append(all, contestant{
				name: "loop " + kind,
				loop: []string{b.floor, mode, fmt.Sprint(fieldPort), "40000", fmt.Sprint(b.targets)},
			})
		}
	}
	return all, nil
}

// exporter begins a blackbox_exporter, and its clients. The clients' cost does not count.
func (b *bout) exporter(ctx context.Context) (*process, error) {
	p, err := begin(ctx, "prometheus-blackbox-exporter", "--config.file="+b.dir+"/blackbox",
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", exporterPort), "--log.level=error")
	if err != nil {
		return nil, err
	}
	p.beside, err = begin(ctx, b.self, "load", fmt.Sprintf("http://127.0.0.1:%d", exporterPort), fmt.Sprint(fieldPort))
	if err != nil {
		p.end()
	}
	return p, err
}

// write writes the peers' files.
func (b *bout) write() error {
	var addresses, addresses6, servers bytes.Buffer
	for i := range b.targets {
		a := targetAt(i)
		fmt.Fprintln(&addresses, a)
		fmt.Fprintln(&addresses6, targetAt6(i))
		fmt.Fprintf(&servers, "  server s%d %s:%d\n", i, a, fieldPort)
	}
	files := map[string]string{
		"addresses": addresses.String(), "addresses6": addresses6.String(),
		"blackbox": "modules:\n  tcp: {prober: tcp, timeout: 900ms}\n",
	}
	for mode, options := range map[string]string{
		"tcp":  "",
		"http": "  option httpchk GET /health\n  http-check expect status 200\n",
	} {
		files["haproxy-"+mode] = fmt.Sprintf(`global
  nbthread 1
defaults
  mode %s
  timeout connect 900ms
  timeout check 900ms
  timeout client 5s
  timeout server 5s
frontend front
  bind 127.0.0.1:%d
  default_backend back
backend back
%s  default-server check inter 1s fall 3 rise 1
%s`, mode, frontPort, options, servers.String())
	}
	for name, text := range files {
		if err := os.WriteFile(b.dir+"/"+name, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
