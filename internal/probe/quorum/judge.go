// Package quorum lets several vantages look at one target: hale's server is one, satellites are the others. Judge says
// what their votes come to, and Engine is a probe engine above the server's own one.
//
// It promises that a target is down only when as many vantages as must agree say so, each by what it saw itself and not
// longer ago than its word counts (L4). A vantage that is silent has no vote: its silence is unknown, and neither down
// nor up. A target that some see and others do not is up, unless so many say that it is down, or could say so if they
// spoke.
//
// It does not know how satellites are reached. How often a vantage must fail to see a target until it says down is the
// vantage's own affair (probe.Tally).
package quorum

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Vote is what one vantage says of a target.
type Vote struct {
	Vantage  string
	Standing fleet.Standing
	Result   fleet.ResultReason
	Detail   string
	// Until is when it counts no more; zero: it always counts.
	Until time.Time
}

// counts reports whether the vote still counts.
func (v *Vote) counts(now time.Time) bool { return v.Until.IsZero() || now.Before(v.Until) }

// Verdict is what votes come to.
type Verdict struct {
	Standing fleet.Standing
	Result   fleet.ResultReason
	Detail   string
	// Again is when it is to be judged again, whoever says something until then or not; zero: it need not.
	Again time.Time
}

// poll is how the votes are divided. What counts no more is in none of them.
type poll struct {
	up, failing, down, unsure []*Vote
	silent                    []*Vote
	again                     time.Time
}

func divide(votes []Vote, now time.Time) poll {
	var p poll
	for i := range votes {
		v := &votes[i]
		if !v.counts(now) {
			p.silent, p.again = append(p.silent, v), now // it may speak at any time
			continue
		}
		if !v.Until.IsZero() && (p.again.IsZero() || v.Until.Before(p.again)) {
			p.again = v.Until
		}
		switch v.Standing {
		case fleet.StandingUp:
			p.up = append(p.up, v)
		case fleet.StandingFailing:
			p.failing = append(p.failing, v)
		case fleet.StandingDown:
			p.down = append(p.down, v)
		case fleet.StandingUnknown:
			p.unsure = append(p.unsure, v)
		}
	}
	return p
}

// Judge says what the votes come to now. The first one is the server's own.
func Judge(votes []Vote, s policy.Sight, now time.Time) Verdict {
	p := divide(votes, now)
	out := Verdict{Again: p.again}
	up, failing, down := len(p.up), len(p.failing), len(p.down)
	wanting := s.Vantages - up - failing - down // which may yet say anything
	against := slices.Concat(p.down, p.failing)
	switch {
	case down >= s.Agree:
		out.Standing = fleet.StandingDown
		out.blame(against[:down])
	case down+failing >= s.Agree:
		out.Standing = fleet.StandingFailing
		out.blame(against)
	case up > 0 && (len(against) == 0 || down+wanting < s.Agree):
		out.Standing, out.Result, out.Detail = fleet.StandingUp, p.up[0].Result, p.up[0].Detail
		if up < s.Vantages {
			out.Result, out.Detail = fleet.ResultElsewhere, ""
		}
	case up+len(against) == 0 && len(votes) > 0:
		out.Standing, out.Result, out.Detail = fleet.StandingUnknown, votes[0].Result, votes[0].Detail
		return out
	default:
		out.Standing, out.Result = fleet.StandingUnknown, fleet.ResultNotAgreed
	}
	if up < s.Vantages {
		out.Detail = strings.TrimPrefix(out.Detail+"; "+p.text(s.Vantages), "; ")
	}
	return out
}

// blame takes the reason over from the votes against the target. One that says no answer comes before those that say
// that something answers: that asks for a witness (L4).
func (v *Verdict) blame(against []*Vote) {
	least := against[0]
	for _, a := range against[1:] {
		if least.Result.Speaks() && !a.Result.Speaks() {
			least = a
		}
	}
	v.Result, v.Detail = least.Result, least.Detail
}

// text says who sees the target, and who does not.
func (p *poll) text(vantages int) string {
	said := fmt.Sprintf("%d of %d see it", len(p.up), vantages)
	if len(p.up) == 0 {
		said = fmt.Sprintf("none of %d sees it", vantages)
	}
	var who []string
	add := func(votes []*Vote, one, many, why string) {
		names := make([]string, len(votes))
		for i, v := range votes {
			names[i] = v.Vantage
		}
		verb := one
		if len(votes) > 1 {
			verb = many
		}
		if why != "" {
			verb += " (" + why + ")"
		}
		last := len(names) - 1
		said := strings.Join(names[:last], ", ")
		if last > 0 {
			said += " and "
		}
		who = append(who, said+names[last]+" "+verb)
	}
	each := func(votes []*Vote, one, many string) {
		for len(votes) > 0 {
			alike := func(v *Vote) bool { return v.Result == votes[0].Result }
			add(slices.DeleteFunc(slices.Clone(votes), func(v *Vote) bool { return !alike(v) }), one, many,
				string(votes[0].Result))
			votes = slices.DeleteFunc(slices.Clone(votes), alike)
		}
	}
	if len(p.up) > 0 {
		add(p.up, "does", "do", "")
	}
	each(slices.Concat(p.down, p.failing), "does not", "do not")
	each(p.unsure, "cannot tell", "cannot tell")
	if len(p.silent) > 0 {
		add(p.silent, "is silent", "are silent", "")
	}
	return said + ": " + strings.Join(who, ", ")
}

// Settled reports whether the votes that are still missing cannot change whether the target is up or down.
func Settled(votes []Vote, s policy.Sight) bool {
	up, down := 0, 0
	for _, v := range votes {
		switch v.Standing {
		case fleet.StandingUp:
			up++
		case fleet.StandingDown:
			down++
		case fleet.StandingFailing, fleet.StandingUnknown:
		}
	}
	return down >= s.Agree || up > 0 && s.Vantages-up < s.Agree
}
