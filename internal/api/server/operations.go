package server

import (
	"context"
	"net/http"
	"net/http/pprof"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/probelog"
	"hale/internal/api/rest"
	"hale/internal/api/rights"
	"hale/internal/owner/published"
)

// operations lists all that the API can do.
func (s *Server) operations() {
	s.watching()
	s.reading()
	s.listing()
	s.ordering()
	s.holding()
	s.configuring()
	s.notifying()
	s.fencingHosts()
	s.simulating()
	rights.Serve(s.router, s.opts.Store, s.opts.Logger)
	// What the program itself takes, for go tool pprof.
	s.router.Beside("GET /debug/pprof/", rest.Governs, http.HandlerFunc(pprof.Index))
	s.router.Beside("GET /debug/pprof/profile", rest.Governs, http.HandlerFunc(pprof.Profile))
	s.router.Beside("GET /debug/pprof/trace", rest.Governs, http.HandlerFunc(pprof.Trace))
}

// reading are the calls that change nothing.
func (s *Server) reading() {
	rest.Serve(s.router, rest.Call{ID: "status", Method: http.MethodGet, Path: "/v1/status", Needs: rest.Reads,
		Summary: "The whole controller at one moment"}, s.status)
	rest.Serve(s.router, rest.Call{ID: "why-machine", Method: http.MethodGet, Path: "/v1/machines/{name}/why",
		Needs:   rest.Reads,
		Summary: "How a machine stands, and how that came to be", Codes: []string{api.CodeUnknownMachine}}, s.why)
	rest.Serve(s.router, rest.Call{ID: "evidence", Method: http.MethodGet, Path: "/v1/machines/{name}/evidence",
		Needs:   rest.Inspects,
		Summary: "What a machine said before something was done to it",
		Codes:   []string{api.CodeUnknownMachine, api.CodeUnknownIncident}}, s.evidence)
	rest.Serve(s.router, rest.Call{ID: "why-fleet", Method: http.MethodGet, Path: "/v1/fleets/{name}/why",
		Needs:   rest.Reads,
		Summary: "How a fleet stands, and what holds it", Codes: []string{api.CodeUnknownFleet}}, s.whyFleet)
	rest.Serve(s.router, rest.Call{ID: "fleet-size", Method: http.MethodGet, Path: "/v1/fleets/{name}/size",
		Needs:   rest.Reads,
		Summary: "How many machines a fleet has, how many are wanted, and why", Codes: []string{api.CodeUnknownFleet}},
		s.fleetSize)
	rest.Serve(s.router, rest.Call{ID: "fleet-rollout", Method: http.MethodGet, Path: "/v1/fleets/{name}/rollout",
		Needs:   rest.Reads,
		Summary: "How another template goes through a fleet, and which machines differ from the one in force",
		Codes:   []string{api.CodeUnknownFleet}}, s.fleetRollout)
	rest.Serve(s.router, rest.Call{ID: "state", Method: http.MethodGet, Path: "/v1/state", Needs: rest.Governs,
		Summary: "What is believed, as the store has it, for a plan"}, s.state)
	rest.Register(s.router, rest.Call{ID: "backup", Method: http.MethodGet, Path: "/v1/backup", Needs: rest.Governs,
		Summary: "All that is stored, for hale restore"}, s.backup)
	probelog.Register(s.router, func(ctx context.Context) []published.Fleet { return s.seen(ctx, access.Viewer) },
		s.opts.ProbeLog)
	rest.Register(s.router, rest.Call{ID: "events", Method: http.MethodGet, Path: "/v1/events", Needs: rest.Reads,
		Summary: "The journal", Codes: []string{api.CodeUnknownFleet, api.CodeUnknownMachine}}, s.events)
}

