package engine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/notify/memory"
	"hale/internal/provider/simulated"
	"hale/internal/state"
	"hale/internal/state/format"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// entriesOf reads a store that an earlier version left.
func entriesOf(t *testing.T, file string) []state.Entry {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var entries []state.Entry
	for _, f := range txtar.Parse(data).Files {
		entries = append(entries, state.Entry{Key: f.Name, Value: []byte(strings.TrimSuffix(string(f.Data), "\n"))})
	}
	return entries
}

// Inherit is a world with the machines of busy, as the entries have them, and a hale that begins with these.
func (s *story) inherit(entries []state.Entry) {
	s.t.Helper()
	s.pass(time.Hour) // the day that it was is over
	fresh := s.refill(entries)
	if err := format.Open(s.t.Context(), fresh, "test"); err != nil {
		s.t.Fatal(err)
	}
	var installation fleet.Installation
	var machines []belief.Machine
	for _, e := range entries {
		switch {
		case e.Key == "installation":
			installation = fleet.Installation(e.Value)
		case strings.HasPrefix(e.Key, "fleets/web/machines/"):
			var m belief.Machine
			if err := json.Unmarshal(e.Value, &m); err != nil {
				s.t.Fatal(err)
			}
			machines = append(machines, m)
		}
	}
	plant := func(m belief.Machine, i belief.Incarnation, name string, kept bool) {
		err := s.world.Plant(fleet.Instance{ID: i.ID, Name: name, Host: i.Host, Mark: fleet.Mark{
			Installation: installation, Fleet: "web", Machine: m.Name, Generation: i.Generation, Certified: i.Certified,
			Kept: kept}})
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for _, m := range machines {
		for _, k := range m.Kept {
			plant(m, k.Incarnation, fmt.Sprintf("%s-kept-g%d", m.Name, k.Generation), true)
			s.inject(simulated.PersonPowersOff{Instance: k.ID})
		}
		plant(m, m.Current, string(m.Name), false)
	}
	ill := func(n int, cure simulated.Cure) {
		s.inject(simulated.Broken{Instance: s.id(n), Illness: simulated.Illness{Symptom: simulated.NoHTTP, Cure: cure}})
	}
	ill(2, simulated.ByReboot) // the reboot that was under way did not take effect
	ill(5, simulated.ByRecreate)
	s.start()
}

// goesOn demands that nothing of what was believed is lost, and that healing goes on from it.
func (s *story) goesOn(ops *memory.Target, entries []state.Entry) {
	t := s.t
	t.Helper()
	s.await(10*time.Minute, "web-2's repair goes on, and heals it", func() bool { return s.healthy(2) })
	s.await(time.Minute, "the order that waited is taken up", func() bool {
		return len(s.status().Whole.Holds) == 2 &&
			s.inInbox() == 0
	})
	for _, n := range []int{1, 3, 4, 6, 7} {
		if !s.healthy(n) || s.heals(n) != 0 && n != 3 {
			t.Errorf("web-%d: %+v", n, s.machine(n))
		}
	}
	s.remembers()
	at := slices.IndexFunc(entries, func(e state.Entry) bool { return strings.HasPrefix(e.Key, "outbox/web/waiting/") })
	var letter struct{ Key string }
	if err := json.Unmarshal(entries[at].Value, &letter); err != nil || len(ops.Tries()) == 0 ||
		ops.Tries()[0].Key != letter.Key {
		t.Errorf("the message that waited, %s, went out as %+v, %v", letter.Key, ops.Tries(), err)
	}
	s.inject(simulated.Broken{Instance: s.id(1), Illness: simulated.Illness{Symptom: simulated.NoHTTP,
		Cure: simulated.ByReboot}})
	s.await(10*time.Minute, "a new failure is healed", func() bool { return s.heals(1) == 1 && s.healthy(1) })
}

// remembers demands what was believed of busy's machines and of the fleet.
func (s *story) remembers() {
	t := s.t
	t.Helper()
	if m := s.machine(2); m.Incidents != 1 || len(m.Attempts) == 0 {
		t.Errorf("web-2's incident was another one: %+v", m)
	}
	if m := s.machine(3); len(m.Kept) != 1 || len(m.Snapshots) != 1 || m.Current.Generation != 2 {
		t.Errorf("what web-3 was is forgotten: %+v", m)
	}
	if m := s.machine(5); m.Quarantine == nil || m.Incident == nil || m.Incident.ID != "web-5/1" || !m.Incident.Paged {
		t.Errorf("web-5 left its quarantine: %+v", m)
	}
	if w := s.status().Whole; w.Holds[0].Machine != "web-4" || w.Ledger == nil || w.Ledger.Size != 7 ||
		w.Ledger.Ordered == nil {
		t.Errorf("what people ordered is forgotten: %+v", w)
	}
}

// down is a target that takes nothing.
func down() *memory.Target {
	ops := &memory.Target{}
	ops.Down(fault.New(fault.Transient, "x", "", errors.New("503 Service Unavailable")))
	return ops
}

// A store of each format is read whole, and healing goes on from it. TestAStoreOfTodayIsRead made it, with the last
// version that wrote the format.
func TestAStoreOfEachFormatIsRead(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/format-*.txtar")
	if err != nil || len(files) != format.Current() {
		t.Fatalf("%d formats, and stores in %v, %v", format.Current(), files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			entries, ops := entriesOf(t, file), down()
			tell(t, simulated.Options{Hosts: busyHosts}, busy(), func(s *story) {
				s.people(map[policy.TargetName]*memory.Target{"ops": ops})
				s.inherit(entries)
				s.goesOn(ops, entries)
			})
		})
	}
}

