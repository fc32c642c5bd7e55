package prober

import (
	"hash/fnv"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/owner/picture"
	"hale/internal/probe"
	"hale/internal/sim/guest"
	"hale/internal/sim/pool"
	"hale/internal/sim/world"
)

// Prober asks a fleet's checks from one vantage. Between two changes of what the world answers, all probes of a check
// hear the same; so only those that change a standing are played, and the others are counted (prober_test.go plays them
// one by one and compares).
type Prober struct {
	w       *world.World
	vantage string
	checks  []policy.Check          // those by which machines are judged
	ports   map[fleet.CheckName]int // at which the machines listen for them
	rows    [][]*Row                // by machine and check, those that only tell last
	at      map[netip.Addr][]int
	agents  bool                   // some check asks them
	pooled  bool                   // some check goes by the word of a load balancer
	pools   []*pool.Balancer       // those whose members are kept
	of      map[string]int         // the machine by its instance, where agents are asked
	heard   func(index int, r Row) // a standing changed
	halted  bool
	edges   *int
}

// Row is one check of one machine.
type Row struct {
	Check  *policy.Check
	index  int
	phase  time.Duration
	Epoch  uint64
	stamp  uint64 // what was planned under an earlier one is void
	next   time.Duration
	answer guest.Answer
	loss   float64

	Tally probe.Tally
	whom
}

// whom is what is asked: an instance at an address.
type whom struct {
	lastAddress netip.Addr
	instance    string
	rival       fleet.InstanceID // that has the address, too
}

// known reports whether the check can be asked at all.
func (w whom) known(c *policy.Check) bool { return w.unaimed(c) == fleet.ResultNone }

// unaimed says why the check cannot be asked; empty: it can. An agent needs no address.
func (w whom) unaimed(c *policy.Check) fleet.ResultReason {
	switch {
	case c.Kind == policy.CheckAgent && w.instance == "", c.Kind != policy.CheckAgent && !w.lastAddress.IsValid():
		return fleet.ResultNoAddress
	case w.rival != "" && c.Reaches():
		return fleet.ResultSharedAddress
	}
	return fleet.ResultNone
}

// CopyName is the vantage of a hale that runs on a copy of another's store, and asks at other moments than that.
const CopyName = "copy-1"

// New asks the checks of so many machines, none of which is aimed at yet. heard is told of a changed standing.
func New(w *world.World, vantage string, spec policy.Spec, machines int, heard func(int, Row)) *Prober {
	p := &Prober{w: w, vantage: vantage, checks: spec.Checks, at: map[netip.Addr][]int{}, of: map[string]int{},
		heard: heard, edges: new(int)}
	asked := spec.Asked()
	p.ports = make(map[fleet.CheckName]int, len(asked))
	for _, c := range asked {
		p.agents = p.agents || c.Kind == policy.CheckAgent
		p.pooled = p.pooled || c.Kind == policy.CheckPool
		p.ports[c.Name] = c.Port
	}
	p.rows = make([][]*Row, machines)
	for i := range p.rows {
		p.rows[i] = make([]*Row, len(asked))
		for k, c := range asked {
			p.rows[i][k] = &Row{Check: c, index: i, phase: stagger(i, c.Name, c.Every, vantage),
				Tally: probe.NewTally()}
		}
	}
	return p
}

// WithoutTells leaves out what is only told: those who have no word for it ask what they judge by.
func WithoutTells(spec policy.Spec) policy.Spec {
	spec.Tells = nil
	return spec
}

// stagger spreads the targets over the interval, the same in every run, and for all servers of one hale.
func stagger(index int, check fleet.CheckName, every time.Duration, vantage string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(strconv.Itoa(index) + "/" + string(check))) // hash.Hash never fails to write
	if vantage == CopyName {
		h.Write([]byte(vantage))
	}
	return time.Duration(h.Sum32()) * 7919 % every
}

