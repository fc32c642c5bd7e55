package sim

import (
	"cmp"
	"slices"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/sim/world"
)

// Measure is a run beside the truth: what could have been healed at all, whatever held it, and how soon.
//
// The oracle knows the truth and has the ladder's steps, at the world's mean speeds. For an outage that lasts from F to
// T it needs
//
//	min(T - F, R - F + S, T - P)
//
// where R is the first moment at which some step of the ladder could be begun that would set the machine right (its
// host and the provider carry out orders, the network to it is whole, a template that is asked for is good, no person
// keeps it down), S is what the cheapest such step takes in this world (its calls, and the boot), and T - P is what a
// person needed who was told at P and mended it: the oracle tells the same person at F. Where there is no R, it is T -
// F: until the fault, or a person, ends it. Nothing that happens between R + S and T is charged to it. An outage that
// was not over when the run was ends there.
type Measure struct {
	// Curable are the outages with an R: some step could heal them, whatever held it. CurableAlone of them were over
	// without a page, and without a page about anything that explains them.
	Curable      int `json:"curable"`
	CurableAlone int `json:"curable_alone"`
	// Prompt are those of them that had their R within promptly: what stood against a step passed before a person is
	// due.
	Prompt      int `json:"prompt"`
	PromptAlone int `json:"prompt_alone"`
	// Later are the others: behind a host without power, say, which a person is to know of. LaterUnaided of them were
	// over with no person's hand on the machine: what held it was over, and hale did the rest.
	Later        int `json:"later"`
	LaterUnaided int `json:"later_unaided"`
	// Causes are what only a person could end, or was to know of (judge.cause). Paged / Causes is what a cause costs in
	// pages.
	Causes int `json:"causes"`
	// HoursAlone and OracleAlone are the machine-hours of CurableAlone; OracleHours are those of all outages.
	HoursAlone  float64 `json:"hours_alone"`
	OracleAlone float64 `json:"oracle_hours_alone"`
	OracleHours float64 `json:"oracle_hours"`
	// BrakeHours are the hours for which hale's own brake was on, those that a person put on apart.
	BrakeHours float64 `json:"brake_hours"`

	// Why are the outages that a step could heal, by what struck first, and Pages the pages, by their reason.
	Why   map[string]Beside `json:"-"`
	Pages map[string]int    `json:"-"`
	// Misses are those that were not healed without a page.
	Misses map[Miss]Missed `json:"-"`

	alone, oracleAlone, oracle, braked time.Duration
}

// Beside is what outages of one cause came to, beside the oracle.
type Beside struct {
	Outages, Alone         int
	Lost, Oracle, Longest  time.Duration
	AloneLost, AloneOracle time.Duration
}

func (b Beside) plus(o Beside) Beside {
	return Beside{
		b.Outages + o.Outages, b.Alone + o.Alone, b.Lost + o.Lost, b.Oracle + o.Oracle, max(b.Longest, o.Longest),
		b.AloneLost + o.AloneLost, b.AloneOracle + o.AloneOracle,
	}
}

// Miss is why a person was told of an outage that a step could heal: what struck, and what the page was about, or what
// was known by a page before.
type Miss struct{ Why, Told string }

// Missed counts those: a step could heal so many of them promptly, and others later.
type Missed struct{ Prompt, Later int }

// miss counts one.
func (m *Measure) miss(of Miss, prompt, later int) {
	if m.Misses == nil {
		m.Misses = map[Miss]Missed{}
	}
	n := m.Misses[of]
	m.Misses[of] = Missed{n.Prompt + prompt, n.Later + later}
}

// book counts an outage under what struck.
func (m *Measure) book(why string, b Beside) {
	if m.Why == nil {
		m.Why = map[string]Beside{}
	}
	m.Why[why] = m.Why[why].plus(b)
}

// page counts a page under its reason.
func (m *Measure) page(reason string, n int) {
	if m.Pages == nil {
		m.Pages = map[string]int{}
	}
	m.Pages[reason] += n
}

