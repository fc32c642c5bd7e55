package server

import (
	"net/http"

	"hale/api"
)

// operations lists all that the API can do.
func (s *Server) operations() {
	s.watching()
	s.reading()
	s.ordering()
	s.configuring()
	s.notifying()
	s.fencingHosts()
	s.simulating()
}

// reading are the calls that change nothing.
func (s *Server) reading() {
	serve(s, call{id: "status", method: http.MethodGet, path: "/v1/status", needs: reads,
		summary: "The whole controller at one moment"}, s.status)
	serve(s, call{id: "why-machine", method: http.MethodGet, path: "/v1/machines/{name}/why", needs: reads,
		summary: "How a machine stands, and how that came to be", codes: []string{api.CodeUnknownMachine}}, s.why)
	serve(s, call{id: "evidence", method: http.MethodGet, path: "/v1/machines/{name}/evidence", needs: inspects,
		summary: "What a machine said before something was done to it",
		codes:   []string{api.CodeUnknownMachine, api.CodeUnknownIncident}}, s.evidence)
	serve(s, call{id: "why-fleet", method: http.MethodGet, path: "/v1/fleets/{name}/why", needs: reads,
		summary: "How a fleet stands, and what holds it", codes: []string{api.CodeUnknownFleet}}, s.whyFleet)
	serve(s, call{id: "state", method: http.MethodGet, path: "/v1/state", needs: governs,
		summary: "What is believed, as the store has it, for a plan"}, s.state)
	register(s, call{id: "backup", method: http.MethodGet, path: "/v1/backup", needs: governs,
		summary: "All that is stored, for hale restore"}, s.backup)
	register(s, call{id: "events", method: http.MethodGet, path: "/v1/events", needs: reads,
		summary: "The journal", codes: []string{api.CodeUnknownFleet, api.CodeUnknownMachine}}, s.events)
}

// ordering are the calls by which a person gives hale a word.
func (s *Server) ordering() {
	serve(s, call{id: "order", method: http.MethodPost, path: "/v1/orders", needs: orders,
		summary: "Give an order, and learn what became of it",
		codes:   []string{api.CodeUnknownFleet, api.CodeUnknownMachine, api.CodeUnknownHost, api.CodeRefused}}, s.order)
	serve(s, call{id: "list-orders", method: http.MethodGet, path: "/v1/orders", needs: reads,
		summary: "The orders that people gave, and what became of them", codes: []string{api.CodeUnknownFleet}}, s.given)
	serve(s, call{id: "world", method: http.MethodGet, path: "/v1/fleets/{name}/world", needs: reads,
		summary: "What believing the world would mean for a fleet",
		codes:   []string{api.CodeUnknownFleet, api.CodeRefused}}, s.world)
	serve(s, call{id: "take-over", method: http.MethodPost, path: "/v1/take-over", needs: governs,
		summary: "Have this store become another installation", codes: []string{api.CodeRefused}}, s.takeOver)
}

// configuring are the calls about what is wanted.
func (s *Server) configuring() {
	refusals := []string{api.CodeRefused, api.CodeConfiguration}
	serve(s, call{id: "reload", method: http.MethodPost, path: "/v1/reload", needs: governs,
		summary: "Read the configuration again", codes: refusals}, s.reload)
	serve(s, call{id: "readdress", method: http.MethodPost, path: "/v1/readdress", needs: governs,
		summary: "Connect a provider to its changed address", codes: refusals}, s.readdress)
	serve(s, call{id: "compare", method: http.MethodGet, path: "/v1/compare", needs: governs,
		summary: "What the configuration in a file of the server would change", codes: refusals}, s.compare)
	serve(s, call{id: "pending", method: http.MethodGet, path: "/v1/pending", needs: surveys,
		summary: "What of the running configuration waits for a person's word", codes: refusals}, s.pending)
}

// notifying are the calls about messages to people.
func (s *Server) notifying() {
	serve(s, call{id: "dead-letters", method: http.MethodGet, path: "/v1/notify/dead", needs: reads,
		summary: "The messages that were given up"}, s.deadLetters)
	serve(s, call{id: "retry-dead-letters", method: http.MethodPost, path: "/v1/notify/dead/retry", needs: orders,
		summary: "Have messages that were given up tried again", codes: []string{api.CodeUnknownLetter}}, s.retryDead)
	serve(s, call{id: "test-target", method: http.MethodPost, path: "/v1/notify/targets/{name}/test", needs: governs,
		summary: "Send a target a test message", codes: []string{api.CodeUnknownTarget, api.CodeTarget}}, s.testTarget)
}

// fencingHosts are the calls about the power of hosts.
func (s *Server) fencingHosts() {
	hosts := []string{api.CodeUnknownHost, api.CodeRefused}
	serve(s, call{id: "fences", method: http.MethodGet, path: "/v1/fences", needs: surveys,
		summary: "The hosts that have a fence"}, s.fences)
	serve(s, call{id: "test-fences", method: http.MethodPost, path: "/v1/fences/test", needs: governs,
		summary: "Ask the power controllers how their hosts stand", codes: hosts}, s.testFences)
	serve(s, call{id: "fence-off", method: http.MethodPost, path: "/v1/fences/off", needs: governs,
		summary: "Turn a host off, or say what that would mean", codes: hosts}, s.fenceOff)
	serve(s, call{id: "fence-uncut", method: http.MethodPost, path: "/v1/fences/uncut", needs: governs,
		summary: "Give a host its access to storage and network back", codes: hosts}, s.fenceUncut)
}

// simulating are the calls about machines of simulated providers.
func (s *Server) simulating() {
	serve(s, call{id: "breakages", method: http.MethodGet, path: "/v1/simulated/breakages", needs: surveys,
		summary: "The ways in which a simulated machine can fail"}, s.breakages)
	serve(s, call{id: "break", method: http.MethodPost, path: "/v1/simulated/break", needs: governs,
		summary: "Have a simulated machine fail", codes: []string{api.CodeUnknownMachine, api.CodeRefused}}, s.breakMachine)
}
