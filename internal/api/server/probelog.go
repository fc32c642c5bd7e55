package server

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/rest"
	"hale/internal/core/fleet"
	"hale/internal/probe"

	"github.com/danielgtaylor/huma/v2"
)

// probesOf is whose probes are told, and for how long.
type probesOf struct {
	Name string `path:"name" maxLength:"253" doc:"A name, or what the provider calls the machine."`
	For  string `query:"for" default:"5m" maxLength:"16" doc:"For so long, as 30s or 5m: an hour at most."`
}

const (
	longestProbeLog = time.Hour
	mostProbeLogs   = 32  // at a time
	mostUntold      = 512 // probes that wait for a reader
)

// probeLog tells each probe of the machine's checks as it ends.
func (s *Server) probeLog(ctx context.Context, in *probesOf) (*huma.StreamResponse, error) {
	lasts, err := fleet.ParseSpan(in.For)
	if err != nil || lasts <= 0 || lasts > longestProbeLog {
		return nil, rest.BadRequest("for is a length of time of an hour at most: write for example 5m")
	}
	machine, err := s.machineSeen(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	if s.opts.ProbeLog == nil {
		return nil, rest.Refused("the probes of this hale cannot be told one by one")
	}
	if s.probeLogs.Add(1) > mostProbeLogs {
		s.probeLogs.Add(-1)
		return nil, rest.Refused("as many logs of probes are open as may be: try again when one has ended")
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		defer s.probeLogs.Add(-1)
		ctx, cancel := context.WithTimeout(c.Context(), lasts)
		defer cancel()
		s.tellProbes(ctx, rest.NewStream(c, rest.Lines), machine)
	}}, nil
}

// machineSeen returns the machine that is meant, among those that the caller may see.
func (s *Server) machineSeen(ctx context.Context, said string) (fleet.MachineName, error) {
	status := s.seen(ctx, access.Viewer)
	text, err := meant(said, status)
	if err != nil {
		return "", err
	}
	known, names, _ := knows(status, fleet.MachineName(text))
	if !known {
		return "", unknownMachine(fleet.MachineName(text), names)
	}
	return fleet.MachineName(text), nil
}

// tellProbes sends them until ctx ends or the reader has gone. It holds up no probe: what a reader does not take in
// time is left out, and that is said.
func (s *Server) tellProbes(ctx context.Context, out *rest.Stream, machine fleet.MachineName) {
	coming := make(chan probe.Single, mostUntold)
	var missed atomic.Int64
	stop, err := s.opts.ProbeLog(machine, func(p probe.Single) {
		select {
		case coming <- p:
		default:
			missed.Add(1)
		}
	})
	if err != nil {
		out.Broke(s.router.Problem(ctx, err))
		return
	}
	defer stop()
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for going := out.Flush(""); going; {
		select {
		case <-ctx.Done():
			return
		case <-alive.C:
			going = out.Flush("")
		case p := <-coming:
			line := api.ProbeLine{Probe: probed(p), Missed: int(missed.Swap(0))}
			data, _ := json.Marshal(line) //nolint:errchkjson // words and times
			out.Item("", data)
			going = len(coming) > 0 || out.Flush("")
		}
	}
}

func probed(p probe.Single) api.Probe {
	return api.Probe{Machine: string(p.Machine), Check: string(p.Check), Started: p.Started, Ended: p.Ended,
		Result: string(p.Result), Detail: p.Detail, Standing: string(p.Standing)}
}
