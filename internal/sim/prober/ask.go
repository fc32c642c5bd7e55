package prober

import (
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/picture"
	"hale/internal/probe"
	"hale/internal/sim/guest"
)

// lookEvery is the time between two questions of a look.
const lookEvery = 250 * time.Millisecond

// Look asks one check again and again until its timeout is over, and at least as often as makes it down; a success ends
// it. A program is run once, and a check with a window has its own way.
func (p *Prober) Look(c *policy.Check, aim picture.Aim, then func(fleet.CheckState)) {
	a := whom{aim.Address, string(aim.Instance), aim.Rival}
	state := fleet.CheckState{Check: c.Name, Standing: fleet.StandingUnknown, Result: a.unaimed(c)}
	if state.Result != fleet.ResultNone {
		then(state)
		return
	}
	switch {
	case c.Kind == policy.CheckPool:
		p.lookAtPool(c, a, then)
		return
	case c.DownIn > c.DownAfter && c.Kind != policy.CheckExec:
		p.poll(c, a, then)
		return
	}
	began := p.w.Now()
	var ask func()
	ask = func() {
		answer := p.hearOnce(c, a)
		passed, enough := p.w.Now()-began, min(c.Timeout, time.Duration(c.DownAfter-1)*lookEvery)
		if answer == guest.Silence {
			enough = c.Timeout
		}
		state.Result = resultOf(c, answer)
		state.Standing = looked(state.Result)
		switch {
		case state.Standing != fleet.StandingDown && answer != guest.Silence:
			p.w.After(time.Millisecond, func() { then(state) })
		case c.Kind == policy.CheckExec:
			p.w.After(delay(c, answer), func() { then(state) })
		case passed >= enough:
			then(state)
		default:
			p.w.After(min(lookEvery, enough-passed), ask)
		}
	}
	ask()
}

// lookAtPool asks a load balancer once. That it finds a machine down which it found up until a moment ago says nothing:
// for how long it must have been down says the check, and a look does not last so long.
func (p *Prober) lookAtPool(c *policy.Check, a whom, then func(fleet.CheckState)) {
	answer, _ := p.hear(c, a)
	state := fleet.CheckState{Check: c.Name, Result: resultOf(c, answer)}
	if state.Result == fleet.ResultPoolDown && p.cameUp(c.Name, a) {
		state.Result = fleet.ResultUntold
	}
	state.Standing = looked(state.Result)
	p.w.After(time.Millisecond, func() { then(state) })
}

// cameUp reports whether the check was up on the machine, or is not asked there.
func (p *Prober) cameUp(check fleet.CheckName, a whom) bool {
	for _, index := range p.at[a.lastAddress] {
		for _, r := range p.rows[index] {
			if r.Check.Name == check && r.Epoch != 0 {
				return r.Tally.CameUp()
			}
		}
	}
	return true
}

// poll asks as often as the check's window is long, and goes by as many failures as make the check down.
func (p *Prober) poll(c *policy.Check, a whom, then func(fleet.CheckState)) {
	asked, oks, fails, over := 0, 0, 0, false
	var ask func()
	ask = func() {
		if over || asked == c.DownIn {
			return
		}
		asked++
		answer := p.hearOnce(c, a)
		p.w.After(delay(c, answer), func() {
			state := fleet.CheckState{Check: c.Name, Result: resultOf(c, answer)}
			state.Standing = looked(state.Result)
			switch state.Standing {
			case fleet.StandingUp:
				oks++
			case fleet.StandingDown:
				fails++
			case fleet.StandingUnknown, fleet.StandingFailing:
			}
			if !over && (state.Standing == fleet.StandingUnknown || fails >= c.DownAfter ||
				oks > c.DownIn-c.DownAfter) {
				over = true
				then(state)
			}
		})
		p.w.After(max(min(lookEvery, c.Timeout/time.Duration(c.DownIn)), time.Millisecond), ask)
	}
	ask()
}

// looked is how a check stands when a single result of it is known.
func looked(r fleet.ResultReason) fleet.Standing {
	switch probe.MeaningOf(r) {
	case probe.MeansSuccess:
		return fleet.StandingUp
	case probe.MeansFailure:
		return fleet.StandingDown
	case probe.MeansNothing:
	}
	return fleet.StandingUnknown
}

// hearOnce is what one probe hears, which may be lost.
func (p *Prober) hearOnce(c *policy.Check, a whom) guest.Answer {
	answer, loss := p.hear(c, a)
	if p.w.Chance(loss) {
		return guest.Silence
	}
	return answer
}

// delay is how long a probe takes to know.
func delay(c *policy.Check, a guest.Answer) time.Duration {
	if a == guest.Silence {
		return c.Timeout
	}
	return time.Millisecond
}

// answer is what the check hears.
func answer(c *policy.Check, h guest.Hears) guest.Answer {
	heard := h.HTTP
	switch c.Kind {
	case policy.CheckPing:
		heard = h.Ping
	case policy.CheckTCP:
		heard = h.TCP
	case policy.CheckHeartbeat:
		if heard == guest.Refused {
			heard = guest.Silence // it sends no question
		}
	default:
	}
	if heard != guest.Well || !h.Fails(string(c.Name)) {
		return heard
	}
	switch c.Kind {
	case policy.CheckPing, policy.CheckHeartbeat:
		return guest.Silence
	case policy.CheckExec:
		return guest.Critical
	default:
		return guest.Refused
	}
}

// resultOf is what the check makes of the answer.
func resultOf(c *policy.Check, a guest.Answer) fleet.ResultReason {
	if c.Kind == policy.CheckPool {
		return finds(a)
	}
	web := c.Kind == policy.CheckHTTP
	if web && c.HTTP.NoConnection == policy.NoConnectionIgnore && (a == guest.Refused || a == guest.Silence) {
		return fleet.ResultNotConnected
	}
	switch a {
	case guest.Well:
		return fleet.ResultOK
	case guest.Refused:
		return fleet.ResultRefused
	case guest.Critical:
		return fleet.ResultExit
	case guest.Unheard:
		return fleet.ResultLocal
	case guest.Status5, guest.WrongPage:
		return poor(c, a)
	case guest.Silence:
	}
	return fleet.ResultTimeout
}

// finds is what a load balancer's word comes to.
func finds(a guest.Answer) fleet.ResultReason {
	switch a {
	case guest.Well:
		return fleet.ResultOK
	case guest.Critical:
		return fleet.ResultPoolDown
	default:
		return fleet.ResultUntold
	}
}

// poor is what the check makes of the answer of a machine with an ill service: an error, or another page. Checks that
// do not look at what is said do not notice.
func poor(c *policy.Check, a guest.Answer) fleet.ResultReason {
	refused := a == guest.Status5
	switch c.Kind {
	case policy.CheckHTTP:
		switch {
		case refused && !c.HTTP.Accepts(503):
			return fleet.ResultStatus
		case !refused && c.HTTP.Body != "":
			return fleet.ResultBody
		}
	case policy.CheckUDP:
		if c.UDP.Answer != "" {
			return fleet.ResultBody
		}
	case policy.CheckDNS:
		switch {
		case refused:
			return fleet.ResultStatus
		case len(c.DNS.Answer) > 0:
			return fleet.ResultBody
		}
	case policy.CheckSSH, policy.CheckTLS: // another service than the one that is ill
	default:
		if refused {
			return fleet.ResultStatus
		}
	}
	return fleet.ResultOK
}