// Aim points a machine's checks at an address; epoch 0 ends them.
func (p *Prober) Aim(index int, a picture.Aim) {
	for _, r := range p.rows[index] {
		r.stamp++
		if r.lastAddress != a.Address {
			p.unlist(r.lastAddress, index)
		}
		if p.of[r.instance] == index {
			delete(p.of, r.instance)
		}
		*r = Row{Check: r.Check, index: index, phase: r.phase, stamp: r.stamp, Epoch: a.Epoch, Tally: probe.NewTally(),
			next: p.w.Now(), whom: whom{a.Address, string(a.Instance), a.Rival}}
		if a.Epoch == 0 {
			continue
		}
		if why := r.unaimed(r.Check); why != fleet.ResultNone {
			r.Tally.Reason, r.Tally.Detail = why, string(r.rival)
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
		if r.known(r.Check) {
			p.listen(r)
		}
	}
}

func (p *Prober) unlist(a netip.Addr, index int) {
	if list := p.at[a]; slices.Contains(list, index) {
		if len(list) == 1 {
			delete(p.at, a)
			return
		}
		p.at[a] = slices.DeleteFunc(list, func(i int) bool { return i == index })
	}
}

// Changed takes in that the world may answer differently at the address.
func (p *Prober) Changed(a netip.Addr) {
	for _, index := range p.at[a] {
		p.reconsider(index)
	}
	if p.pooled { // what is found of one machine rests on the others
		for index := range p.rows {
			p.reconsider(index)
		}
	}
}

// GuestChanged takes in that the agent inside the instance may answer differently.
func (p *Prober) GuestChanged(id string) {
	if index, asked := p.of[id]; p.agents && asked {
		p.reconsider(index)
	}
}

func (p *Prober) reconsider(index int) {
	for _, r := range p.rows[index] {
		if r.Epoch != 0 && r.known(r.Check) && p.differs(r) {
			p.count(r)
			p.listen(r)
		}
	}
}

func (p *Prober) differs(r *Row) bool {
	answer, loss := p.hear(r.Check, r.whom)
	return answer != r.answer || loss != r.loss
}

func (p *Prober) hear(c *policy.Check, at whom) (guest.Answer, float64) {
	if c.Kind == policy.CheckAgent {
		return p.w.HearAgent(p.vantage, at.instance, string(c.Name)), 0
	}
	if c.Kind == policy.CheckPool {
		return p.finds(c, at.lastAddress), 0
	}
	h := p.w.Hear(p.vantage, at.lastAddress)
	said := answer(c, h)
	if c.Port != p.ports[c.Name] && said != guest.Silence {
		said = guest.Refused // nothing listens there
	}
	return said, h.Loss
}

// Behind says which load balancers the machines are behind, where these have members.
func (p *Prober) Behind(pools []*pool.Balancer) { p.pools = pools }

func (p *Prober) finds(c *policy.Check, a netip.Addr) guest.Answer {
	for _, b := range p.pools {
		if b.Name == c.Pool.Balancer {
			return b.Finds(a)
		}
	}
	return pool.Finds(p.w, a, string(c.Name))
}

// Edit asks by the checks as they are now, those that are another begin anew.
func (p *Prober) Edit(checks []policy.Check) {
	if len(checks) == 0 || &checks[0] == &p.checks[0] {
		return
	}
	for _, rows := range p.rows {
		for k, r := range rows[:len(checks)] {
			was := r.Check
			r.Check = &checks[k]
			if change.SameCheck(*was, checks[k]) {
				continue
			}
			*r = Row{Check: r.Check, index: r.index, phase: r.phase, stamp: r.stamp + 1, Epoch: r.Epoch,
				Tally: probe.NewTally(), next: p.w.Now(), whom: r.whom}
			if r.Epoch != 0 && r.known(r.Check) {
				p.listen(r)
			}
		}
	}
	p.checks = checks
}

// Halt stops all probing, as when the whole process stands still; resume goes on with the next regular probes.
func (p *Prober) Halt() {
	p.halted = true
	p.each(func(r *Row) { p.count(r) })
}

// Resume goes on asking after Halt.
func (p *Prober) Resume() {
	p.halted = false
	p.each(func(r *Row) {
		for r.next < p.w.Now() {
			r.next = p.slot(r, r.next+1)
		}
		p.listen(r)
	})
}

func (p *Prober) each(do func(*Row)) {
	for _, rows := range p.rows {
		for _, r := range rows {
			if r.Epoch != 0 && r.known(r.Check) {
				r.stamp++
				do(r)
			}
		}
	}
}

// slot returns the row's first regular time that is not before t.
func (p *Prober) slot(r *Row, t time.Duration) time.Duration {
	every := r.Check.Every
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
func (p *Prober) count(r *Row) {
	for n := 0; r.next < p.w.Now(); n++ {
		if n == 1 { // on the regular grid from here on
			missed := (p.w.Now() - r.next + r.Check.Every - 1) / r.Check.Every
			p.add(r, int(missed))
			r.next = p.slot(r, p.w.Now())
			return
		}
		p.add(r, 1)
		r.next = p.slot(r, r.next+r.Check.Every)
	}
}

func (p *Prober) add(r *Row, n int) {
	// after a silence the first one may count afresh
	r.Tally = r.Tally.Add(p.result(r.Check, r.answer, r.next), r.Check)
	if n > 1 {
		r.Tally = r.Tally.Repeat(n-1, p.result(r.Check, r.answer, p.begins(r, n)), r.Check)
	}
}

// result is what a probe says that begins then and hears the answer.
func (p *Prober) result(c *policy.Check, a guest.Answer, began time.Duration) probe.Result {
	return probe.Result{Reason: resultOf(c, a), At: began + delay(c, a)}
}

// begins returns when the n-th probe from now on begins.
func (p *Prober) begins(r *Row, n int) time.Duration {
	if n == 1 {
		return r.next
	}
	return p.slot(r, r.next+r.Check.Every) + time.Duration(n-2)*r.Check.Every
}

// listen takes the present answer and plans the probe that will change the standing, if one will.
func (p *Prober) listen(r *Row) {
	if p.halted {
		return
	}
	r.stamp++
	r.answer, r.loss = p.hear(r.Check, r.whom)
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
func (p *Prober) untilChange(r *Row) int {
	if r.loss > 0 {
		return 1
	}
	reason := resultOf(r.Check, r.answer)
	if r.Tally.Reason == reason {
		if r.Tally.Add(p.result(r.Check, r.answer, r.next), r.Check).Differs(r.Tally) {
			return 1 // after a silence
		}
		switch m := probe.MeaningOf(reason); {
		case r.Tally.Standing == fleet.StandingUp, r.Tally.Standing == fleet.StandingDown && m == probe.MeansFailure,
			r.Tally.Standing == fleet.StandingUnknown && m == probe.MeansNothing:
			return 0
		}
	}
	if probe.MeaningOf(reason) == probe.MeansNothing && r.Tally.Standing != fleet.StandingUnknown {
		return p.untilFaded(r)
	}
	c := r.Check
	t := r.Tally
	for n := 1; n <= max(c.DownAfter, c.DownIn, c.UpAfter, c.UpIn)+1; n++ {
		if t = t.Add(p.result(c, r.answer, p.begins(r, n)), c); t.Differs(r.Tally) {
			return n
		}
	}
	return 0
}

// untilFaded returns how many probes that say nothing it takes until the standing is forgotten.
func (p *Prober) untilFaded(r *Row) int {
	n := 1
	for !r.Tally.Add(p.result(r.Check, r.answer, p.begins(r, n)), r.Check).Differs(r.Tally) {
		n++
	}
	return n
}

// probe plays the last of n probes, begun now, which alone changes the standing.
func (p *Prober) probe(r *Row, n int, at time.Duration) {
	answer := r.answer
	if r.loss > 0 && p.w.Chance(r.loss) {
		answer = guest.Silence
	}
	before := r.Tally
	if n > 1 {
		p.add(r, n-1)
	}
	r.Tally = r.Tally.Add(p.result(r.Check, answer, at), r.Check)
	r.next = p.slot(r, at+r.Check.Every)
	if r.Tally.Differs(before) {
		p.tell(r, delay(r.Check, answer))
	}
	p.listen(r)
}

// Standing is how a machine stands by its checks: as the worst of them.
func (p *Prober) Standing(index int) fleet.Standing {
	worst := fleet.StandingUp
	for _, r := range p.rows[index] {
		switch is := r.Tally.Standing; {
		case is == fleet.StandingDown:
			return is
		case is != fleet.StandingUp:
			worst = is
		}
	}
	return worst
}

// Address is where the machine's checks are aimed.
func (p *Prober) Address(index int) netip.Addr { return p.rows[index][0].lastAddress }

// Judging are the checks by which machines are judged.
func (p *Prober) Judging() []policy.Check { return p.checks }

// CountEdges has the changes of standings that are told counted there.
func (p *Prober) CountEdges(at *int) { p.edges = at }

// All hands out every row that says something.
func (p *Prober) All(do func(index int, r Row)) {
	p.each(func(r *Row) {
		do(r.index, *r)
		p.listen(r)
	})
}

// tell reports the row as it stands, once the probe behind it is over.
func (p *Prober) tell(r *Row, after time.Duration) {
	*p.edges++
	said := *r
	p.w.After(after, func() {
		if r.Epoch == said.Epoch && !p.halted {
			p.heard(said.index, said)
		}
	})
}