// ordering are the calls by which a person gives hale a word.
func (s *Server) ordering() {
	rest.Mutate(s.router, rest.Call{ID: "order", Method: http.MethodPost, Path: "/v1/orders", Needs: rest.Orders,
		Again: rest.GoesOn, Summary: "Give an order, and learn what became of it",
		Codes: []string{api.CodeUnknownFleet, api.CodeUnknownMachine, api.CodeUnknownHost, api.CodeRefused,
			api.CodeOccupied}}, s.order)
	rest.Serve(s.router, rest.Call{ID: "list-orders", Method: http.MethodGet, Path: "/v1/orders", Needs: rest.Reads,
		Summary: "The orders that people gave, and what became of them", Codes: []string{api.CodeUnknownFleet}},
		s.given)
	rest.Serve(s.router, rest.Call{ID: "given-order", Method: http.MethodGet, Path: "/v1/orders/{id}",
		Needs:   rest.Reads,
		Summary: "An order, and what became of it", Codes: []string{api.CodeUnknownOrder}}, s.givenOne)
	rest.Mutate(s.router, rest.Call{ID: "cancel-order", Method: http.MethodPost, Path: "/v1/orders/{id}/cancel",
		Needs: rest.Orders, Again: rest.GoesOn, Summary: "Take an order back, and learn what became of that",
		Codes: []string{api.CodeUnknownOrder, api.CodeUnknownFleet}}, s.cancel)
	rest.Serve(s.router, rest.Call{ID: "world", Method: http.MethodGet, Path: "/v1/fleets/{name}/world",
		Needs:   rest.Reads,
		Summary: "What believing the world would mean for a fleet",
		Codes:   []string{api.CodeUnknownFleet, api.CodeRefused}}, s.world)
	rest.Mutate(s.router, rest.Call{ID: "take-over", Method: http.MethodPost,
		Path: "/v1/take-over", Needs: rest.Governs,
		Again: rest.RunsAgain, Summary: "Have this store become another installation",
		Codes: []string{api.CodeRefused}}, s.takeOver)
}

// holding are the calls about holds with names.
func (s *Server) holding() {
	codes := []string{api.CodeUnknownHold, api.CodeUnknownFleet, api.CodeUnknownMachine, api.CodeUnknownHost,
		api.CodeRefused, api.CodePrecondition}
	rest.Serve(s.router, rest.Call{ID: "list-holds", Method: http.MethodGet, Path: "/v1/holds", Needs: rest.Reads,
		Summary: "The holds that have a name"}, s.named.List)
	rest.Register(s.router, rest.Call{ID: "get-hold", Method: http.MethodGet, Path: "/v1/holds/{name}",
		Needs:   rest.Reads,
		Summary: "A hold that has a name", Codes: codes[:1]}, s.named.Get)
	rest.Mutate(s.router, rest.Call{ID: "put-hold", Method: http.MethodPut, Path: "/v1/holds/{name}",
		Needs: rest.Quiets,
		Again: rest.GoesOn, Summary: "Have a hold of a name be so", Codes: codes[1:]}, s.named.Put)
	rest.Mutate(s.router, rest.Call{ID: "delete-hold", Method: http.MethodDelete, Path: "/v1/holds/{name}",
		Needs: rest.Quiets, Again: rest.GoesOn, Summary: "Release the hold of a name", Codes: codes}, s.named.Delete)
}

