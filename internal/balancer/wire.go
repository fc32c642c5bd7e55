package balancer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// What adapters share that speak to programs of other people's making.

// Question is what such a program is asked, as JSON has it.
type Question struct {
	Action  Action            `json:"action"`
	Member  fleet.MachineName `json:"member,omitempty"`
	State   State             `json:"state,omitempty"`
	Address string            `json:"address,omitempty"`
	Port    uint16            `json:"port,omitempty"`
}

// Action is what is to be done.
type Action string

// The actions.
const (
	List Action = "list"
	Put  Action = "set"
)

// Ordered is the question that has the member be as wanted.
func Ordered(name fleet.MachineName, w Want) Question {
	q := Question{Action: Put, Member: name, State: w.State}
	if w.At.IsValid() {
		q.Address, q.Port = w.At.Addr().String(), w.At.Port()
	}
	return q
}

// answer is what it says to List.
type answer struct {
	// Members is a pointer since an answer without it is none.
	Members *[]struct {
		Name        fleet.MachineName `json:"name"`
		Address     string            `json:"address"`
		Port        uint16            `json:"port"`
		State       State             `json:"state"`
		Connections *int              `json:"connections"`
		Verdict     Verdict           `json:"verdict"`
		Since       time.Time         `json:"since"`
		Failed      bool              `json:"failed"`
	} `json:"members"`
}

// ParseMembers reads an answer to List: {"members": [{"name": …, "address": …, "port": …, "state": …, "connections": …,
// "verdict": …, "since": …, "failed": …}]}. Without connections and verdict these are unknown.
func ParseMembers(data []byte) ([]Member, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return nil, fmt.Errorf("its answer cannot be read: %w", err)
	}
	if a.Members == nil {
		return nil, errors.New("its answer cannot be read: there is no list of members in it")
	}
	out := []Member{}
	for _, said := range *a.Members {
		m := Member{Name: said.Name, State: said.State, Verdict: cmp.Or(said.Verdict, Unknown), Since: said.Since,
			Connections: UnknownConnections, Failed: said.Failed}
		if said.Connections != nil {
			m.Connections = max(UnknownConnections, *said.Connections)
		}
		if said.Address != "" {
			at, err := netip.ParseAddr(said.Address)
			if err != nil {
				return nil, fmt.Errorf("its answer cannot be read: the address of %s is none", said.Name)
			}
			m.At = netip.AddrPortFrom(at.Unmap(), said.Port)
		}
		switch {
		case m.Name == "":
			return nil, errors.New("its answer cannot be read: a member has no name")
		case m.State != Serving && m.State != Draining && m.State != Out:
			return nil, fmt.Errorf("its answer cannot be read: %s is in no state of a member", m.Name)
		case m.Verdict != Up && m.Verdict != Down && m.Verdict != Unknown:
			return nil, fmt.Errorf("its answer cannot be read: there is no such verdict as that on %s", m.Name)
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(out); i++ {
		if out[i].Name == out[i-1].Name {
			return nil, fmt.Errorf("its answer cannot be read: %s is there twice", out[i].Name)
		}
	}
	return out, nil
}

// Confirm asks the pool whether the member is as wanted, after it was told so. The error is that of an order.
func Confirm(ctx context.Context, p Pool, op string, name fleet.MachineName, w Want) error {
	all, err := p.Members(ctx)
	if err != nil {
		return fault.New(fault.UnknownOutcome, op, string(name), fmt.Errorf("it was told, and then: %w", err))
	}
	for _, m := range all {
		if m.Name != name {
			continue
		}
		if w.Met(m) {
			return nil
		}
		if m.Failed {
			return fault.New(fault.UnknownOutcome, op, string(name),
				errors.New("it accepted that, and could not do it"))
		}
		return fault.New(fault.Transient, op, string(name), fmt.Errorf("it accepted that, and says %s", m.State))
	}
	if w.State == Serving {
		return fault.New(fault.Transient, op, string(name), errors.New("it accepted that, and has no such member"))
	}
	return nil
}
