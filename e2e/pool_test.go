package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/testbed/haproxy"
)

// envPools is how often the scenes are played, for the long dose; empty: once, and without those that take long.
const envPools = "E2E_POOLS"

// served is a service that takes a fifth of a second for an answer, and gives it also while the machine's check fails:
// that asks for a page of its own, which comes with the provisioning.
const served = `      seed: true
      disks: {}
      user_data: |
        #!/bin/sh
        mkdir -p /www/cgi-bin
        for page in 'work usleep 200000' 'site cp /www/healthz /www/ready' 'spoil rm /www/ready'; do
          set -- $page
          name=$1
          shift
          printf '#!/bin/sh\n%%s\nprintf "Content-Type: text/plain\\r\\n\\r\\ndone\\n"\n' "$*" >/tmp/$name
          chmod 755 /tmp/$name
          mv /tmp/$name /www/cgi-bin/$name
        done
    checks: {ready: {http: {path: /ready}, every: 2s, timeout: 1900ms, down_after: 4}}
    balancers: {edge: {port: 80, wait: 5s}}
    provision: {site: {http: {url: %q}, within: 30s}}
    hooks: {leave: {finish: {wait: {deadline: 1m}, within: 2s}}}
    update: {canary: 1, soak: 1s, batch: 1, pause: 3s, min_in_service: 2}
    build_within: 1m
    silence: act
    limits: {in_repair: 2}
    repair: {attempts: 50 in 1h, backoff: 500ms, steps: [recreate], fence: {hosts: off}}
`

// edge is the load balancer, behind what the provider's hosts need.
const edge = `balancers:
  edge: {haproxy: {socket: %q, backend: %s}, every: 1s}
`

const (
	// leastServe is min_in_service: with as many machines in service, hale takes none away.
	leastServe, mostServe = 2, 3
	// templatePause is that of the key update.
	templatePause = 3 * time.Second
)

// TestS14S39S61S62UsersNoticeNothing has users ask all the time, behind HAProxy, while machines are repaired, replaced
// and removed, while another template comes, and while a host dies: no request fails that a machine could have
// answered.
func TestS14S39S61S62UsersNoticeNothing(t *testing.T) {
	t.Parallel()
	times := rounds(t, envPools, 1)
	proxy := haproxy.StartRetrying(t, mostServe)
	s, a := twoHosts(t, "10.115.0.0/16", "10.116.0.0/16")
	_, fences := s.powered(a)
	s.configure(func(set *settings) {
		set.fleet, set.size, set.most = "web", mostServe, mostServe
		set.sizes = fmt.Sprintf("{min: %d, max: %d, desired: %[2]d}", leastServe, mostServe)
		set.fleetYAML = fmt.Sprintf(served, s.provisioner())
	})
	s.spanBoth(a, fences+"\n"+fmt.Sprintf(edge, proxy.Socket, haproxy.Backend))
	s.raise()
	s.stands()
	c := s.crowd(proxy)
	for n := range times {
		c.scene("S14, S62 a machine serves while its check fails", leastServe, spoilt)
		c.scene("S61 one is replaced by order", leastServe, replaced)
		c.scene("S39 another template", leastServe, anotherTemplate)
		if times > 1 {
			c.scene("S39 a bad template, and back", leastServe, badTemplate)
		}
		c.scene("a host dies", 0, func(s stage) { hostDies(s, a) })
		c.scene("S61 fewer visitors", leastServe, func(s stage) { fewerVisitors(s, proxy) })
		if n+1 < times {
			c.scene("more visitors", leastServe, func(s stage) {
				s.says("scale", "web", strconv.Itoa(mostServe), "--reason", "more visitors")
			})
		}
	}
	c.end()
}

// spoilt: the machine leaves HAProxy first, and then has the time that is asked for. Its successor is configured before
// it is certified, and serves only then.
func spoilt(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.must(ask(s.within(moment), s.machine(victim).Address, "spoil"))
	s.event("a word is waited for", mark, of(victim, kind("hook-begun")))
	s.says("hook", "more", victim)
	s.says("hook", "done", victim)
	story := s.healed(victim, mark)
	s.wantCalls(story, "power-off", "delete", "create", "hook", "certify")
	s.inOrder(story, "incident-opened", "repair-started", "look", "pool-left", "hook-begun", "hook-over", "look",
		"proof",
		"hook-over", "verified", "certified", "repair-ended", "incident-closed")
	s.alone(victim, mark)
}

