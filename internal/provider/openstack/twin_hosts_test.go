package openstack_test

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// twinHost is a hypervisor. The zero value sends its heartbeats and takes servers.
type twinHost struct {
	silent, forced, disabled bool
	full                     bool // the scheduler finds no room on it
	addresses                []string
}

func (h *twinHost) down() bool { return h.silent || h.forced }

func (w *twin) listHosts(http.ResponseWriter, *http.Request) (int, any) {
	if !w.admin {
		return 403, mistake("forbidden", 403, "Policy doesn't allow os_compute_api:os-services:list to be performed.")
	}
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		h := w.hosts[name]
		state, status := "up", "enabled"
		if h.down() {
			state = "down"
		}
		if h.disabled {
			status = "disabled"
		}
		list = append(list, map[string]any{
			"id":          name,
			"binary":      "nova-compute",
			"host":        name,
			"zone":        "nova",
			"state":       state,
			"status":      status,
			"forced_down": h.forced,
		})
	}
	return 200, map[string]any{"services": list}
}

// listHostAddresses is what Nova tells administrators of the hypervisors behind its services.
func (w *twin) listHostAddresses(http.ResponseWriter, *http.Request) (int, any) {
	if !w.admin || w.hidesAddresses {
		return 403, mistake("forbidden", 403,
			"Policy doesn't allow os_compute_api:os-hypervisors:list-detail to be performed.")
	}
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		for _, a := range w.hosts[name].addresses {
			list = append(list, map[string]any{"host_ip": a, "service": map[string]any{"host": name}})
		}
	}
	return 200, map[string]any{"hypervisors": list}
}

func (w *twin) hostStatus(name string) string {
	switch h := w.hosts[name]; {
	case h == nil:
		return ""
	case h.forced:
		return "DOWN"
	case h.disabled:
		return "MAINTENANCE"
	case h.silent:
		return "UNKNOWN"
	}
	return "UP"
}

// schedule returns the emptiest hypervisor that takes a server, but for one; empty: none does.
func (w *twin) schedule(but string) string {
	load := map[string]int{}
	for _, s := range w.servers {
		if s.Status != "DELETED" {
			load[s.Host]++
		}
	}
	best := ""
	for _, name := range slices.Sorted(maps.Keys(w.hosts)) {
		if h := w.hosts[name]; name != but && !h.down() && !h.disabled && !h.full &&
			(best == "" || load[name] < load[best]) {
			best = name
		}
	}
	return best
}

func (w *twin) evacuate(s *twinServer) (int, any) {
	if h := w.hosts[s.Host]; h == nil || !h.down() {
		return 400, mistake("badRequest", 400, "Compute service of "+s.Host+" is still in use.")
	}
	s.record("evacuate", "u")
	was := s.Status
	s.moving = true
	s.later(w.boot, "rebuilding", func() {
		to := w.schedule(s.Host)
		if to == "" {
			s.Status, s.moving = "ERROR", false
			return
		}
		s.Power, s.Status, s.evacuated = 1, "ACTIVE", s.evacuated+1
		if was == "SHUTOFF" {
			s.Status, s.Power = was, 4
		}
		due := s.at
		s.later(time.Second, "", func() { s.Host, s.moving = to, false }) // it runs there before it is said to be there
		s.at = due.Add(time.Second)
	})
	return 200, nil
}

func (w *twin) listMigrations(_ http.ResponseWriter, q *http.Request) (int, any) {
	list := []any{}
	if s := w.servers[q.URL.Query().Get("instance_uuid")]; s != nil && s.evacuated+s.migrated > 0 ||
		s != nil && s.moving {
		status := "done"
		if s.moving {
			status = "accepted"
		}
		list = append(list, map[string]any{"status": status, "instance_uuid": s.ID})
	}
	return 200, map[string]any{"migrations": list}
}

func (w *twin) migrate(s *twinServer, how map[string]any) (int, any) {
	if h := w.hosts[s.Host]; h == nil || h.down() || how["block_migration"] != "auto" {
		return 400, mistake("badRequest", 400, "Compute service of "+s.Host+" is unavailable at this time.")
	}
	s.record("live-migration", "u")
	s.Status = "MIGRATING"
	s.later(3*time.Second, "migrating", func() {
		s.Status = "ACTIVE"
		if to := w.schedule(s.Host); to != "" {
			s.Host, s.migrated = to, s.migrated+1
		}
	})
	return 202, nil
}
