package metrics

import (
	"sync"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"

	"github.com/prometheus/client_golang/prometheus"
)

// stories are counted from the journal: what began, how it ended, and how long that took.
type stories struct {
	records, opened, closed, began, ended, steps, pages, orders, messages *prometheus.CounterVec

	judged, healed *prometheus.HistogramVec
	moves

	mu sync.Mutex
	// signs are of the machines that are not well, as far as that was seen to begin.
	signs map[fleet.MachineName]sign
	known map[fleet.Name]bool // the fleets that have series
}

// The bounds of histograms, in seconds.
var (
	judgedBounds = []float64{1, 2, 5, 10, 20, 30, 60, 120, 300, 900}
	healedBounds = []float64{5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21600, 86400}
)

func newStories() *stories {
	counts := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hale_" + name, Help: help}, labels)
	}
	takes := func(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "hale_" + name, Help: help, Buckets: bounds}, labels)
	}
	return &stories{
		records: counts("records_total", "Records of the journal, by kind.", "kind"),
		opened:  counts("incidents_opened_total", "Incidents of machines that began, by cause.", "fleet", "cause"),
		closed:  counts("incidents_closed_total", "Incidents that ended, by how.", "fleet", "reason"),
		began: counts("repairs_started_total", "Repairs and other work on machines that began, by kind.", "fleet",
			"kind"),
		ended: counts("repairs_ended_total", "Repairs and other work that ended, by how.", "fleet", "reason"),
		steps: counts("repair_steps_total",
			"Steps of the ladder: verified (the machine was healthy after it), failed, "+
				"or skipped since they did not fit.", "fleet", "step", "result"),
		pages: counts("pages_total", "Pages to people, by what for.", "fleet", "reason"),
		orders: counts("orders_total", "Orders by people, by whether they were taken up.", "fleet", "command",
			"result"),
		messages: counts("notifications_total", "Messages to targets, taken or given up.", "target", "result"),
		judged: takes("failure_to_verdict_seconds",
			"From the first sign that a machine is not well to the verdict that "+
				"it is unhealthy.", judgedBounds, "fleet"),
		healed: takes("failure_to_healed_seconds", "From the first sign that a machine is not well to the end of its "+
			"incident: healed by hale, or recovered by itself.", healedBounds, "fleet", "reason"),
		moves: newMoves(),
		signs: map[fleet.MachineName]sign{}, known: map[fleet.Name]bool{},
	}
}

func (s *stories) collectors() []prometheus.Collector {
	out := []prometheus.Collector{s.judged, s.healed, s.records, s.messages}
	for _, c := range s.byFleet() {
		out = append(out, c)
	}
	return out
}

func (s *stories) byFleet() []*prometheus.CounterVec {
	return append(s.moves.all(), s.opened, s.closed, s.began, s.ended, s.steps, s.pages, s.orders)
}

// What becomes of a step, of an order and of a message, as labels say it.
const (
	stepVerified = "verified"
	stepFailed   = "failed"
	stepSkipped  = "skipped"

	orderTaken   = "taken"
	orderRefused = "refused"

	messageTaken   = "taken"
	messageGivenUp = "given-up"
)

// take counts what the record says.
func (s *stories) take(r record.Record) {
	name := string(r.Fleet)
	s.records.WithLabelValues(string(r.Kind)).Inc()
	if event, is := r.Notifies(); is && event == policy.NotifyPage {
		s.pages.WithLabelValues(name, string(r.Reason)).Inc()
	}
	s.moves.take(&r)
	switch r.Kind {
	case record.Verdict:
		s.verdict(r)
	case record.IncidentOpen:
		s.open(r)
	case record.IncidentClosed:
		s.over(r)
	case record.RepairStarted:
		s.began.WithLabelValues(name, string(r.Reason)).Inc()
	case record.RepairEnded:
		s.ended.WithLabelValues(name, string(r.Reason)).Inc()
	case record.Verified:
		s.step(r, stepVerified)
	case record.StepFailed:
		s.step(r, stepFailed)
	case record.StepSkipped:
		s.step(r, stepSkipped)
	case record.Order:
		s.order(r)
	case record.Notified:
		s.messages.WithLabelValues(string(r.Target), messageTaken).Inc()
	case record.Undelivered:
		s.messages.WithLabelValues(string(r.Target), messageGivenUp).Inc()
	default:
	}
}

