package score

import "time"

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
	// Causes are what only a person could end, or was to know of; the judge says which. Paged / Causes is what a cause
	// costs in pages.
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

// book counts outages under what struck.
func (m *Measure) book(why string, b Beside) {
	if m.Why == nil {
		m.Why = map[string]Beside{}
	}
	m.Why[why] = m.Why[why].plus(b)
}

// Page counts a page under its reason.
func (m *Measure) Page(reason string, n int) {
	if m.Pages == nil {
		m.Pages = map[string]int{}
	}
	m.Pages[reason] += n
}

// Curable is an outage that a step could heal, beside the oracle.
type Curable struct {
	Why          string // what struck first
	Lost, Oracle time.Duration
	Prompt       bool   // a step could soon
	Alone        bool   // it was over without a page, and without one about anything that explains it
	Unaided      bool   // it was over with no person's hand on the machine
	Told         string // what the page was about; empty when it is Alone
}

// Foresee counts what the oracle needs for an outage.
func (m *Measure) Foresee(takes time.Duration) { m.oracle += takes }

// Braked counts a time for which hale's own brake was on.
func (m *Measure) Braked(lasted time.Duration) { m.braked += lasted }

// Cure counts an outage that a step could heal.
func (m *Measure) Cure(c Curable) {
	m.Curable++
	b := Beside{Outages: 1, Lost: c.Lost, Oracle: c.Oracle, Longest: c.Lost}
	later := 1
	if c.Prompt {
		m.Prompt++
		later = 0
	} else {
		m.Later++
		if c.Unaided {
			m.LaterUnaided++
		}
	}
	if c.Alone {
		b.Alone, b.AloneLost, b.AloneOracle = 1, c.Lost, c.Oracle
		m.CurableAlone++
		m.alone += c.Lost
		m.oracleAlone += c.Oracle
		if c.Prompt {
			m.PromptAlone++
		}
	} else {
		m.miss(Miss{c.Why, c.Told}, 1-later, later)
	}
	m.book(c.Why, b)
}

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
		m.Page(reason, n)
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
