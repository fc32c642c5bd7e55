package beliefs

import (
	"context"
	"encoding/json"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/resized"
	"hale/internal/state"
	"hale/internal/state/journal"
)

// Belief is one machine as a store has it: its Instants belong to the process that stored it.
type Belief struct {
	Key     string
	Machine belief.Machine
}

// All returns what the store holds of the fleet's machines, for those who ask without owning it.
func All(ctx context.Context, s state.Store, name fleet.Name) ([]Belief, error) {
	entries, _, err := s.List(ctx, MachinesPrefix(name))
	if err != nil {
		return nil, err
	}
	out := make([]Belief, 0, len(entries))
	for _, e := range entries {
		b := Belief{Key: e.Key}
		if err := json.Unmarshal(e.Value, &b.Machine); err != nil {
			return nil, fault.New(fault.Permanent, "engine.beliefs", e.Key, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// whole reads what is believed of the fleet as a whole; the zero value where nothing is yet.
func whole(ctx context.Context, s state.Store, name fleet.Name) (w belief.Whole, err error) {
	entry, err := s.Get(ctx, WholeKey(name))
	if fault.Is(err, fault.NotFound) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal(entry.Value, &w)
	}
	if err != nil {
		return w, fault.New(fault.KindOf(err), "engine.whole", WholeKey(name), err)
	}
	return w, nil
}

// InForce returns the fleet's ledger as a store has it; nil: there is none yet.
func InForce(ctx context.Context, s state.Store, name fleet.Name) (*belief.Ledger, error) {
	w, err := whole(ctx, s, name)
	return w.Ledger, err
}

// Holds returns what people hold in the fleet, as its owner stored it last.
func Holds(ctx context.Context, s state.Store, name fleet.Name) ([]belief.Hold, error) {
	w, err := whole(ctx, s, name)
	return w.Holds, err
}

// Moved returns how the fleet's size moved, as its owner stored it last; nil: it never did.
func Moved(ctx context.Context, s state.Store, name fleet.Name) (*resized.State, error) {
	w, err := whole(ctx, s, name)
	return w.Sizing, err
}

// LookedAfter returns the fleets that the engine on the store looked after last: those that were let go since are not
// among them.
func LookedAfter(ctx context.Context, s state.Store) ([]fleet.Name, error) {
	var out []fleet.Name
	known := make(map[fleet.Name]bool)
	for entry, err := range state.Scan(ctx, s, FleetsPrefix) {
		if err != nil {
			return nil, err
		}
		name, ok := FleetOf(entry.Key)
		if !ok || known[name] {
			continue
		}
		known[name] = true
		left, _, err := LetGo(ctx, s, name)
		if err != nil {
			return nil, err
		}
		if !left {
			out = append(out, name)
		}
	}
	return out, nil
}

// LetGo reports whether the fleet's journal ends by saying that it was let go, and when that was.
func LetGo(ctx context.Context, s state.Store, name fleet.Name) (left bool, at time.Time, err error) {
	last, some, err := journal.Last(ctx, s, name)
	if err != nil || !some || last.Reason != fleet.ReasonFleetLeft {
		return false, time.Time{}, err
	}
	return true, last.At, nil
}

// ForgetIdentity is the write by which a provider's pinned identity is forgotten: the next one that answers at its
// address is believed to be the right one.
func ForgetIdentity(p fleet.ProviderName) state.Write { return state.Delete(PinKey(p)) }

// Installation returns the store's random id; empty when no engine ever ran on it.
func Installation(ctx context.Context, s state.Store) (fleet.Installation, error) {
	entry, err := s.Get(ctx, InstallationKey)
	if fault.Is(err, fault.NotFound) {
		return "", nil
	}
	return fleet.Installation(entry.Value), err
}