// step counts one of the ladder. What is none, as an undo, has no step.
func (s *stories) step(r record.Record, result string) {
	if r.Step != "" {
		s.steps.WithLabelValues(string(r.Fleet), string(r.Step), result).Inc()
	}
}

func (s *stories) order(r record.Record) {
	result := orderTaken
	if r.Reason != "" {
		result = orderRefused
	}
	s.orders.WithLabelValues(string(r.Fleet), string(r.Command), result).Inc()
}

// sign is since when a machine has not been well.
type sign struct {
	since    time.Time
	incident bool // it has an open incident
}

// verdict notes when a machine was seen to be not well, and how long the verdict took.
func (s *stories) verdict(r record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	is, seen := s.signs[r.Machine]
	switch {
	case r.Verdict == belief.VerdictHealthy && is.incident: // until that is closed
	case r.Verdict == belief.VerdictHealthy:
		delete(s.signs, r.Machine)
	case r.Was == belief.VerdictHealthy && !is.incident:
		is, seen = sign{since: r.At}, true
		s.signs[r.Machine] = is
	}
	if seen && !is.incident && r.Verdict == belief.VerdictUnhealthy && r.Was != belief.VerdictUnhealthy {
		s.judged.WithLabelValues(string(r.Fleet)).Observe(max(0, r.At.Sub(is.since)).Seconds())
	}
}

// open notes that the machine is not well until its incident is closed.
func (s *stories) open(r record.Record) {
	s.opened.WithLabelValues(string(r.Fleet), string(r.Cause)).Inc()
	s.mu.Lock()
	defer s.mu.Unlock()
	is, seen := s.signs[r.Machine]
	if !seen || is.incident {
		is.since = r.At
	}
	s.signs[r.Machine] = sign{is.since, true}
}

// over counts the end of an incident. What hale let go was neither healed, nor did it recover.
func (s *stories) over(r record.Record) {
	name := string(r.Fleet)
	s.closed.WithLabelValues(name, string(r.Reason)).Inc()
	s.mu.Lock()
	is, seen := s.signs[r.Machine]
	delete(s.signs, r.Machine)
	s.mu.Unlock()
	if r.Reason != fleet.ReasonHealed && r.Reason != fleet.ReasonRecovered {
		return
	}
	took := r.Took
	if seen {
		took = max(took, r.At.Sub(is.since))
	}
	s.healed.WithLabelValues(name, string(r.Reason)).Observe(max(0, took).Seconds())
}

var causes = []belief.Cause{belief.CauseChecks, belief.CauseOff, belief.CauseGone, belief.CauseCrashed,
	belief.CausePanic,
	belief.CauseError, belief.CauseBlind, belief.CauseBuild}

// begin makes the fleets' series begin at 0: the first event would otherwise be no increase to Prometheus. It forgets
// the fleets that have gone.
func (s *stories) begin(specs []*policy.Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := map[fleet.Name]bool{}
	for _, spec := range specs {
		now[spec.Name] = true
		if !s.known[spec.Name] {
			s.zero(spec)
		}
	}
	for name := range s.known {
		if !now[name] {
			s.forget(name)
		}
	}
	s.known = now
}

func (s *stories) zero(spec *policy.Spec) {
	name := string(spec.Name)
	for _, c := range causes {
		s.opened.WithLabelValues(name, string(c))
	}
	for _, r := range []fleet.Reason{fleet.ReasonHealed, fleet.ReasonRecovered} {
		s.closed.WithLabelValues(name, string(r))
		s.healed.WithLabelValues(name, string(r))
	}
	s.judged.WithLabelValues(name)
	s.moves.zero(spec)
	s.began.WithLabelValues(name, string(belief.RepairHeal))
	s.ended.WithLabelValues(name, string(fleet.ReasonHealed))
	for _, step := range spec.Repair.Steps {
		for _, result := range []string{stepVerified, stepFailed, stepSkipped} {
			s.steps.WithLabelValues(name, string(step.Kind), result)
		}
	}
}

func (s *stories) forget(name fleet.Name) {
	of := prometheus.Labels{"fleet": string(name)}
	for _, c := range s.byFleet() {
		c.DeletePartialMatch(of)
	}
	s.judged.DeletePartialMatch(of)
	s.healed.DeletePartialMatch(of)
	for m := range s.signs {
		if m.Fleet() == name {
			delete(s.signs, m)
		}
	}
}
