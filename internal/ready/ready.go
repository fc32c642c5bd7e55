// Package ready answers those who ask whether hale lives, and whether it can do all its work.
//
// It promises that neither answer waits for an owner, that a caller learns nothing of a fleet that it may not see, and
// that the question whether hale lives is answered with no more than that. It judges nothing: what it says is what
// owners and store published.
package ready

import (
	"encoding/json"
	"net/http"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/view"
	"hale/internal/core/fleet"
	"hale/internal/owner/published"
	"hale/internal/prose/words"
)

// Options are what is answered from. All are needed.
type Options struct {
	Version string
	Started time.Time
	Fleets  func() []published.Fleet
	Stored  func() published.Store
	// Reloaded says when the configuration was last taken over, and why a later one was not.
	Reloaded func() (time.Time, error)
	// Stuck names a fleet with an owner that has been at one turn for longer than that.
	Stuck func(longerThan time.Duration) (fleet.Name, bool)
}

// stuckFor is how long an owner may be at one turn until hale as a whole counts as stuck.
const stuckFor = time.Minute

// Alive answers 200 as long as the process lives and none of its owners is stuck: else a start anew would help. It may
// be asked by anybody.
func Alive(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code, said := http.StatusOK, "ok"
		if _, stuck := o.Stuck(stuckFor); stuck {
			code, said = http.StatusServiceUnavailable, "stuck"
		}
		answer(w, code, map[string]string{"status": said})
	})
}

// Ready answers 200 where hale can do all its work in the fleets that the caller may see, and else 503, with what it
// lacks.
func Ready(o Options) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		may := access.Of(r.Context())
		if !may.MayAnywhere(access.Viewer) {
			http.Error(w, "you may not see this", http.StatusForbidden)
			return
		}
		out := o.Look(func(f fleet.Name) bool { return may.May(access.Viewer, f) })
		code := http.StatusOK
		if !out.Ready {
			code = http.StatusServiceUnavailable
		}
		answer(w, code, out)
	})
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) // the caller has gone, if this fails
}

// Look says what hale lacks in the fleets that sees names; the empty name stands for what belongs to none.
func (o Options) Look(sees func(fleet.Name) bool) api.Readiness {
	out := api.Readiness{Version: o.Version, Started: o.Started, Now: time.Now(), Lacks: []api.Lack{}}
	if sees("") {
		out.Lacks = append(o.store(), o.configuration()...)
	}
	told := map[fleet.ProviderName]bool{}
	for _, f := range o.Fleets() {
		if !sees(f.Spec.Name) {
			continue
		}
		out.Lacks = append(out.Lacks, acting(&f)...)
		if p := f.Spec.Provider; !told[p] {
			lacks := provider(&f)
			told[p] = len(lacks) > 0
			out.Lacks = append(out.Lacks, lacks...)
		}
	}
	out.Ready = len(out.Lacks) == 0
	return out
}

func (o Options) store() []api.Lack {
	is := o.Stored()
	if is.Trouble == "" {
		return []api.Lack{}
	}
	return []api.Lack{lack(api.LackStore, "", is.Trouble, is.Since)}
}

// refused is why an older configuration runs, as a word.
const refused = "refused"

func (o Options) configuration() []api.Lack {
	at, err := o.Reloaded()
	if err == nil {
		return nil
	}
	return []api.Lack{{Part: api.LackConfiguration, Since: at, Reason: refused,
		Text:   "the configuration in the file was refused, and the one of the time before runs",
		Advice: "see what is wrong with it: hale validate; then: hale reload"}}
}

func acting(f *published.Fleet) []api.Lack {
	if f.Acting == "" {
		return nil
	}
	return []api.Lack{lack(api.LackFleet, string(f.Spec.Name), f.Acting, f.Idle)}
}

func provider(f *published.Fleet) []api.Lack {
	is := view.Provider(*f)
	switch fleet.ProviderStanding(is.Standing) {
	case fleet.ProviderUp:
		return nil
	case fleet.ProviderDown:
		return []api.Lack{lack(api.LackProvider, is.Name, fleet.ReasonProviderDown, is.Since)}
	case fleet.ProviderDoubtful:
		return []api.Lack{lack(api.LackProvider, is.Name, fleet.ReasonProviderDoubtful, is.Since)}
	case fleet.ProviderUnknown: // it was not asked yet
	}
	return []api.Lack{lack(api.LackProvider, is.Name, fleet.ReasonAmnesty, time.Time{})}
}

func lack(part, of string, why fleet.Reason, since time.Time) api.Lack {
	return api.Lack{Part: part, Of: of, Since: since, Reason: string(why), Text: words.Reason(why),
		Advice: words.Advice(why)}
}
