package sim

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"hale/internal/fleet"
	"hale/internal/picture"
	"hale/internal/sim/world"
)

// prober asks a fleet's checks from one vantage. Between two changes of what the world answers, all probes of a check hear
// the same; so only those that change a standing are played, and the others are counted (prober_test.go plays them one by
// one and compares).
type prober struct {
	w       *world.World
	vantage string
	checks  []fleet.Check
	rows    [][]*row // by machine and check
	at      map[netip.Addr][]int
	heard   func(index int, r row) // a standing changed
	halted  bool
	edges   *int
}

// row is one check of one machine.
type row struct {
	check  *fleet.Check
	index  int
	phase  time.Duration
	epoch  uint64
	stamp  uint64 // what was planned under an earlier one is void
	next   time.Duration
	answer world.Answer
	loss   float64

	standing    fleet.Standing
	result      fleet.ResultReason
	oks, fails  int
	wasUp       bool
	lastAddress netip.Addr
}

func newProber(w *world.World, vantage string, spec fleet.Spec, machines int, heard func(int, row)) *prober {
	p := &prober{w: w, vantage: vantage, checks: spec.Checks, at: map[netip.Addr][]int{}, heard: heard, edges: new(int)}
	p.rows = make([][]*row, machines)
	for i := range p.rows {
		p.rows[i] = make([]*row, len(p.checks))
		for k := range p.checks {
			c := &p.checks[k]
			p.rows[i][k] = &row{check: c, index: i, phase: stagger(i, c.Name, c.Every), standing: fleet.StandingUnknown}
		}
	}
	return p
}

// stagger spreads the targets over the interval, the same in every run.
func stagger(index int, check fleet.CheckName, every time.Duration) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(strconv.Itoa(index) + "/" + string(check))) // hash.Hash never fails to write
	return time.Duration(h.Sum32()) * 7919 % every
}

// aim points a machine's checks at an address; epoch 0 ends them.
func (p *prober) aim(index int, a picture.Aim) {
	for _, r := range p.rows[index] {
		r.stamp++
		if r.lastAddress != a.Address {
			p.unlist(r.lastAddress, index)
		}
		*r = row{check: r.check, index: index, phase: r.phase, stamp: r.stamp, epoch: a.Epoch, standing: fleet.StandingUnknown,
			next: p.w.Now(), lastAddress: a.Address}
		if a.Epoch == 0 {
			continue
		}
		if !a.Address.IsValid() {
			r.result = fleet.ResultNoAddress
			p.tell(r, 0)
		}
	}
	if a.Epoch == 0 || !a.Address.IsValid() {
		return
	}
	if !slices.Contains(p.at[a.Address], index) {
		p.at[a.Address] = append(p.at[a.Address], index)
	}
	for _, r := range p.rows[index] {
		p.listen(r)
	}
}

func (p *prober) unlist(a netip.Addr, index int) {
	if list := p.at[a]; slices.Contains(list, index) {
		if len(list) == 1 {
			delete(p.at, a)
			return
		}
		p.at[a] = slices.DeleteFunc(list, func(i int) bool { return i == index })
	}
}

// changed takes in that the world may answer differently at the address.
func (p *prober) changed(a netip.Addr) {
	for _, index := range p.at[a] {
		for _, r := range p.rows[index] {
			if r.epoch != 0 && p.differs(r) {
				p.count(r)
				p.listen(r)
			}
		}
	}
}

func (p *prober) differs(r *row) bool {
	answer, loss := p.hear(*r.check, r.lastAddress)
	return answer != r.answer || loss != r.loss
}

func (p *prober) hear(c fleet.Check, a netip.Addr) (world.Answer, float64) {
	h := p.w.Hear(p.vantage, a)
	switch c.Kind {
	case fleet.CheckPing:
		return h.Ping, h.Loss
	case fleet.CheckTCP:
		return h.TCP, h.Loss
	case fleet.CheckHTTP, fleet.CheckExec:
	}
	return h.HTTP, h.Loss
}

// halt stops all probing, as when the whole process stands still; resume goes on with the next regular probes.
func (p *prober) halt() {
	p.halted = true
	p.each(func(r *row) { p.count(r) })
}

func (p *prober) resume() {
	p.halted = false
	p.each(func(r *row) {
		for r.next < p.w.Now() {
			r.next = p.slot(r, r.next+1)
		}
		p.listen(r)
	})
}

func (p *prober) each(do func(*row)) {
	for _, rows := range p.rows {
		for _, r := range rows {
			if r.epoch != 0 && r.lastAddress.IsValid() {
				r.stamp++
				do(r)
			}
		}
	}
}

// slot returns the row's first regular time that is not before t.
func (p *prober) slot(r *row, t time.Duration) time.Duration {
	every := r.check.Every
	past := (t - r.phase) % every
	if past < 0 {
		past += every
	}
	if past == 0 {
		return t
	}
	return t + every - past
}

// count books the probes begun before now, none of which changed the standing.
func (p *prober) count(r *row) {
	for n := 0; r.next < p.w.Now(); n++ {
		if n == 1 { // on the regular grid from here on
			missed := (p.w.Now() - r.next + r.check.Every - 1) / r.check.Every
			p.add(r, int(missed))
			r.next = p.slot(r, p.w.Now())
			return
		}
		p.add(r, 1)
		r.next = p.slot(r, r.next+r.check.Every)
	}
}

