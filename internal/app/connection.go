package app

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	"hale/internal/adapters"
	"hale/internal/config"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/kinds"
	"hale/internal/state"
	"hale/internal/state/beliefs"
)

// connections are the providers as they were connected last, by name: another address behind the same name may be
// another hypervisor, so it waits for a person's word, also over a restart.
type connections map[fleet.ProviderName]config.Provider

const (
	providersPrefix  = "providers/"
	connectionSuffix = "/connection"
)

func connectionKey(p fleet.ProviderName) string {
	return providersPrefix + string(p) + connectionSuffix
}

// inForce returns the provider as it is to be connected: as before where its address is another one.
func (were connections) inForce(p config.Provider) config.Provider {
	if was, known := were[p.Name]; known && !p.SameAddress(was) {
		return completed(was, p)
	}
	return p
}

// completed is a provider out of the store with what the store does not have, as the configuration has it: what refers
// to secrets.
func completed(was, p config.Provider) config.Provider {
	if s, ok := was.Settings.(kinds.Partial); ok {
		was.Settings = s.Restored(p.Settings)
	}
	return was
}

func recallConnections(ctx context.Context, store state.Store) (connections, error) {
	entries, _, err := store.List(ctx, providersPrefix)
	if err != nil {
		return nil, err
	}
	were := connections{}
	for _, e := range entries {
		if !strings.HasSuffix(e.Key, connectionSuffix) {
			continue
		}
		p, err := config.Stored(e.Value, adapters.All())
		if err != nil {
			return nil, fault.New(fault.Permanent, "app.connections", e.Key, err)
		}
		were[p.Name] = p
	}
	return were, nil
}

// noteConnections stores how the providers are connected. Who is behind an address that is another one is to be seen
// anew.
func (s *site) noteConnections(ctx context.Context, adapters []adapter) error {
	were, err := recallConnections(ctx, s.how.store)
	if err != nil {
		return err
	}
	for _, a := range adapters {
		was, known := were[a.config.Name]
		if known && reflect.DeepEqual(completed(was, a.config), a.config) {
			continue
		}
		data, err := json.Marshal(a.config)
		if err != nil {
			return fault.New(fault.Invalid, "app.connections", string(a.config.Name), err)
		}
		writes := []state.Write{state.Put(connectionKey(a.config.Name), data)}
		if known && !a.config.SameAddress(was) {
			writes = append(writes, beliefs.ForgetIdentity(a.config.Name))
		}
		if _, err := s.how.store.Commit(ctx, state.Txn{Then: writes}); err != nil {
			return err
		}
	}
	return nil
}