// configuring are the calls about what is wanted.
func (s *Server) configuring() {
	refusals := []string{api.CodeRefused, api.CodeConfiguration}
	rest.Mutate(s.router, rest.Call{ID: "reload", Method: http.MethodPost, Path: "/v1/reload", Needs: rest.Governs,
		Again: rest.RunsAgain, Summary: "Read the configuration again", Codes: refusals}, s.reload)
	rest.Serve(s.router, rest.Call{ID: "list-plans", Method: http.MethodGet, Path: "/v1/plans", Needs: rest.Reads,
		Summary: "What of the running configuration waits for a person's word", Codes: refusals}, s.plans)
	rest.Register(s.router, rest.Call{ID: "plan", Method: http.MethodGet, Path: "/v1/plans/{id}", Needs: rest.Reads,
		Summary: "A plan that waits for a person's word", Codes: append(refusals, api.CodeUnknownPlan)}, s.plan)
	rest.Mutate(s.router, rest.Call{ID: "confirm-plan", Method: http.MethodPost,
		Path: "/v1/plans/{id}/confirm", Needs: rest.Orders,
		Again: rest.RunsAgain, Summary: "Have a plan carried out",
		Codes: append(refusals, api.CodeUnknownPlan, api.CodePrecondition)}, s.confirm)
	rest.Serve(s.router, rest.Call{ID: "compare", Method: http.MethodGet, Path: "/v1/compare", Needs: rest.Governs,
		Summary: "What the configuration in a file of the server would change", Codes: refusals}, s.compare)
}

// notifying are the calls about messages to people.
func (s *Server) notifying() {
	rest.Serve(s.router, rest.Call{ID: "dead-letters", Method: http.MethodGet, Path: "/v1/notify/dead",
		Needs:   rest.Reads,
		Summary: "The messages that were given up"}, s.deadLetters)
	rest.Mutate(s.router, rest.Call{ID: "retry-dead-letters", Method: http.MethodPost,
		Path: "/v1/notify/dead/retry", Needs: rest.Orders,
		Again: rest.RunsAgain, Summary: "Have messages that were given up tried again",
		Codes: []string{api.CodeUnknownLetter}}, s.retryDead)
	rest.Mutate(s.router, rest.Call{ID: "test-target", Method: http.MethodPost,
		Path: "/v1/notify/targets/{name}/test", Needs: rest.Governs,
		Again: rest.RefusedAgain, Summary: "Send a target a test message",
		Codes: []string{api.CodeUnknownTarget, api.CodeTarget}}, s.testTarget)
}

// fencingHosts are the calls about the power of hosts.
func (s *Server) fencingHosts() {
	hosts := []string{api.CodeUnknownHost, api.CodeRefused}
	rest.Serve(s.router, rest.Call{ID: "fences", Method: http.MethodGet, Path: "/v1/fences", Needs: rest.Surveys,
		Summary: "The hosts that have a fence"}, s.hosts.List)
	rest.Mutate(s.router, rest.Call{ID: "test-fences", Method: http.MethodPost,
		Path: "/v1/fences/test", Needs: rest.Governs,
		Again: rest.RunsAgain, Summary: "Ask the power controllers how their hosts stand", Codes: hosts}, s.hosts.Test)
	rest.Mutate(s.router, rest.Call{ID: "fence-off", Method: http.MethodPost,
		Path: "/v1/fences/off", Needs: rest.Governs,
		Again: rest.RunsAgain, Summary: "Turn a host off, or say what that would mean", Codes: hosts}, s.hosts.Off)
	rest.Mutate(s.router, rest.Call{ID: "fence-uncut", Method: http.MethodPost,
		Path: "/v1/fences/uncut", Needs: rest.Governs,
		Again: rest.RunsAgain, Summary: "Give a host its access to storage and network back",
		Codes: hosts}, s.hosts.Uncut)
}

// simulating are the calls about machines of simulated providers.
func (s *Server) simulating() {
	rest.Serve(s.router, rest.Call{ID: "breakages", Method: http.MethodGet, Path: "/v1/simulated/breakages",
		Needs:   rest.Surveys,
		Summary: "The ways in which a simulated machine can fail"}, s.breakages)
	rest.Mutate(s.router, rest.Call{ID: "break", Method: http.MethodPost,
		Path: "/v1/simulated/break", Needs: rest.Governs,
		Again: rest.RunsAgain, Summary: "Have a simulated machine fail",
		Codes: []string{api.CodeUnknownMachine, api.CodeRefused}}, s.breakMachine)
}
