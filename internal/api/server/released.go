package server

import (
	"context"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/fleet"
	"hale/internal/state/journal"
)

// released is a fleet that left the configuration but still has a journal in the store.
type released struct {
	name  fleet.Name
	since time.Time
}

// releasedFleet returns the fleet that was let go and has the name; false: the store knows none.
func (s *Server) releasedFleet(ctx context.Context, name fleet.Name) (released, bool, error) {
	if name == "" || strings.Contains(string(name), "/") {
		return released{}, false, nil
	}
	if !access.Of(ctx).May(access.Viewer, name) {
		return released{}, false, nil
	}
	for _, f := range s.opts.Status() {
		if f.Spec.Name == name {
			return released{}, false, nil
		}
	}
	records, _, err := journal.Read(ctx, s.opts.Store, name)
	if err != nil || len(records) == 0 {
		return released{}, false, err
	}
	// What a released fleet's journal says last is that it was let go.
	return released{name: name, since: records[len(records)-1].At}, true, nil
}

// releasedWith returns the fleet that was let go, and which the name means or which had the machine of the name.
func (s *Server) releasedWith(ctx context.Context, text string) (released, bool, error) {
	r, is, err := s.releasedFleet(ctx, fleet.Name(text))
	if is || err != nil {
		return r, is, err
	}
	return s.releasedFleet(ctx, fleet.MachineName(text).Fleet())
}

// problem says that nothing looks after what the text means, and where its past can be read.
func (r released) problem(text string) api.Problem {
	p := api.NewProblem(api.CodeUnknownFleet, "fleet "+string(r.name)+" was let go")
	tail := " at " + r.since.UTC().Format("2006-01-02 15:04") + " UTC: it is not in the configuration, " +
		"and nothing of it is watched or touched; its journal: hale events --fleet " + string(r.name)
	if text != string(r.name) {
		p = api.NewProblem(api.CodeUnknownMachine, text+" belongs to fleet "+string(r.name)+", which was let go")
		tail += " --machine " + text
	}
	p.Detail += tail
	return p
}