// promptly is how long what stands against a step may last so that hale is to wait for its end without a page: a host
// reboots in less.
const promptly = 5 * time.Minute

func (m *Measure) add(o Measure) {
	m.Curable += o.Curable
	m.CurableAlone += o.CurableAlone
	m.Prompt += o.Prompt
	m.PromptAlone += o.PromptAlone
	m.Later += o.Later
	m.LaterUnaided += o.LaterUnaided
	m.Causes += o.Causes
	m.alone += o.alone
	m.oracleAlone += o.oracleAlone
	m.oracle += o.oracle
	m.braked += o.braked
	for why, b := range o.Why {
		m.book(why, b)
	}
	for reason, n := range o.Pages {
		m.page(reason, n)
	}
	for of, n := range o.Misses {
		m.miss(of, n.Prompt, n.Later)
	}
}

func (m *Measure) close() {
	m.HoursAlone, m.OracleAlone, m.OracleHours, m.BrakeHours = m.alone.Hours(), m.oracleAlone.Hours(),
		m.oracle.Hours(), m.braked.Hours()
}

// CurableShare is the share of what a step could heal that was healed without a page; 1 when there was nothing.
func (m *Measure) CurableShare() float64 { return part(m.CurableAlone, m.Curable) }

// PromptShare is that of what a step could heal soon.
func (m *Measure) PromptShare() float64 { return part(m.PromptAlone, m.Prompt) }

// UnaidedShare is the share of the others that no person laid a hand on.
func (m *Measure) UnaidedShare() float64 { return part(m.LaterUnaided, m.Later) }

func part(n, of int) float64 {
	if of == 0 {
		return 1
	}
	return float64(n) / float64(of)
}

// truth is what is known of an outage from its truth alone.
type truth struct {
	told    bool // a person was told of it, or of what explains it
	about   string
	toldAt  time.Duration
	curable bool // there was a moment at which a step could be begun that cures it
	ready   time.Duration
	step    time.Duration // what the cheapest such step takes
	why     string        // what struck
}

// weigh looks for the first moment at which a step could be begun that cures the open outage of the machine.
func (j *judge) weigh(n int) {
	o := &j.outages[n-1]
	if !o.open || o.curable || o.unseen {
		return
	}
	if takes, ok := j.remedy(n); ok {
		o.curable, o.ready, o.step = true, j.s.w.Now(), takes
	}
}

// weighAll does so for all, after something changed.
func (j *judge) weighAll() {
	if !j.moved {
		return
	}
	j.moved = false
	j.waiting = slices.DeleteFunc(j.waiting, func(n int) bool {
		j.weigh(n)
		return !j.outages[n-1].open || j.outages[n-1].curable
	})
}

// remedy returns how long the cheapest step takes that would set the machine right if it were begun now, if there is
// one.
func (j *judge) remedy(n int) (time.Duration, bool) {
	name := string(j.s.spec.Name.Machine(n))
	if j.s.spec.Mode == fleet.ModeObserve || j.truth.Personal(name) || j.restsByOrder(n) || j.isBeyond(name) {
		return 0, false
	}
	vm, host := j.s.w.Current(name), ""
	if vm != nil {
		host = vm.Host
	}
	can := func(has bool, ops ...world.Op) bool {
		return has && !slices.ContainsFunc(ops, func(op world.Op) bool {
			if op == world.Create {
				return !j.s.w.Obeys("", op) // anywhere
			}
			return !j.s.w.Obeys(host, op)
		})
	}
	has, need := j.s.spec.Repair.Has, j.s.w.Needs(vm)
	call, boot := j.s.w.Pace()
	rebuilds, recreates := j.makesAnew()
	switch {
	case need == world.NeedsPower && can(has(fleet.StepStart), world.Start), need == world.NeedsReset &&
		can(has(fleet.StepReboot), world.Reboot):
		return call + boot, true
	case need == world.NeedsResume:
		return call, j.resumable(vm) && can(true, world.Resume)
	case need == world.NeedsConfig && has(fleet.StepRun):
		return call, true
	case need == world.NeedsNothing, need == world.NeedsWay, need == world.NeedsSomebody:
		return 0, false
	case need == world.NeedsUnlocked:
		j.locks(&j.outages[n-1])
		return 0, false
	case j.s.w.Spoiled(name):
		j.spoils()
		return 0, false
	case need == world.NeedsInstance:
		return call + boot, can(recreates, world.Create)
	case can(rebuilds, world.PowerOff, world.Rebuild):
		return 2*call + boot, true
	}
	return 3*call + boot, can(recreates, world.PowerOff, world.Delete, world.Create)
}