func (p *prober) add(r *row, n int) {
	if r.answer == world.Well {
		r.oks, r.fails = r.oks+n, 0
	} else {
		r.fails, r.oks = r.fails+n, 0
	}
}

// listen takes the present answer and plans the probe that will change the standing, if one will.
func (p *prober) listen(r *row) {
	if p.halted {
		return
	}
	r.stamp++
	r.answer, r.loss = p.hear(*r.check, r.lastAddress)
	n := p.untilChange(r)
	if n == 0 {
		return
	}
	at := r.next
	if n > 1 {
		at = p.slot(r, r.next+r.check.Every) + time.Duration(n-2)*r.check.Every
	}
	stamp := r.stamp
	p.w.At(at, func() {
		if r.stamp == stamp && !p.halted {
			p.probe(r, n, at)
		}
	})
}

// untilChange returns how many more probes it takes, with the present answer, to change the standing or its reason; 0: none
// ever will.
func (p *prober) untilChange(r *row) int {
	if r.loss > 0 {
		return 1
	}
	if r.answer == world.Well {
		switch {
		case r.standing == fleet.StandingUp:
			return 0
		case r.standing == fleet.StandingFailing && r.wasUp:
			return 1
		}
		return max(1, r.check.UpAfter-r.oks)
	}
	switch {
	case r.standing != fleet.StandingDown && r.standing != fleet.StandingFailing, r.result != resultOf(r.answer):
		return 1
	case r.standing == fleet.StandingDown:
		return 0
	}
	return max(1, r.check.DownAfter-r.fails)
}

// probe plays the last of n probes, begun now, of which only this one changes the standing.
func (p *prober) probe(r *row, n int, at time.Duration) {
	answer := r.answer
	if r.loss > 0 && p.w.Chance(r.loss) {
		answer = world.Silence
	}
	before, why := r.standing, r.result
	r.next = p.slot(r, at+r.check.Every)
	if answer == world.Well {
		r.oks, r.fails = r.oks+n, 0
		if r.standing == fleet.StandingUp || r.standing == fleet.StandingFailing && r.wasUp || r.oks >= r.check.UpAfter {
			r.standing, r.result = fleet.StandingUp, fleet.ResultOK
		}
	} else {
		r.fails, r.oks, r.result = r.fails+n, 0, resultOf(answer)
		switch {
		case r.standing == fleet.StandingDown:
		case r.fails >= r.check.DownAfter:
			r.standing = fleet.StandingDown
		case r.standing != fleet.StandingFailing:
			r.wasUp = r.standing == fleet.StandingUp
			r.standing = fleet.StandingFailing
		}
	}
	if r.standing != before || r.result != why {
		p.tell(r, p.delay(*r.check, answer))
	}
	p.listen(r)
}

// all hands out every row that says something.
func (p *prober) all(do func(index int, r row)) {
	p.each(func(r *row) {
		do(r.index, *r)
		p.listen(r)
	})
}

// lookEvery is the time between two questions of a look.
const lookEvery = 250 * time.Millisecond

// look asks one check again and again until its timeout is over, and at least as often as makes it down; a success ends
// it. A program is run once.
func (p *prober) look(c fleet.Check, a netip.Addr, then func(fleet.CheckState)) {
	state := fleet.CheckState{Check: c.Name, Standing: fleet.StandingUnknown, Result: fleet.ResultNoAddress}
	if !a.IsValid() {
		then(state)
		return
	}
	state.Standing = fleet.StandingDown
	began := p.w.Now()
	var ask func()
	ask = func() {
		answer, loss := p.hear(c, a)
		if p.w.Chance(loss) {
			answer = world.Silence
		}
		passed, enough := p.w.Now()-began, min(c.Timeout, time.Duration(c.DownAfter-1)*lookEvery)
		if answer == world.Silence {
			enough = c.Timeout
		}
		state.Result = resultOf(answer)
		switch {
		case answer == world.Well:
			state.Standing = fleet.StandingUp
			p.w.After(time.Millisecond, func() { then(state) })
		case c.Kind == fleet.CheckExec:
			p.w.After(p.delay(c, answer), func() { then(state) })
		case passed >= enough:
			then(state)
		default:
			p.w.After(min(lookEvery, enough-passed), ask)
		}
	}
	ask()
}

// delay is how long a probe takes to know.
func (p *prober) delay(c fleet.Check, a world.Answer) time.Duration {
	if a == world.Silence {
		return c.Timeout
	}
	return time.Millisecond
}

// tell reports the row as it stands, once the probe behind it is over.
func (p *prober) tell(r *row, after time.Duration) {
	*p.edges++
	said := *r
	p.w.After(after, func() {
		if r.epoch == said.epoch && !p.halted {
			p.heard(said.index, said)
		}
	})
}

func resultOf(a world.Answer) fleet.ResultReason {
	switch a {
	case world.Well:
		return fleet.ResultOK
	case world.Refused:
		return fleet.ResultRefused
	case world.Status5:
		return fleet.ResultStatus
	case world.Silence:
	}
	return fleet.ResultTimeout
}
