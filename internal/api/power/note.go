package power

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"hale/internal/core/fleet"
	"hale/internal/state/inbox"
	"hale/internal/state/once"
)

// noted is what a person has done to a host, as it is written down: that it begins, and how it ended.
type noted struct {
	kind           fleet.OrderKind
	provider, host string
	by             string
	begun          map[fleet.Name]fleet.OrderID // the notes that it begins, by fleet
}

// noteLimit bounds the time in which it is written down how a power cut ended, whether or not anybody still waits for
// the answer.
const noteLimit = 5 * time.Second

// noteStage is how far a call came that notes what it does to a host, for when it is asked again.
type noteStage[T any] struct {
	Begun  map[fleet.Name]fleet.OrderID
	Result *T `json:",omitempty"` // nil: it has not ended
}

func (n noteStage[T]) result() T {
	if n.Result == nil {
		var none T
		return none
	}
	return *n.Result
}

// begin writes down who wants what of the host, before anything is done. What was written down before, by the same
// call, is enough.
func (s *Hosts) begin(ctx context.Context, kind fleet.OrderKind, provider, host, by, reason string) (noted, error) {
	n := noted{kind: kind, provider: provider, host: host, by: by}
	var was noteStage[any]
	at, err := once.Stage(ctx, &was)
	if err != nil || at > 0 {
		n.begun = was.Begun
		return n, err
	}
	n.begun, err = s.note(ctx, n, fleet.Order{Reason: reason}, func(ids map[fleet.Name]fleet.OrderID) any {
		return noteStage[any]{Begun: ids}
	})
	return n, err
}

// endNote writes down how it ended, whether or not anybody still waits for the answer.
func endNote[T any](ctx context.Context, s *Hosts, n noted, o fleet.Order, result T) {
	o.Reason = shown(o.Reason)
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteLimit)
	defer cancel()
	if _, err := s.note(noting, n, o, func(map[fleet.Name]fleet.OrderID) any {
		return noteStage[T]{n.begun, &result}
	}); err != nil {
		s.Log.Warn("how it ended is not written down",
			"order", n.kind, "host", n.host, "proof", o.Proof, "err", err)
	}
}

// note posts a note to each fleet of the host's provider that has, or may have, machines there, and returns the notes'
// ids by fleet. The stage is what the call is to know when it is asked again.
func (s *Hosts) note(ctx context.Context, n noted, o fleet.Order,
	stage func(map[fleet.Name]fleet.OrderID) any) (map[fleet.Name]fleet.OrderID, error) {
	which := "begins/"
	if n.begun != nil {
		which = "ended/"
	}
	ids := map[fleet.Name]fleet.OrderID{}
	var notes []fleet.Order
	for _, f := range s.Status() {
		known := f.Acting == fleet.ReasonNotOwner ||
			slices.ContainsFunc(f.Hosts, func(h fleet.Host) bool { return string(h.Name) == n.host })
		if string(f.Spec.Provider) != n.provider || n.begun == nil && !known ||
			n.begun != nil && n.begun[f.Spec.Name] == "" {
			continue
		}
		id, err := once.OrderID(ctx, which+string(f.Spec.Name))
		if err != nil {
			return nil, err
		}
		o.ID, o.Kind, o.By, o.At = id, n.kind, n.by, time.Now().UTC()
		o.Fleet, o.Host, o.After = f.Spec.Name, fleet.HostName(n.host), n.begun[f.Spec.Name]
		ids[o.Fleet], notes = id, append(notes, o)
	}
	for some := range slices.Chunk(notes, notesAtOnce) {
		letters, err := inbox.Letters(some...)
		if err != nil {
			return nil, err
		}
		if _, err := once.Commit(ctx, s.Store, letters, stage(ids)); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// notesAtOnce fit into one transaction.
const notesAtOnce = 100

// longestNote is how much of a controller's words is written down, in bytes.
const longestNote = 160

// shown makes words of what a controller said that may stand on one line.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.ToValidUTF8(text[:min(len(text), longestNote)], "")
}