// foreign is a member of a document that no version of hale knows.
const foreign = "Zzz"

// sprinkle puts the foreign member into every object, with the path of the object.
func sprinkle(v any, path string) {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			sprinkle(v[name], path+"."+name)
		}
		v[foreign] = path
	case []any:
		for i := range v {
			sprinkle(v[i], path)
		}
	}
}

// found returns the paths that the foreign members in a document name.
func found(v any) (paths []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, below := range v {
			if name == foreign {
				paths = append(paths, fmt.Sprint(below))
			} else {
				paths = append(paths, found(below)...)
			}
		}
	case []any:
		for i := range v {
			paths = append(paths, found(v[i])...)
		}
	}
	slices.Sort(paths)
	return paths
}

// strange reports whether a document may have foreign members: records are never written again, and the installation is
// a word.
func strange(e state.Entry) (document any, ok bool) {
	ok = !strings.HasPrefix(e.Key, "journal/") && json.Unmarshal(e.Value, &document) == nil
	return document, ok
}

// foreigners returns, by key, the paths of the foreign members.
func foreigners(entries []state.Entry, of func(key string) bool) map[string][]string {
	out := map[string][]string{}
	for _, e := range entries {
		if v, ok := strange(e); ok && of(e.Key) {
			if paths := found(v); len(paths) > 0 {
				out[e.Key] = paths
			}
		}
	}
	return out
}

// What a newer version of the same format said survives this one at every depth, as long as what it was said of is
// there.
func TestWhatANewerVersionWroteSurvives(t *testing.T) {
	t.Parallel()
	entries := entriesOf(t, fmt.Sprintf("testdata/format-%d.txtar", format.Current()))
	was := map[string]string{}
	for i := range entries {
		v, ok := strange(entries[i])
		if !ok {
			continue
		}
		sprinkle(v, "")
		var err error
		if entries[i].Value, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
		was[entries[i].Key] = string(entries[i].Value)
	}
	// What is not of the fleet is not written again, but for messages; orders and places in the book of slots are gone
	// by then.
	want := foreigners(entries, func(key string) bool {
		return !strings.HasPrefix(key, "fleets/") && !strings.HasPrefix(key, "inbox/") && key != "slots"
	})
	machine := []string{"", ".Current", ".Health"}
	kept := []string{"", ".Current", ".Health", ".Kept", ".Snapshots"}
	maps.Copy(want, map[string][]string{
		"fleets/web/brake":          {""},
		"fleets/web/whole":          {"", ".Holds", ".Ledger", ".Ledger.Ordered", ".Ledger.Template"},
		"fleets/web/machines/web-1": machine,
		// its incident and its repair are over, and its instance is another one
		"fleets/web/machines/web-2": {"", ".Health"},
		"fleets/web/machines/web-3": kept,
		"fleets/web/machines/web-4": machine,
		"fleets/web/machines/web-5": {"", ".Current", ".Health", ".Incident", ".Kept", ".Quarantine", ".Snapshots"},
		"fleets/web/machines/web-6": machine,
		"fleets/web/machines/web-7": machine,
	})
	ops := down()
	tell(t, simulated.Options{Hosts: busyHosts}, busy(), func(s *story) {
		s.people(map[policy.TargetName]*memory.Target{"ops": ops})
		s.inherit(entries)
		s.goesOn(ops, entries)
		s.orders(fleet.Order{Kind: fleet.OrderBrakeOn, Reason: "so that it is written"})
		s.await(time.Minute, "the brake is on", func() bool { b := s.status().Brake; return b.On() })
		s.kill()
		now := s.stored()
		if diff := cmp.Diff(want, foreigners(now, func(string) bool { return true })); diff != "" {
			t.Errorf("what is kept, by the key: %s", diff)
		}
		for _, e := range now {
			if strings.HasPrefix(e.Key, "fleets/") && was[e.Key] == string(e.Value) {
				t.Errorf("%s was never written again: this shows nothing of it", e.Key)
			}
		}
	})
}
