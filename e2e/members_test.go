package e2e

import (
	"context"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"hale/api"
	"hale/internal/testbed/haproxy"
)

// workload is the service of the guests: an answer takes a while, and HAProxy asks a guest for one at a time, so that
// there is an end to what one guest can do.
const workload = `      seed: true
      user_data: |
        #!/bin/sh
        mkdir -p /www/cgi-bin
        cat >/tmp/work <<'END'
        #!/bin/sh
        usleep 100000
        printf 'Content-Type: text/plain\r\n\r\ndone\n'
        END
        chmod 755 /tmp/work
        mv /tmp/work /www/cgi-bin/work
    checks:
      page: {http: {path: ` + workPage + `}, every: 1s, timeout: 900ms, down_after: 3}
    on_external_stop: heal
    build_within: 1m
    repair: {steps: [start, recreate], attempts: 100 in 1h, backoff: 500ms}
`

// workPage is the page of the guests that takes their time.
const workPage = "/cgi-bin/work"

// usher gives the machines of a fleet their seats at HAProxy, as hale shows them.
type usher struct {
	proxy haproxy.Proxy
	seats int
	wg    sync.WaitGroup
	stop  context.CancelFunc
}

// attend begins to do so; end ends it.
func (s stage) attend(proxy haproxy.Proxy, seats int) *usher {
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	u := &usher{proxy: proxy, seats: seats, stop: cancel}
	u.wg.Go(func() {
		seated := map[int]netip.AddrPort{}
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			if f, err := s.fleet(); err == nil { // hale is away now and then
				u.seat(ctx, f, seated)
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return u
}

func (u *usher) end() {
	u.stop()
	u.wg.Wait()
}

// seat gives each machine that serves its seat, and empties the others. What HAProxy did not take is tried again.
func (u *usher) seat(ctx context.Context, f api.Fleet, seated map[int]netip.AddrPort) {
	serving := map[int]netip.AddrPort{}
	for _, m := range f.Machines {
		at, err := netip.ParseAddr(m.Address)
		if err == nil && m.Verdict == "healthy" && (m.Repair == nil || m.Repair.Kind != "remove") {
			serving[ordinal(m.Name)] = netip.AddrPortFrom(at, 80)
		}
	}
	for n := 1; n <= u.seats; n++ {
		at, serves := serving[n]
		switch was, sits := seated[n]; {
		case serves && was != at:
			if u.proxy.Seat(ctx, n, at) == nil {
				seated[n] = at
			}
		case !serves && sits:
			if u.proxy.Leave(ctx, n) == nil {
				delete(seated, n)
			}
		}
	}
}

// ordinal is the number in a machine's name.
func ordinal(machine string) int {
	n, _ := strconv.Atoi(machine[strings.LastIndexByte(machine, '-')+1:]) // hale made the name
	return n
}
