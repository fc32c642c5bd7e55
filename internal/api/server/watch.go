package server

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"hale/internal/access"
	"hale/internal/api/feed"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/core/situation"
	"hale/internal/owner/published"
)

// gone names what is no longer there.
type gone struct {
	Name string `json:"name"`
}

// watchFleets shows each fleet about which something was recorded, as it stands then.
func (s *Server) watchFleets(ctx context.Context, from string) (rest.Watch, error) {
	return s.following(ctx, "", from, func(out *rest.Stream, fleets []published.Fleet, records []feed.Item) {
		for name, about := range changed(records, func(r *record.Record) string { return string(r.Fleet) }) {
			i := slices.IndexFunc(fleets, func(f published.Fleet) bool { return f.Spec.Name == about.Fleet })
			if i < 0 {
				show(out, "gone", gone{name})
				continue
			}
			out.Show("fleet", s.frames.of("fleet "+name, fleets[i].Revision, func() any {
				return view.FleetSummary(fleets[i])
			}))
		}
	})
}

// watchMachines shows each machine about which something was recorded, as it stands then.
func (s *Server) watchMachines(ctx context.Context, of fleet.Name, from string) (rest.Watch, error) {
	return s.following(ctx, of, from, func(out *rest.Stream, fleets []published.Fleet, records []feed.Item) {
		for name, about := range changed(records, func(r *record.Record) string { return string(r.Machine) }) {
			f, v := machineIn(fleets, about)
			if v == nil {
				show(out, "gone", gone{name})
				continue
			}
			out.Show("machine", s.frames.of(name, f.Revision, func() any { return view.Machine(*f, *v) }))
		}
	})
}

// machineIn finds the machine that the record is about; nil: it is not there.
func machineIn(fleets []published.Fleet, r *record.Record) (*published.Fleet, *situation.View) {
	for i := range fleets {
		if fleets[i].Spec.Name != r.Fleet {
			continue
		}
		for _, v := range view.Machines(fleets[i]) {
			if v.Machine.Name == r.Machine {
				return &fleets[i], v
			}
		}
	}
	return nil, nil
}

// changed yields each thing that the records are about once, in their order, with its last record.
func changed(records []feed.Item, name func(*record.Record) string) func(func(string, *record.Record) bool) {
	return func(yield func(string, *record.Record) bool) {
		last := map[string]*record.Record{}
		var order []string
		for i := range records {
			r := &records[i].Record
			if n := name(r); n != "" {
				if last[n] == nil {
					order = append(order, n)
				}
				last[n] = r
			}
		}
		for _, n := range order {
			if !yield(n, last[n]) {
				return
			}
		}
	}
}

// following reads the journal for a reader, and has each batch shown by what stands once the owners show it.
func (s *Server) following(ctx context.Context, of fleet.Name, from string,
	each func(*rest.Stream, []published.Fleet, []feed.Item)) (rest.Watch, error) {
	at, err := s.place(ctx, from)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, out *rest.Stream) {
		if !out.Flush(at.String()) {
			return
		}
		for batch, err := range s.feed.After(ctx, of, at, beat) {
			if err != nil {
				out.Broke(s.router.Problem(ctx, err))
				return
			}
			if batch.Gap {
				out.Gap(oldest(batch.Items))
			}
			items := slices.DeleteFunc(slices.Clone(batch.Items), func(i feed.Item) bool {
				return of != "" && i.Fleet != of || !access.Of(ctx).May(access.Viewer, i.Fleet)
			})
			if len(items) > 0 {
				each(out, s.shown(ctx, items), items)
			}
			if (len(items) > 0 || len(batch.Items) == 0) && !out.Flush(batch.Next.String()) {
				return
			}
		}
	}, nil
}

// An owner writes first and shows then: it is waited for, in steps, and not for ever.
const (
	shownWithin = 2 * time.Second
	shownStep   = 5 * time.Millisecond
)

// shown returns the fleets that the caller may see once they show what the items tell of.
func (s *Server) shown(ctx context.Context, items []feed.Item) []published.Fleet {
	limit := time.NewTimer(shownWithin)
	defer limit.Stop()
	for {
		fleets := s.seen(ctx, access.Viewer)
		lags := slices.ContainsFunc(fleets, func(f published.Fleet) bool {
			return slices.ContainsFunc(items, func(i feed.Item) bool {
				return i.Fleet == f.Spec.Name && i.Revision > f.Revision && f.Acting != fleet.ReasonNotOwner
			})
		})
		if !lags {
			return fleets
		}
		step := time.NewTimer(shownStep)
		select {
		case <-step.C:
		case <-limit.C:
			return fleets
		case <-ctx.Done():
			return fleets
		}
	}
}

func show(out *rest.Stream, kind string, v any) {
	data, _ := json.Marshal(v) //nolint:errchkjson // what is shown so has words and numbers only
	out.Show(kind, data)
}

// frames are things as they go over the wire, made once for all who watch.
type frames struct {
	mu   sync.Mutex
	made map[string]frame
}

type frame struct {
	revision int64
	data     []byte
}

// mostFrames are kept.
const mostFrames = 4096

// of returns the thing as of the revision of its fleet.
func (k *frames) of(name string, revision int64, draw func() any) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if f, ok := k.made[name]; ok && f.revision == revision {
		return f.data
	}
	data, _ := json.Marshal(draw()) //nolint:errchkjson // as above
	if k.made == nil || len(k.made) >= mostFrames {
		k.made = map[string]frame{}
	}
	k.made[name] = frame{revision, data}
	return data
}
