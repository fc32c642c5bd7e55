package members

import (
	"context"
	"time"

	"hale/internal/state/active"
	"hale/internal/state/etcd"
)

// The active server does not lead etcd: when both are lost at once, an election comes before the next server can know
// that the active one is gone, and etcd gives all leases their full time again.
const (
	// leadEvery is how often is looked whether this server leads.
	leadEvery = time.Second
	// leadWithin is how long another one may take to begin to lead.
	leadWithin = 2 * time.Second
	// leadSettles is how long this server is the active one, and leads, before another one is to lead: it has begun its
	// work by then, and takes it in its stride that a write is not answered.
	leadSettles = 10 * time.Second
	// leadRest is the time from one change to the next, however it ended.
	leadRest = 30 * time.Second
	// nearBehind is by how many entries of the log a server lags at most that may lead.
	nearBehind = 100
)

// shun has another server lead whenever this one is the active one and leads, until ctx ends.
func (m *Member) shun(ctx context.Context, store *etcd.Own) {
	tick := time.NewTicker(leadEvery)
	defer tick.Stop()
	var last, since time.Time // the last change, and since when this server is the active one and leads
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch now := time.Now(); {
		case !store.Leads() || len(store.Servers()) < 2 || !m.isActive(ctx, store):
			since = time.Time{}
			continue
		case since.IsZero():
			since = now
			continue
		case now.Sub(since) < leadSettles || !last.IsZero() && now.Sub(last) < leadRest:
			continue
		}
		asking, cancel := context.WithTimeout(ctx, standingWithin)
		next, ok := fitToLead(m.ask(asking, store, nil), m.papers.Advertise)
		cancel()
		if !ok {
			continue
		}
		last = time.Now()
		handing, cancel := context.WithTimeout(ctx, leadWithin)
		err := store.HandLead(handing, next.ID)
		cancel()
		if err != nil {
			m.Logger.Warn("another server was to lead etcd in place of the active one, and does not",
				"server", next.name, "err", err)
			continue
		}
		m.Logger.Info("another server leads etcd in place of the active one", "server", next.name)
	}
}

// isActive reports whether this server is the active one.
func (m *Member) isActive(ctx context.Context, store *etcd.Own) bool {
	asking, cancel := context.WithTimeout(ctx, leadWithin)
	defer cancel()
	is, some, err := active.Is(asking, store)
	return err == nil && some && is.Name == m.Name()
}

// fitToLead returns the server that is to lead in place of the one at the address: with a vote, in touch, without a
// trouble of its own, and of those the one that has most of the log. A server that lacks much of it is none.
func fitToLead(all []seen, but string) (best seen, ok bool) {
	far := uint64(0)
	for _, s := range all {
		far = max(far, s.says.Committed)
	}
	for _, s := range all {
		if s.Address == but || s.Learner || !s.up() || !s.says.Led || s.says.Trouble != "" ||
			s.says.Applied+nearBehind < far {
			continue
		}
		if !ok || s.says.Applied > best.says.Applied {
			best, ok = s, true
		}
	}
	return best, ok
}
