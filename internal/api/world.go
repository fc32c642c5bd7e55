package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	"hale/internal/core/change"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/engine"
	"hale/internal/prose"
)

// Older is what proves that a store is older than the world.
type Older struct {
	Machine    string    `json:"machine,omitempty"`
	Instance   string    `json:"instance,omitempty"`
	Host       string    `json:"host,omitempty"`
	Generation uint64    `json:"generation,omitempty"` // of the instance
	Allotted   uint64    `json:"allotted,omitempty"`   // the highest one, by the store
	Start      string    `json:"start,omitempty"`      // of hale, instead of an instance
	Since      time.Time `json:"since"`
	Why        Reason    `json:"why"`
}

// Foreign is another installation of hale, with the first instance that was seen to bear its mark.
type Foreign struct {
	Installation string    `json:"installation"`
	Machine      string    `json:"machine"`
	Instance     string    `json:"instance"`
	Host         string    `json:"host,omitempty"`
	Since        time.Time `json:"since"`
	Why          Reason    `json:"why"`
}

// viewFor puts a reason into words, with advice that can be typed as it stands.
func viewFor(r fleet.Reason, detail string, f fleet.Name, i fleet.Installation) Reason {
	out := ViewReason(r, detail)
	out.Advice = prose.AdviceFor(r, f, i)
	return out
}

func viewOlder(name fleet.Name, o *fleet.Older) *Older {
	if o == nil {
		return nil
	}
	return &Older{
		Machine: string(o.Machine), Instance: string(o.Instance), Host: string(o.Host),
		Generation: uint64(o.Generation), Allotted: uint64(o.Allotted), Start: string(o.Start), Since: o.Since,
		Why: viewFor(fleet.ReasonStoreOlder, prose.Older(o), name, ""),
	}
}

func viewForeign(name fleet.Name, all []fleet.Foreign) []Foreign {
	var out []Foreign
	for _, f := range all {
		out = append(out, Foreign{
			Installation: string(f.Installation), Machine: string(f.Machine), Instance: string(f.Instance),
			Host: string(f.Host), Since: f.Since,
			Why: viewFor(fleet.ReasonInstallation, prose.Foreign(f), name, f.Installation),
		})
	}
	return out
}

// World is what the provider shows of a fleet by the marks of an installation, as far as it is not believed.
type World struct {
	Fleet        string `json:"fleet"`
	Installation string `json:"installation"`
	// Plan names exactly this: it is another one as soon as anything of it is.
	Plan     string  `json:"plan"`
	Machines []Shown `json:"machines"`
	// Starts are those of hale that are noted at the provider's, and that the store does not know.
	Starts []string `json:"starts"`
	// Silent are the hosts that do not answer: what is there is not known.
	Silent []string `json:"silent"`
}

// Shown is what believing the world would make of one machine.
type Shown struct {
	Machine string `json:"machine"`
	// From and To are its generation, by the store and by the marks.
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	// Instance would be the machine's, on Host; Was is the one that is believed to be. Empty: that stays.
	Instance string `json:"instance,omitempty"`
	Host     string `json:"host,omitempty"`
	Was      string `json:"was,omitempty"`
	// Aside were put aside, and would be kept.
	Aside []string `json:"aside,omitempty"`
	// Marked is how many instances bear the machine's mark.
	Marked int    `json:"marked"`
	Text   string `json:"text"`
}

// worldOf reads the marks of the installation on the fleet's instances.
func worldOf(f engine.FleetStatus, by fleet.Installation) World {
	w := World{Fleet: string(f.Spec.Name), Installation: string(by), Machines: []Shown{}, Starts: []string{},
		Silent: []string{}}
	for i := range f.Machines {
		v := &f.Machines[i]
		s, beyond := v.Beyond(by)
		if !beyond {
			continue
		}
		m := Shown{
			Machine: string(v.Machine.Name), From: uint64(v.Machine.Generation),
			To: uint64(max(s.Generation, v.Machine.Generation)), Marked: s.Marked, Text: prose.Beyond(&v.Machine, s),
		}
		if s.Serves != nil {
			m.Instance, m.Host, m.Was = string(s.Serves.ID), string(s.Serves.Host), string(v.Machine.Current.ID)
		}
		for _, k := range s.Aside {
			m.Aside = append(m.Aside, string(k.ID))
		}
		w.Machines = append(w.Machines, m)
	}
	if by == f.Installation {
		for _, n := range f.Roll.Unknown {
			w.Starts = append(w.Starts, string(n.Name))
		}
	}
	for _, h := range f.Hosts {
		if !h.Up {
			w.Silent = append(w.Silent, string(h.Name))
		}
	}
	w.Plan = change.ID(w.Fleet, w.Installation, w.Machines, w.Starts, w.Silent)
	return w
}

// world says what believing the world would mean for a fleet.
func (s *Server) world(w http.ResponseWriter, r *http.Request) {
	f, problem := fleetNamed(r.PathValue("name"), s.opts.Status())
	if problem != nil {
		s.fail(w, http.StatusNotFound, *problem)
		return
	}
	if why := unbelievable(f); why != "" {
		s.fail(w, http.StatusConflict, refusal(f, why))
		return
	}
	s.answer(w, http.StatusOK, worldOf(f, f.Installation))
}

