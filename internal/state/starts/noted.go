package starts

import (
	"context"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
)

// NotedPrefix is where in the store the starts lie that were noted.
const NotedPrefix = "noted/"

func notedUnder(p fleet.ProviderName) string { return NotedPrefix + string(p) + "/" }

// Noting is the write that lets the store know a start that stands, or is about to, at the provider's.
func Noting(p fleet.ProviderName, name fleet.StartName) state.Write {
	return state.Put(notedUnder(p)+string(name), nil)
}

// Note lets the store know a start before it is noted at the provider's. After fault.UnknownOutcome it may know it.
func Note(ctx context.Context, s state.Store, p fleet.ProviderName, name fleet.StartName) error {
	_, err := s.Commit(ctx, state.Txn{Then: []state.Write{Noting(p, name)}})
	return err
}

// Noted returns the starts that the store knows to have been noted, by the provider. Two providers' names may mean one
// place, so that what is known of any is known of all.
func Noted(ctx context.Context, s state.Store) (map[fleet.StartName][]fleet.ProviderName, error) {
	entries, _, err := s.List(ctx, NotedPrefix)
	if err != nil {
		return nil, err
	}
	noted := make(map[fleet.StartName][]fleet.ProviderName, len(entries))
	for _, e := range entries {
		p, text, _ := strings.Cut(strings.TrimPrefix(e.Key, NotedPrefix), "/")
		name, err := fleet.ParseStart(text)
		if err != nil {
			return nil, fault.New(fault.Permanent, "starts.noted", e.Key, err)
		}
		noted[name] = append(noted[name], fleet.ProviderName(p))
	}
	return noted, nil
}

// Forget lets the store forget starts that stand nowhere at the provider's any more.
func Forget(ctx context.Context, s state.Store, p fleet.ProviderName, names []fleet.StartName) error {
	var txn state.Txn
	for _, name := range names {
		txn.Then = append(txn.Then, state.Delete(notedUnder(p)+string(name)))
	}
	if len(txn.Then) == 0 {
		return nil
	}
	_, err := s.Commit(ctx, txn)
	return err
}
