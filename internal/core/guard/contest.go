package guard

import (
	"slices"

	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/situation"
)

// Contested reports whether one of the instances that are known of the machine is on two hosts, as each of them says
// (L1).
func Contested(v *situation.View) bool {
	return v != nil && slices.ContainsFunc(v.Seen, func(s fleet.Sighting) bool { return s.Instance.Contested() })
}

// Elsewhere returns the claim of another installation that adopted the machine's instance first; false: there is none.
func Elsewhere(m *belief.Machine, s *Situation) (fleet.Claim, bool) {
	c, claimed := s.Roll.Elsewhere[m.Current.ID]
	return c, claimed && m.Current.Adopted
}

// Untouchable says why nothing may be done to the machine's instance, whatever was begun: it is unknown on which host
// it is, or it is another installation's to repair.
func Untouchable(m *belief.Machine, s *Situation) fleet.Reason {
	if Contested(s.View) {
		return fleet.ReasonTwoHosts
	}
	if _, claimed := Elsewhere(m, s); claimed {
		return fleet.ReasonElsewhere
	}
	if _, some := Unasked(m, s); some && !strandedOn(m, s) {
		return fleet.ReasonHostUnasked // a lost host can be fenced all the same; only what follows that has to wait
	}
	return ""
}

// Unasked returns a silent host that may have the machine's instance, too, or another one of its name; false: there is
// none. An instance that runs is where it runs. Of one that does not, every host that speaks for itself has to say that
// it is not there; a silent one counts as asked when it is proven off, or when the instance was seen running here after
// that host last answered. A first instance needs no more than that each host has answered this owner once: what is
// built since then is this owner's doing.
func Unasked(m *belief.Machine, s *Situation) (fleet.HostName, bool) {
	if len(s.Silent) == 0 || running(m, s) {
		return "", false
	}
	for _, h := range s.Silent {
		if !excused(h, m, s) {
			return h.Host, true
		}
	}
	return "", false
}

// Excused returns the silent hosts that count as asked for the machine's instance.
func Excused(m *belief.Machine, s *Situation) []fleet.HostName {
	var out []fleet.HostName
	for _, h := range s.Silent {
		if excused(h, m, s) {
			out = append(out, h.Host)
		}
	}
	return out
}

// running reports whether the machine's instance is seen running.
func running(m *belief.Machine, s *Situation) bool {
	id := m.Lies().ID
	return id != "" && s.View != nil && s.View.Sighting(id).Instance.Power == fleet.PowerRunning
}

func excused(h fleet.Silence, m *belief.Machine, s *Situation) bool {
	lies := m.Lies()
	switch {
	case h.Off, s.Whole.ProofOf(h.Host, s.Now).OfHost():
		return true
	case lies.Host == h.Host && !lies.None():
		return true // that it lies there is known: what else is to be proven of it, its fence proves
	case slices.ContainsFunc(m.Left, func(l belief.LeftBehind) bool {
		return l.Host == h.Host &&
			l.Since > h.Answered
	}):
		return true // what is there was replaced, with a proof
	case lies.None():
		return h.Answered != 0
	}
	if s.View == nil || s.View.Sighting(lies.ID).Instance.Stop == fleet.StopMoved {
		return false // nothing is known, or that it went on elsewhere
	}
	ran := s.View.Ran
	since := ran.At > h.Answered || ran.At == h.Answered && leftOff(m)
	return ran.Instance == lies.ID && ran.Host != h.Host && since
}

// leftOff reports whether the machine's host was lost and is proven off by now. Then it is enough that the host in
// question said in the last listing that it does not have the instance: a rack that dies takes all of its hosts in one
// moment.
func leftOff(m *belief.Machine) bool {
	return m.Repair != nil && m.Repair.Stranded && m.Repair.Proof.OfHost()
}