// unbelievable says why there is nothing to believe in the fleet; empty: there is.
func unbelievable(f engine.FleetStatus) fleet.Reason {
	switch {
	case f.Acting == fleet.ReasonNotOwner:
		return f.Acting
	case f.Provider.Standing != fleet.ProviderUp:
		return fleet.ReasonProviderDown
	case f.Whole.Older == nil && len(f.Whole.Foreign) == 0 && len(f.Roll.Unknown) == 0 &&
		len(worldOf(f, f.Installation).Machines) == 0:
		return fleet.ReasonNotOlder
	}
	return ""
}

func refusal(f engine.FleetStatus, why fleet.Reason) Problem {
	said := string(f.Spec.Name) + ": " + prose.Reason(why)
	if a := prose.Advice(why); a != "" {
		said += "; " + a
	}
	return Problem{Code: CodeRefused, Message: said}
}

func fleetNamed(name string, status []engine.FleetStatus) (engine.FleetStatus, *Problem) {
	var names []string
	for _, f := range status {
		if string(f.Spec.Name) == name {
			return f, nil
		}
		names = append(names, string(f.Spec.Name))
	}
	problem := UnknownFleet(name, names)
	return engine.FleetStatus{}, &problem
}

// UnknownFleet says that there is no fleet of the name, and which of those that there are may be meant.
func UnknownFleet(name string, known []string) Problem {
	return Problem{Code: CodeUnknownFleet, Message: "there is no fleet " + name, Near: near(name, known)}
}

// confirmsWorld checks the plan by which a person wants the world to be believed, and takes it out of the request: the
// order has none.
func confirmsWorld(q *OrderRequest, status []engine.FleetStatus) *Problem {
	if !q.Believe {
		return nil
	}
	if len(q.Subjects) != 1 || q.Plan == "" {
		return badRequest("the world is believed in one fleet, by the plan that says what that means")
	}
	f, problem := fleetNamed(q.Subjects[0], status)
	if problem != nil {
		return problem
	}
	if why := unbelievable(f); why != "" {
		p := refusal(f, why)
		return &p
	}
	if worldOf(f, f.Installation).Plan != q.Plan {
		return &Problem{Code: CodeRefused, Message: q.Plan + ": " + prose.Reason(fleet.ReasonStalePlan) +
			"; see what it would mean now: hale recover " + q.Subjects[0] + " --believe-the-world"}
	}
	q.Plan = ""
	return nil
}

// TakeOverRequest asks for this store to become another installation.
type TakeOverRequest struct {
	Installation string `json:"installation"`
	// Confirm has it done; without that the answer only says what would be.
	Confirm bool   `json:"confirm"`
	Reason  string `json:"reason,omitempty"`
	As      string `json:"as,omitempty"`
	WaitNS  int64  `json:"wait_ns,omitempty"`
}

// TakeOver is what a take-over means, and where it was confirmed, what became of the orders that follow from it.
type TakeOver struct {
	Installation string    `json:"installation"`
	Fleets       []World   `json:"fleets"` // that have instances with its mark
	Done         bool      `json:"done"`
	Orders       []Ordered `json:"orders,omitempty"`
}

// takeOver has the store become another installation, or says what that would mean.
func (s *Server) takeOver(w http.ResponseWriter, r *http.Request) {
	var q TakeOverRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, orderBytes)).Decode(&q)
	if err == nil && q.Installation == "" {
		err = errors.New("no installation is named")
	}
	if err != nil {
		s.fail(w, http.StatusBadRequest, Problem{Code: CodeBadRequest, Message: err.Error()})
		return
	}
	of := fleet.Installation(q.Installation)
	out := TakeOver{Installation: q.Installation, Fleets: []World{}}
	for _, f := range s.opts.Status() {
		if v := worldOf(f, of); len(v.Machines) > 0 {
			out.Fleets = append(out.Fleets, v)
		}
	}
	taken, err := s.opts.TakeOver(r.Context(), engine.TakeOver{
		Installation: of, By: spokenFor(r.Context(), q.As), Reason: q.Reason, DryRun: !q.Confirm})
	var f *fault.Error
	switch {
	case errors.As(err, &f) && f.Kind == fault.Conflict && f.Err != nil:
		s.fail(w, http.StatusConflict, Problem{
			Code:    CodeRefused,
			Message: "take-over of " + q.Installation + " is refused: " + f.Err.Error(),
		})
		return
	case fault.Is(err, fault.Invalid):
		s.fail(w, http.StatusBadRequest, Problem{Code: CodeBadRequest, Message: cause(err).Error()})
		return
	case err != nil:
		s.fail(w, http.StatusServiceUnavailable, Problem{Code: CodeStore, Message: err.Error()})
		return
	}
	if out.Done = q.Confirm; out.Done {
		out.Orders = s.await(r.Context(), taken.Orders, taken.Revision, q.WaitNS)
	}
	s.answer(w, http.StatusOK, out)
}

// World returns what believing the world would mean for a fleet.
func (c *Client) World(ctx context.Context, name string) (World, error) {
	return get[World](ctx, c, "/v1/fleets/"+url.PathEscape(name)+"/world")
}

// TakeOver asks for this store to become another installation, or what that would mean.
func (c *Client) TakeOver(ctx context.Context, q TakeOverRequest) (TakeOver, error) {
	return post[TakeOver](ctx, c, "/v1/take-over", q)
}
