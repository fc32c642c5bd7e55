package satellite

import (
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/probe"
)

// choose has each target looked at by the satellites that are to look at it now.
func (h *Hub) choose(now time.Time) {
	present := h.present(now)
	for _, w := range h.targets {
		h.assign(w, present)
	}
}

// assign has the target looked at by those that are to look at it. The hub's mutex is held.
func (h *Hub) assign(w *watched, present []string) {
	eyes := eyesOf(w.Machine, w.Spec.Sight.Vantages-1, slices.Sorted(maps.Keys(h.seats)), present)
	for _, name := range w.eyes {
		if s := h.seats[name]; s != nil && !slices.Contains(eyes, name) {
			s.spare(w.ID)
		}
	}
	for _, name := range eyes {
		if !slices.Contains(w.eyes, name) {
			h.seats[name].order(w.ID)
		}
	}
	if !slices.Equal(eyes, w.eyes) {
		w.eyes = eyes
		w.panel.heed(w.ID)
	}
}

// eyesOf returns which satellites look at a machine: so many, by rendezvous hashing, sorted by name. Where one comes or
// goes, only what it looks at changes. Those that are present come first.
func eyesOf(machine fleet.MachineName, n int, all, present []string) []string {
	type rank struct {
		name  string
		away  bool
		score uint64
	}
	ranks := make([]rank, len(all))
	for i, name := range all {
		ranks[i] = rank{name, !slices.Contains(present, name), score(machine, name)}
	}
	slices.SortFunc(ranks, func(a, b rank) int {
		switch {
		case a.away != b.away && b.away, a.away == b.away && a.score > b.score:
			return -1
		case a == b:
			return 0
		}
		return 1
	})
	var out []string
	for _, r := range ranks[:min(max(n, 0), len(ranks))] {
		out = append(out, r.name)
	}
	slices.Sort(out)
	return out
}

func score(machine fleet.MachineName, satellite string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(machine))
	h.Write([]byte{0})
	h.Write([]byte(satellite))
	x := h.Sum64() // the finish of splitmix64 spreads the few bits in which similar names differ
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// set takes in what a panel wants looked at. What changed has a new revision: what was said of it before counts no
// more.
func (h *Hub) set(p *Panel, targets []probe.Target) {
	h.mu.Lock()
	defer h.mu.Unlock()
	present := h.present(time.Now())
	for _, t := range targets {
		w := h.targets[t.ID]
		switch {
		case t.Unaimed() != fleet.ResultNone:
			h.end(w)
			continue
		case w == nil:
			w = &watched{}
			h.targets[t.ID] = w
		case w.panel == p && same(&w.Target, &t):
			continue
		}
		h.revision++
		for _, name := range w.eyes {
			if s := h.seats[name]; s != nil {
				s.order(t.ID)
			}
		}
		w.Target, w.revision, w.panel = t, h.revision, p
		h.assign(w, present)
		p.heed(t.ID)
	}
	h.wake()
}

// end has nobody look at the target any more; nil is none.
func (h *Hub) end(w *watched) {
	if w == nil {
		return
	}
	for _, name := range w.eyes {
		if s := h.seats[name]; s != nil {
			s.spare(w.ID)
		}
	}
	delete(h.targets, w.ID)
}

// remove ends targets of the panel; one that another panel has taken over goes on.
func (h *Hub) remove(p *Panel, ids []probe.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if w := h.targets[id]; w != nil && w.panel == p {
			h.end(w)
		}
	}
	h.wake()
}

// close ends all targets of the panel.
func (h *Hub) close(p *Panel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.targets {
		if w.panel == p {
			h.end(w)
		}
	}
	h.wake()
}

// wake has all satellites answered that wait for something new.
func (h *Hub) wake() {
	for _, s := range h.seats {
		s.ring()
	}
}
