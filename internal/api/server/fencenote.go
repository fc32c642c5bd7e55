package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"hale/internal/access"
	"hale/internal/core/fleet"
	"hale/internal/state/inbox"
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

// spokenFor says who asks, and for which user.
func spokenFor(ctx context.Context, as string) string {
	by := access.Of(ctx).Name
	if as != "" && as != by {
		return fmt.Sprintf("%s (%s)", as, by)
	}
	return by
}

// begin writes down who wants what of the host, before anything is done.
func (s *Server) begin(ctx context.Context, kind fleet.OrderKind, provider, host, by, reason string) (noted, error) {
	n := noted{kind: kind, provider: provider, host: host, by: by}
	var err error
	n.begun, err = s.note(ctx, n, fleet.Order{Reason: reason})
	return n, err
}

// end writes down how it ended, whether or not anybody still waits for the answer.
func (s *Server) end(ctx context.Context, n noted, o fleet.Order) {
	o.Reason = shown(o.Reason)
	noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteLimit)
	defer cancel()
	if _, err := s.note(noting, n, o); err != nil {
		s.opts.Logger.Warn("how it ended is not written down",
			"order", n.kind, "host", n.host, "proof", o.Proof, "err", err)
	}
}

// note posts a note to each fleet of the host's provider that has, or may have, machines there, and returns the notes'
// ids by fleet.
func (s *Server) note(ctx context.Context, n noted, o fleet.Order) (map[fleet.Name]fleet.OrderID, error) {
	ids := map[fleet.Name]fleet.OrderID{}
	var notes []fleet.Order
	for _, f := range s.opts.Status() {
		known := f.Acting == fleet.ReasonNotOwner ||
			slices.ContainsFunc(f.Hosts, func(h fleet.Host) bool { return string(h.Name) == n.host })
		if string(f.Spec.Provider) != n.provider || n.begun == nil && !known ||
			n.begun != nil && n.begun[f.Spec.Name] == "" {
			continue
		}
		id, err := inbox.NewID()
		if err != nil {
			return nil, err
		}
		o.ID, o.Kind, o.By, o.At = id, n.kind, n.by, time.Now().UTC()
		o.Fleet, o.Host, o.After = f.Spec.Name, fleet.HostName(n.host), n.begun[f.Spec.Name]
		ids[o.Fleet], notes = id, append(notes, o)
	}
	for some := range slices.Chunk(notes, mostOrders) {
		if _, err := inbox.Post(ctx, s.opts.Store, some...); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

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