// measure books an outage that lasted until the time, beside the oracle.
func (j *judge) measure(n int, o *outage, to time.Duration) {
	m := &j.s.score.Measure
	took := to - o.from
	oracle := took
	if o.curable {
		oracle = min(oracle, o.ready-o.from+o.step)
	}
	if o.visited && o.told {
		oracle = min(oracle, to-o.toldAt)
	}
	m.oracle += oracle
	if !o.curable {
		return
	}
	alone := !o.open && !o.told && !j.isTold(n)
	b := Beside{Outages: 1, Lost: took, Oracle: oracle, Longest: took}
	if alone {
		b.Alone, b.AloneLost, b.AloneOracle = 1, took, oracle
	}
	m.book(o.why, b)
	m.Curable++
	prompt := 0
	if o.ready-o.from <= promptly {
		prompt = 1
		m.Prompt++
		if alone {
			m.PromptAlone++
		}
	} else {
		m.Later++
		if !o.open && !o.visited {
			m.LaterUnaided++
		}
	}
	if alone {
		m.CurableAlone++
		m.alone += took
		m.oracleAlone += oracle
	} else {
		m.miss(Miss{o.why, cmp.Or(o.about, j.about(n))}, prompt, 1-prompt)
	}
}

// about returns what a person knows that explains the machine's outage, if nothing was said of it since it began.
func (j *judge) about(n int) string {
	switch {
	case j.provider:
		return "before: provider"
	case j.told > 0:
		return "before: brake or doubt"
	case j.knowsOfTwo(string(j.s.spec.Name.Machine(n))):
		return "before: two of one"
	case j.isTold(n):
		return "before: its incident"
	}
	if j.outages[n-1].open {
		return "not over"
	}
	return "before"
}

// why returns what the outage that begins now is put down to.
func (j *judge) why(o *outage) string {
	switch now := j.s.w.Now(); {
	case j.struckAt == now && j.struck != "":
		return j.struck
	case o.struckAt == now && o.struck != "":
		return string(o.struck)
	}
	return "else"
}

// isTold reports whether a person was told of the machine's incident, or of the one that it is part of.
func (j *judge) isTold(n int) bool {
	m := &j.s.store.beliefs[n-1]
	if m.Incident == nil {
		return false
	}
	p := j.s.store.overall.Whole.Parent(m.Incident.Parent)
	return m.Incident.Paged || p != nil && p.Paged
}

// tell notes that a person was told: of the machine, of a parent's children, or of something that may explain all that
// is down.
func (j *judge) tell(machine, parent string, about fleet.Reason) {
	for i := range j.outages {
		o, m := &j.outages[i], &j.s.store.beliefs[i]
		if !o.open || o.told {
			continue
		}
		if machine == string(j.s.spec.Name.Machine(i+1)) || machine == "" &&
			(parent == "" || m.Incident != nil && m.Incident.Parent == parent) {
			o.told, o.toldAt, o.about = true, j.s.w.Now(), string(about)
		}
	}
}

// braking keeps count of how long hale's own brake is on.
func (j *judge) braking(is fleet.Brake, now time.Duration) {
	on := is.Engaged && is.By == ""
	if j.brakedAt >= 0 && !on {
		j.s.score.braked += now - j.brakedAt
		j.brakedAt = -1
	}
	if on && j.brakedAt < 0 {
		j.brakedAt = now
	}
}