// replaced: a person has a healthy machine replaced. It leaves HAProxy before anything is done to it, and its successor
// serves once it is configured and healthy.
func replaced(s stage) {
	victim := s.pick()
	mark := s.journal.mark()
	s.says("replace", victim, "--reason", "planned work")
	s.eventWithin(patience, "it is replaced", mark, of(victim, because("repair-ended", "replaced")))
	own := slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != victim })
	s.wantCalls(own, "power-off", "delete", "create", "hook", "certify")
	s.inOrder(own, "repair-started", "pool-left", "hook-begun", "hook-over", "proof", "hook-over", "verified",
		"certified", "repair-ended")
}

// anotherTemplate goes through the fleet one machine after the other, with a pause between them.
func anotherTemplate(s stage) {
	mark := s.journal.mark()
	s.says("apply", "--confirm", s.plan(func(set *settings) { set.release++ }))
	s.eventWithin(mostServe*patience, "the update is over", mark, because("change", "updated"))
	var well time.Time
	n := 0
	for _, e := range s.after(mark) {
		switch {
		case kind("certified")(e):
			well = e.At
		case intent("power-off")(e):
			if n++; n > 2 && e.At.Sub(well) < templatePause { // the first one tries it, without a pause behind it
				s.Errorf("%s goes %s after another one is well", e.Machine, e.At.Sub(well))
			}
		}
	}
	for m := range s.machines() {
		own := slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != m })
		s.wantCalls(own, "power-off", "delete", "create", "hook", "certify")
		s.inOrder(own, "pool-left", "hook-begun", "hook-over", "proof", "hook-over", "verified", "certified")
	}
}

// badTemplate: no page ever comes from it. The others keep theirs, and the first one gets its own back.
func badTemplate(s stage) {
	mark := s.journal.mark()
	s.must(s.initrd.yield("nohttp"))
	s.says("apply", "--confirm", s.plan(func(set *settings) { set.release++ }))
	s.eventWithin(2*patience, "the update stops", mark, because("change", "update-stopped"))
	first := s.event("its first machine is left to a person", mark, kind("quarantined")).Machine
	s.must(s.initrd.yield("none"))
	s.says("rollout", "undo", "web", "--reason", "no page comes")
	s.eventWithin(2*patience, "it is undone", mark, because("change", "rolled-back"))
	for _, e := range s.after(mark) {
		if e.Machine != first && intent("power-off")(e) {
			s.Errorf("%s was taken down for a template that is bad", e.Machine)
		}
	}
	s.reload(func(set *settings) { set.release-- })
}

// hostDies ends everything on host a. Its machines are built on the other one; then the host is back.
func hostDies(s stage, a *box) {
	var victims []string
	for m := range s.machines() {
		if s.machine(m).Host == "a" {
			victims = append(victims, m)
		}
	}
	if len(victims) == 0 {
		s.Fatal("no machine is on host a")
	}
	mark := s.journal.mark()
	s.must(a.die())
	for _, m := range victims {
		s.healed(m, mark)
	}
	s.must(a.lab.StartLibvirtd(s.within(moment)))
	a.off.Store(nil) // its power is back
}

// fewerVisitors: one machine less is wanted. It is out of HAProxy, and stays up, until a word says that it may go.
func fewerVisitors(s stage, proxy *haproxy.Pool) {
	mark := s.journal.mark()
	s.says("scale", "web", strconv.Itoa(leastServe), "--reason", "fewer visitors")
	waits := s.event("a word is waited for", mark, kind("hook-begun"))
	if is := proxy.Servers()[waits.Machine]; is != "DRAIN" && is != "MAINT" {
		s.Errorf("%s is %s for HAProxy before its hook", waits.Machine, is)
	}
	// What others left on a host that was dead may be removed meanwhile: what hale did to this one counts.
	own := func() []api.Event {
		return slices.DeleteFunc(s.after(mark), func(e api.Event) bool { return e.Machine != waits.Machine })
	}
	s.says("hook", "more", waits.Machine)
	s.wantCalls(own())
	s.says("hook", "done", waits.Machine)
	s.is(leastServe)
	s.wantCalls(own(), "power-off", "delete")
	s.inOrder(own(), "pool-left", "hook-begun", "hook-over", "proof", "repair-ended")
}

// settled waits until HAProxy has each machine of the fleet serve.
func (c *crowd) settled(s stage) {
	s.Helper()
	s.await("all serve", func() error {
		f, err := s.fleet()
		if err != nil {
			return err
		}
		is := c.proxy.Servers()
		for _, m := range f.Machines {
			if !strings.HasPrefix(is[m.Name], "UP") {
				err = errors.Join(err, fmt.Errorf("%s is %s", m.Name, is[m.Name]))
			}
		}
		return err
	})
}
