package metrics

import (
	"cmp"
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/sizing"

	"github.com/prometheus/client_golang/prometheus"
)

// How the sizes stand that something may move within bounds, and what moves them.
var (
	sizeMin    = gauge("fleet_size_min", "The least size that the fleet may have, where it has bounds.", "fleet")
	sizeMax    = gauge("fleet_size_max", "The greatest size that the fleet may have, where it has bounds.", "fleet")
	sizeWanted = gauge("fleet_size_wanted", "The size that opinions want, whatever bounds it or holds it back.",
		"fleet")
	sizeHeld = gauge("fleet_size_held", "Why the size is not the one that opinions want: 1.", "fleet", "reason")

	opinionWants = gauge("opinion_size", "The size that the opinion wants; not there while it wants none.", "fleet",
		"opinion")
	opinionNone = gauge("opinion_none", "Why the opinion wants no size: 1. With the reason closed it has no say now.",
		"fleet",
		"opinion", "reason")

	metricValue = gauge("size_metric_value", "What a metric that the size goes by was read to be last.", "fleet",
		"metric")
	metricRead   = gauge("size_metric_timestamp_seconds", "When it was read last.", "fleet", "metric")
	metricSilent = gauge("size_metric_silent_timestamp_seconds", "Since when it has said nothing; not there while it "+
		"tells. No machine goes meanwhile.", "fleet", "metric")
)

var sizeFamilies = []family{sizeMin, sizeMax, sizeWanted, sizeHeld, opinionWants, opinionNone, metricValue, metricRead,
	metricSilent}

// sized says how the fleet's size stands, where it has bounds.
func (l *look) sized(out say) {
	z := l.Wanted.Sizing
	if z == nil {
		return
	}
	name := string(l.Spec.Name)
	out.value(sizeMin, number(z.Min), name)
	out.value(sizeMax, number(z.Max), name)
	if l.Lease <= 0 { // another server has its readings
		return
	}
	_, v := ledger.Opine(&l.State, &l.Wanted, l.Machines)
	out.value(sizeWanted, number(v.Wants), name)
	if v.Why != "" {
		out.value(sizeHeld, 1, name, string(v.Why))
	}
	for i := range v.Said {
		opined(&v.Said[i], name, out)
	}
	for i := range z.Metrics {
		l.read(z.Metrics[i].Name, out)
	}
}

func opined(s *sizing.Said, name string, out say) {
	if s.Why != "" {
		out.value(opinionNone, 1, name, string(s.Opinion), string(s.Why))
		return
	}
	out.value(opinionWants, number(s.Wants), name, string(s.Opinion))
}

// read says what the metric was read to be last, and since when it has said nothing.
func (l *look) read(m fleet.MetricName, out say) {
	name := string(l.Spec.Name)
	if g := fleet.Gauged(l.Gauges, m); g != nil && len(g.Points) > 0 {
		last := &g.Points[len(g.Points)-1]
		out.value(metricValue, last.Value, name, string(m))
		out.value(metricRead, seconds(l.Now.When(last.At)), name, string(m))
	}
	if s := l.Whole.Sizing; s != nil {
		if at := s.SilentAt(m); at >= 0 {
			out.value(metricSilent, seconds(s.Silent[at].Since), name, string(m))
		}
	}
}

// moves counts how sizes moved, and the signals that were refused.
type moves struct {
	moved, refused *prometheus.CounterVec
}

func newMoves() moves {
	return moves{
		moved: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hale_size_moves_total",
			Help: "Moves of the size, up or down, by opinion; none: an order or a signal moved it."},
			[]string{"fleet", "direction", "opinion"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hale_size_signals_refused_total",
			Help: "Signals of programs that the size did not follow, by why: cooldown, or pinned."},
			[]string{"fleet", "reason"}),
	}
}

func (m moves) all() []*prometheus.CounterVec { return []*prometheus.CounterVec{m.moved, m.refused} }

// Where sizes move to, and who moved them if no opinion did, as labels say it.
const (
	directionUp   = "up"
	directionDown = "down"
	noOpinion     = "none"
)

// refusals are why signals alone are refused.
var refusals = []fleet.Reason{fleet.ReasonCooldown, fleet.ReasonPinned}

// take counts what the record says of a size.
func (m moves) take(r *record.Record) {
	switch {
	case r.Kind == record.Size && r.Reason == fleet.ReasonOpinion,
		r.Kind == record.Change && r.Reason == fleet.ReasonSizeOrdered && r.Size != r.Limit:
		direction := directionUp
		if r.Size < r.Limit {
			direction = directionDown
		}
		m.moved.WithLabelValues(string(r.Fleet), direction, cmp.Or(string(r.Opinion), noOpinion)).Inc()
	case r.Kind == record.Order && r.Command == fleet.OrderScale &&
		slices.Contains(refusals, r.Reason):
		m.refused.WithLabelValues(string(r.Fleet), string(r.Reason)).Inc()
	}
}

// zero has the series of the fleet begin.
func (m moves) zero(spec *policy.Spec) {
	name := string(spec.Name)
	for _, direction := range []string{directionUp, directionDown} {
		m.moved.WithLabelValues(name, direction, noOpinion)
		if spec.Sizing == nil {
			continue
		}
		for i := range spec.Sizing.Opinions {
			m.moved.WithLabelValues(name, direction, string(spec.Sizing.Opinions[i].Name))
		}
	}
	if spec.Sizing == nil {
		return
	}
	for _, why := range refusals {
		m.refused.WithLabelValues(name, string(why))
	}
}
