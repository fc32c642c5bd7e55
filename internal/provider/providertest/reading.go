package providertest

import (
	"context"
	"maps"
	"slices"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

func identityIsStable(t T, h Harness) {
	e := begin(t, h)
	first, err := e.p.Identity(e.ctx())
	e.do("identity", err)
	again, err := h.New(t).Identity(e.ctx())
	e.do("identity of another handle", err)
	e.same("identity", first, again)
	e.same("hosts with an identity", h.Hosts(), slices.Sorted(maps.Keys(first)))
	for host, identity := range first {
		if identity == "" {
			t.Errorf("host %q has an empty identity", host)
		}
	}
}

func absentIsNotFound(t T, h Harness) {
	e := begin(t, h)
	absent := e.order(1).Ref
	_, err := e.p.Get(e.ctx(), absent)
	e.refused("get", err, fault.NotFound)
	e.refused("start", e.p.Start(e.ctx(), absent), fault.NotFound)
	e.refused("reboot", e.p.Reboot(e.ctx(), absent), fault.NotFound)
	e.refused("power off", e.p.PowerOff(e.ctx(), absent), fault.NotFound)
	e.refused("certify", e.p.Certify(e.ctx(), absent), fault.NotFound)
	e.do("delete of what is not there", e.p.Delete(e.ctx(), absent))
}

func listAndGetAgree(t T, h Harness) {
	e := begin(t, h)
	running, stopped := e.built(1), e.built(2)
	e.off(stopped.Ref)
	e.awaitInstance("an address", running.Ref, func(i fleet.Instance) bool { return i.Address.IsValid() })

	listing := e.list()
	var hosts []fleet.HostName
	for _, answer := range listing.Hosts {
		hosts = append(hosts, answer.Name)
	}
	e.same("hosts of the listing", h.Hosts(), hosts)
	for _, order := range []struct {
		name string
		want fleet.Instance
	}{{running.Name, e.get(running.Ref)}, {stopped.Name, e.get(stopped.Ref)}} {
		found := Named(listing, order.name)
		if len(found) != 1 {
			t.Errorf("the listing has %s %d times", order.name, len(found))
			continue
		}
		e.same("list (got) and get (want) of "+order.name, order.want, found[0])
	}
}

func markIsReadBack(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	seen := e.get(order.Ref)
	e.same("mark by get", order.Mark, seen.Mark)
	e.same("id", order.ID, seen.ID)
	e.same("name", order.Name, seen.Name)
	e.same("host", order.Host, seen.Host)
	if n := order.Template.Network; n != "" {
		e.same("network", n, seen.Network)
	}
	for _, listed := range Named(e.list(), order.Name) {
		e.same("mark by list", order.Mark, listed.Mark)
	}
}

func endedContextSendsNothing(t T, h Harness) {
	e := begin(t, h)
	order := e.built(1)
	ended, cancel := context.WithCancel(e.ctx())
	cancel()
	_, err := e.p.List(ended)
	e.refused("list", err, fault.Transient)
	_, err = e.p.Get(ended, order.Ref)
	e.refused("get", err, fault.Transient)

	e.refused("power off", e.p.PowerOff(ended, order.Ref), fault.Transient)
	second := e.order(2)
	e.refused("create", e.p.Create(ended, second), fault.Transient)
	e.stays("a provider that was asked for nothing", func() (string, bool) {
		seen := e.get(order.Ref)
		return string(seen.Power), seen.Power == fleet.PowerRunning && len(Named(e.list(), second.Name)) == 0
	})
}
