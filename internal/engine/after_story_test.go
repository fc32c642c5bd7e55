package engine_test

import (
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/provider/simulated"
)

// after returns two fleets: a web, and the database that comes first. Two failures of the database's three machines are
// too many for its brake, so that hale leaves them to people.
func after() (web3, db policy.Spec) {
	web3, db = web(3), web(3)
	web3.After = []fleet.Name{"db"}
	db.Name, db.Limits.Brake.AtLeast = "db", 1
	return web3, db
}

// databaseFails lets two of the database's three machines fail, until that is lifted.
func (s *story) databaseFails() (lift func()) {
	var mend []func()
	for _, name := range []fleet.MachineName{"db-1", "db-2"} {
		mend = append(mend, s.inject(simulated.Broken{Instance: s.idOf(name),
			Illness: simulated.Illness{Symptom: simulated.NoHTTP}}))
	}
	s.await(time.Minute, "the database does not serve, and that is known", func() bool {
		all := s.status().Unready
		return len(all) == 1 && all[0].Known && all[0].Well == 1
	})
	return func() {
		for _, lift := range mend {
			lift()
		}
	}
}

// The web is built after its database, is not repaired while that does not serve, and is as soon as it does. A person
// is told when that takes long, and what a person orders is done in any case.
func TestAFleetWaitsForTheOneThatComesFirst(t *testing.T) {
	t.Parallel()
	spec, db := after()
	tell(t, simulated.Options{}, spec, func(s *story) {
		s.beside = []policy.Spec{db}
		s.grown()
		if s.count(because(record.Held, fleet.ReasonAfter)) == 0 {
			t.Error("the web was built before its database")
		}
		lift := s.databaseFails()
		crashes(s)
		s.await(2*time.Minute, "web-2 waits", func() bool { return s.machine(2).Waiting == fleet.ReasonAfter })
		s.pass(20 * time.Minute)
		if s.heals(2) != 0 {
			t.Error("it was repaired while its database did not serve")
		}
		if n := s.count(because(record.Paged, fleet.ReasonAfter)); n != 1 {
			t.Errorf("a person was told %d times that it waits", n)
		}
		s.orders(fleet.Order{Kind: fleet.OrderHeal, Machine: "web-2"})
		s.await(5*time.Minute, "it is healed by order", s.allHealthy)
		s.inject(simulated.Crash{Instance: s.id(3)})
		s.await(2*time.Minute, "web-3 waits", func() bool { return s.machine(3).Waiting == fleet.ReasonAfter })
		lift()
		s.await(5*time.Minute, "the web is healed", s.allHealthy)
	})
}

// A database that another server looks after is waited for as one of the same: how it stands lies in the store.
func TestAFleetWaitsForOneOfAnotherServer(t *testing.T) {
	t.Parallel()
	spec, db := after()
	tell(t, simulated.Options{}, db, func(s *story) {
		s.grown()
		first := s.hale
		defer first.stop()
		s.spec, s.beside = spec, []policy.Spec{db}
		s.hale = s.controller("hale-2")
		s.await(5*time.Minute, "the web stands", s.allHealthy)
		s.pass(time.Minute)
		lift := s.databaseFails()
		crashes(s)
		s.await(2*time.Minute, "web-2 waits", func() bool { return s.machine(2).Waiting == fleet.ReasonAfter })
		lift()
		s.await(5*time.Minute, "the web is healed", s.allHealthy)
	})
}
