package sim

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
	"hale/internal/probe"
	"hale/internal/sim/world"
)

// prober asks a fleet's checks from one vantage. Between two changes of what the world answers, all probes of a check
// hear the same; so only those that change a standing are played, and the others are counted (prober_test.go plays them
// one by one and compares).
type prober struct {
	w       *world.World
	vantage string
	checks  []fleet.Check           // those by which machines are judged
	ports   map[fleet.CheckName]int // at which the machines listen for them
	rows    [][]*row                // by machine and check, those that only tell last
	at      map[netip.Addr][]int
	agents  bool                   // some check asks them
	of      map[string]int         // the machine by its instance, where agents are asked
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

	tally probe.Tally
	whom
}

// whom is what is asked: an instance at an address.
type whom struct {
	lastAddress netip.Addr
	instance    string
	rival       fleet.InstanceID // that has the address, too
}

// known reports whether the check can be asked at all.
func (w whom) known(c *fleet.Check) bool { return w.unaimed(c) == fleet.ResultNone }

// unaimed says why the check cannot be asked; empty: it can. An agent needs no address.
func (w whom) unaimed(c *fleet.Check) fleet.ResultReason {
	switch {
	case c.Kind == fleet.CheckAgent && w.instance == "", c.Kind != fleet.CheckAgent && !w.lastAddress.IsValid():
		return fleet.ResultNoAddress
	case w.rival != "" && c.Reaches():
		return fleet.ResultSharedAddress
	}
	return fleet.ResultNone
}

func newProber(w *world.World, vantage string, spec fleet.Spec, machines int, heard func(int, row)) *prober {
	p := &prober{w: w, vantage: vantage, checks: spec.Checks, at: map[netip.Addr][]int{}, of: map[string]int{},
		heard: heard, edges: new(int)}
	asked := spec.Asked()
	p.ports = make(map[fleet.CheckName]int, len(asked))
	for _, c := range asked {
		p.agents = p.agents || c.Kind == fleet.CheckAgent
		p.ports[c.Name] = c.Port
	}
	p.rows = make([][]*row, machines)
	for i := range p.rows {
		p.rows[i] = make([]*row, len(asked))
		for k, c := range asked {
			p.rows[i][k] = &row{check: c, index: i, phase: stagger(i, c.Name, c.Every, vantage),
				tally: probe.NewTally()}
		}
	}
	return p
}

// withoutTells leaves out what is only told: those who have no word for it ask what they judge by.
func withoutTells(spec fleet.Spec) fleet.Spec {
	spec.Tells = nil
	return spec
}

// stagger spreads the targets over the interval, the same in every run, and for all servers of one hale.
func stagger(index int, check fleet.CheckName, every time.Duration, vantage string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(strconv.Itoa(index) + "/" + string(check))) // hash.Hash never fails to write
	if vantage == copyName {
		h.Write([]byte(vantage))
	}
	return time.Duration(h.Sum32()) * 7919 % every
}

// aim points a machine's checks at an address; epoch 0 ends them.
func (p *prober) aim(index int, a picture.Aim) {
	for _, r := range p.rows[index] {
		r.stamp++
		if r.lastAddress != a.Address {
			p.unlist(r.lastAddress, index)
		}
		if p.of[r.instance] == index {
			delete(p.of, r.instance)
		}
		*r = row{check: r.check, index: index, phase: r.phase, stamp: r.stamp, epoch: a.Epoch, tally: probe.NewTally(),
			next: p.w.Now(), whom: whom{a.Address, string(a.Instance), a.Rival}}
		if a.Epoch == 0 {
			continue
		}
		if why := r.unaimed(r.check); why != fleet.ResultNone {
			r.tally.Reason, r.tally.Detail = why, string(r.rival)
			p.tell(r, 0)
		}
	}
	if a.Epoch == 0 {
		return
	}
	if a.Address.IsValid() && !slices.Contains(p.at[a.Address], index) {
		p.at[a.Address] = append(p.at[a.Address], index)
	}
	if p.agents {
		p.of[string(a.Instance)] = index
	}
	for _, r := range p.rows[index] {
		if r.known(r.check) {
			p.listen(r)
		}
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
		p.reconsider(index)
	}
}

// guestChanged takes in that the agent inside the instance may answer differently.
func (p *prober) guestChanged(id string) {
	if index, asked := p.of[id]; p.agents && asked {
		p.reconsider(index)
	}
}

func (p *prober) reconsider(index int) {
	for _, r := range p.rows[index] {
		if r.epoch != 0 && r.known(r.check) && p.differs(r) {
			p.count(r)
			p.listen(r)
		}
	}
}

func (p *prober) differs(r *row) bool {
	answer, loss := p.hear(r.check, r.whom)
	return answer != r.answer || loss != r.loss
}

