package sim

import (
	"slices"

	"hale/internal/sim/drains"
	"hale/internal/sim/prober"
	"hale/internal/sim/script"
)

// otherName is what the server of a second hale is called that has a store of its own.
const otherName = "other-1"

// other is the second hale's installation, where its store is its own.
const other = "other"

// startsTwice starts a second hale on a copy of the store. Each of the two believes that the fleet is its own. What the
// operator orders goes to the first.
func startsTwice(s *stage, e script.Event) (func(), error) {
	return s.secondHale(e, s.installation, prober.CopyName, s.store.now(s.judge))
}

// installsTwice starts a second hale with the same file on a store of its own, which is empty: another installation.
// What the operator orders goes to the first.
func installsTwice(s *stage, e script.Event) (func(), error) {
	return s.secondHale(e, other, otherName, newStore(len(s.store.Beliefs)).now(s.judge))
}

// secondHale starts one beside the first, on a store that holds what is given.
func (s *stage) secondHale(e script.Event, id, name string, holds *past) (func(), error) {
	if s.rival != nil || s.double != nil {
		return nil, nil // a rival has no store; a third hale shows nothing that the second does not
	}
	d := &stage{
		options: s.options, spec: s.spec, wanted: s.wanted, w: s.w, score: s.score, trace: s.trace, ways: s.ways,
		disks: s.disks, first: s, pools: s.pools,
		installation: id,
	}
	d.store = newStore(len(s.store.Beliefs))
	d.store.hold(holds)
	d.store.posted = s.store.posted
	d.drains = drains.New(s.w, nil, nil) // two hales contradict each other
	d.judge = s.judge.Second(d, name, id, &d.store.Content)
	d.servers = crew{&server{s: d, name: name}}
	s.double = d
	s.judge.NightFalls(e, "")
	d.servers[0].start()
	return func() { s.EndSecond() }, nil
}

// EndSecond implements judge.Run: it kills the second hale.
func (s *stage) EndSecond() {
	if s.double != nil {
		s.trace.Say(s.w.Now(), "", "! "+s.double.servers[0].name+" is ended by a person")
		s.double.servers[0].crash()
		s.double.servers[0].client.Close()
		s.double = nil
		s.judge.Alone()
	}
}

// everybody returns the servers of both hales.
func (s *stage) everybody() crew {
	if s.double == nil {
		return s.servers
	}
	return slices.Concat(s.servers, s.double.servers)
}

// eldest returns the stage on which the truth is judged.
func (s *stage) eldest() *stage {
	if s.first != nil {
		return s.first
	}
	return s
}
