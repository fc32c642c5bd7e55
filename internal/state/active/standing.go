package active

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"
)

const (
	standingPrefix = "active/standing/"
	// standingFor is how long after its last sign a server is still listed that stood by.
	standingFor = 15 * time.Second
)

// Standing is a server's own line in the list of those that stand by.
type Standing struct {
	store state.Store
	lease state.Lease
	end   context.CancelFunc
	key   string
	said  Server
}

// Stand has the server be listed until ctx ends, or End.
func Stand(ctx context.Context, store state.Store, me Server) (*Standing, error) {
	life, end := context.WithCancel(ctx)
	lease, err := store.Grant(life, standingFor)
	if err != nil {
		end()
		return nil, err
	}
	s := &Standing{store: store, lease: lease, end: end, key: standingPrefix + me.Process}
	if err := s.Say(ctx, me); err != nil {
		s.End(ctx)
		return nil, err
	}
	return s, nil
}

// Lost reports whether it is listed no more, as after the store was out of reach.
func (s *Standing) Lost() bool {
	select {
	case <-s.lease.Lost():
		return true
	default:
		return false
	}
}

// Say lists it as it is now.
func (s *Standing) Say(ctx context.Context, me Server) error {
	if me == s.said {
		return nil
	}
	value, err := json.Marshal(me)
	if err == nil {
		_, err = s.store.Commit(ctx, state.Txn{Then: []state.Write{state.PutLeased(s.key, value, s.lease.ID())}})
	}
	if err == nil {
		s.said = me
	}
	return err
}

// End takes it off the list.
func (s *Standing) End(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = s.lease.Revoke(ctx) // else it runs out by itself
	s.end()
}

// Follow tells of the servers that stand by: at first, whenever something changes, and every half a minute, until ctx
// ends or the store fails.
func Follow(ctx context.Context, store state.Store, told func([]Server)) error {
	for {
		all, revision, err := standing(ctx, store)
		if err != nil {
			return err
		}
		told(all)
		if err := news(ctx, store, standingPrefix, revision); err != nil {
			return err
		}
	}
}

// StandBy returns the servers that stand by, sorted by name.
func StandBy(ctx context.Context, store state.Store) ([]Server, error) {
	all, _, err := standing(ctx, store)
	return all, err
}

func standing(ctx context.Context, store state.Store) (all []Server, revision int64, err error) {
	entries, revision, err := store.List(ctx, standingPrefix)
	if err != nil {
		return nil, 0, err
	}
	all = make([]Server, len(entries))
	for i, e := range entries {
		if err := json.Unmarshal(e.Value, &all[i]); err != nil {
			return nil, 0, fault.New(fault.Permanent, "active.list", e.Key, err)
		}
	}
	slices.SortFunc(all, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Process, b.Process))
	})
	return all, revision, nil
}
