// Package probelog tells callers of the API of each single probe of one machine's checks, as it ends, for a time.
//
// It holds up no probe: what a reader does not take in time is left out, and that is said. How many may listen at a time
// is bounded, and for how long.
package probelog

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"hale/api"
	"hale/internal/api/naming"
	"hale/internal/api/rest"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/probe"

	"github.com/danielgtaylor/huma/v2"
)

const (
	longest    = time.Hour
	most       = 32  // at a time
	mostUntold = 512 // probes that wait for a reader
	beat       = 15 * time.Second
)

// Tell has each probe of the machine's checks told to each until stop is called.
type Tell func(machine fleet.MachineName, each func(probe.Single)) (stop func(), err error)

// log is the call.
type log struct {
	router *rest.Router
	seen   func(ctx context.Context) []published.Fleet
	tell   Tell
	open   atomic.Int32
}

// Register makes the call one of the API, for callers who see the fleets; a nil tell: nothing can be told.
func Register(r *rest.Router, seen func(ctx context.Context) []published.Fleet, tell Tell) {
	l := &log{router: r, seen: seen, tell: tell}
	rest.Register(r, rest.Call{ID: "probe-log", Method: http.MethodGet, Path: "/v1/machines/{name}/probes", Needs: rest.Reads,
		Summary: "Each single probe of a machine's checks, as it ends, for a time: a JSON object a line",
		Codes:   []string{api.CodeUnknownMachine, api.CodeRefused}}, l.begin)
}

// input is whose probes are told, and for how long.
type input struct {
	Name string `path:"name" maxLength:"253" doc:"A name, or what the provider calls the machine."`
	For  string `query:"for" default:"5m" maxLength:"16" doc:"For so long, as 30s or 5m: an hour at most."`
}

func (l *log) begin(ctx context.Context, in *input) (*huma.StreamResponse, error) {
	lasts, err := fleet.ParseSpan(in.For)
	if err != nil || lasts <= 0 || lasts > longest {
		return nil, rest.BadRequest("for is a length of time of an hour at most: write for example 5m")
	}
	machine, err := naming.Machine(in.Name, l.seen(ctx))
	if err != nil {
		return nil, err
	}
	if l.tell == nil {
		return nil, rest.Refused("the probes of this hale cannot be told one by one")
	}
	if l.open.Add(1) > most {
		l.open.Add(-1)
		return nil, rest.Refused("as many logs of probes are open as may be: try again when one has ended")
	}
	return &huma.StreamResponse{Body: func(c huma.Context) {
		defer l.open.Add(-1)
		ctx, cancel := context.WithTimeout(c.Context(), lasts)
		defer cancel()
		l.follow(ctx, rest.NewStream(c, rest.Lines), machine)
	}}, nil
}

// follow sends each probe until ctx ends or the reader has gone.
func (l *log) follow(ctx context.Context, out *rest.Stream, machine fleet.MachineName) {
	coming := make(chan probe.Single, mostUntold)
	var missed atomic.Int64
	stop, err := l.tell(machine, func(p probe.Single) {
		select {
		case coming <- p:
		default:
			missed.Add(1)
		}
	})
	if err != nil {
		out.Broke(l.router.Problem(ctx, err))
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