func (p *prober) hear(c *fleet.Check, at whom) (world.Answer, float64) {
	if c.Kind == fleet.CheckAgent {
		return p.w.HearAgent(p.vantage, at.instance, string(c.Name)), 0
	}
	h := p.w.Hear(p.vantage, at.lastAddress)
	said := answer(c, h)
	if c.Port != p.ports[c.Name] && said != world.Silence {
		said = world.Refused // nothing listens there
	}
	return said, h.Loss
}

// edit asks by the checks as they are now, those that are another begin anew.
func (p *prober) edit(checks []fleet.Check) {
	if len(checks) == 0 || &checks[0] == &p.checks[0] {
		return
	}
	for _, rows := range p.rows {
		for k, r := range rows[:len(checks)] {
			was := r.check
			r.check = &checks[k]
			if change.SameCheck(*was, checks[k]) {
				continue
			}
			*r = row{check: r.check, index: r.index, phase: r.phase, stamp: r.stamp + 1, epoch: r.epoch,
				tally: probe.NewTally(), next: p.w.Now(), whom: r.whom}
			if r.epoch != 0 && r.known(r.check) {
				p.listen(r)
			}
		}
	}
	p.checks = checks
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
			if r.epoch != 0 && r.known(r.check) {
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

// count counts the probes begun before now that did not change the standing.
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
	// after a silence the first one may count afresh
	r.tally = r.tally.Add(p.result(r.check, r.answer, r.next), r.check)
	if n > 1 {
		r.tally = r.tally.Repeat(n-1, p.result(r.check, r.answer, p.begins(r, n)), r.check)
	}
}

// result is what a probe says that begins then and hears the answer.
func (p *prober) result(c *fleet.Check, a world.Answer, began time.Duration) probe.Result {
	return probe.Result{Reason: resultOf(c, a), At: began + delay(c, a)}
}

// begins returns when the n-th probe from now on begins.
func (p *prober) begins(r *row, n int) time.Duration {
	if n == 1 {
		return r.next
	}
	return p.slot(r, r.next+r.check.Every) + time.Duration(n-2)*r.check.Every
}

// listen takes the present answer and plans the probe that will change the standing, if one will.
func (p *prober) listen(r *row) {
	if p.halted {
		return
	}
	r.stamp++
	r.answer, r.loss = p.hear(r.check, r.whom)
	n := p.untilChange(r)
	if n == 0 {
		return
	}
	at := p.begins(r, n)
	stamp := r.stamp
	p.w.At(at, func() {
		if r.stamp == stamp && !p.halted {
			p.probe(r, n, at)
		}
	})
}

// untilChange returns how many more probes it takes, with the present answer, to change the standing or its reason; 0:
// none ever will.
func (p *prober) untilChange(r *row) int {
	if r.loss > 0 {
		return 1
	}
	reason := resultOf(r.check, r.answer)
	if r.tally.Reason == reason {
		if r.tally.Add(p.result(r.check, r.answer, r.next), r.check).Differs(r.tally) {
			return 1 // after a silence
		}
		switch m := probe.MeaningOf(reason); {
		case r.tally.Standing == fleet.StandingUp, r.tally.Standing == fleet.StandingDown && m == probe.MeansFailure,
			r.tally.Standing == fleet.StandingUnknown && m == probe.MeansNothing:
			return 0
		}
	}
	if probe.MeaningOf(reason) == probe.MeansNothing && r.tally.Standing != fleet.StandingUnknown {
		return p.untilFaded(r)
	}
	c := r.check
	t := r.tally
	for n := 1; n <= max(c.DownAfter, c.DownIn, c.UpAfter, c.UpIn)+1; n++ {
		if t = t.Add(p.result(c, r.answer, p.begins(r, n)), c); t.Differs(r.tally) {
			return n
		}
	}
	return 0
}

// untilFaded returns how many probes that say nothing it takes until the standing is forgotten.
func (p *prober) untilFaded(r *row) int {
	n := 1
	for !r.tally.Add(p.result(r.check, r.answer, p.begins(r, n)), r.check).Differs(r.tally) {
		n++
	}
	return n
}

// probe plays the last of n probes, begun now, which alone changes the standing.
func (p *prober) probe(r *row, n int, at time.Duration) {
	answer := r.answer
	if r.loss > 0 && p.w.Chance(r.loss) {
		answer = world.Silence
	}
	before := r.tally
	if n > 1 {
		p.add(r, n-1)
	}
	r.tally = r.tally.Add(p.result(r.check, answer, at), r.check)
	r.next = p.slot(r, at+r.check.Every)
	if r.tally.Differs(before) {
		p.tell(r, delay(r.check, answer))
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
