package sizes

import (
	"math"
	"slices"
	"time"

	"hale/internal/config/times"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// Shape is a number of machines, or bounds with what moves the size between them.
func Shape() keys.Shorthand[Draft, int] {
	return keys.Shorthand[Draft, int]{
		Short: keys.Integer(1, maxSize),
		Long:  keys.Object[Draft]{Fields: slices.Concat(boundKeys(), opinionKeys(), moveKeys())},
		Take:  func(n keys.At[int]) Draft { return Draft{plain: n} },
	}
}

// boundKeys are the keys of what the size may be.
func boundKeys() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.Must("min", "2", "The least number of machines. hale never goes below it by itself.",
			keys.Integer(1, maxSize), func(s *Draft) *keys.At[int] { return &s.min }),
		keys.Must("max", "6", "The greatest number of machines. Neither people nor opinions get more.",
			keys.Integer(1, maxSize),
			func(s *Draft) *keys.At[int] { return &s.max }),
		keys.May("desired", "The size that the file itself asks for. The last word counts: this one when it is "+
			"edited, an order (`hale scale`), or an opinion.", keys.Integer(1, maxSize),
			func(s *Draft) *keys.At[int] { return &s.desired }).Said("min, until something else is asked for"),
		keys.Or("strict", false, "What follows when an order leads beyond min or max. `false`: it goes as far as they "+
			"let it. `true`: it is refused.", keys.Boolean(),
			func(s *Draft) *keys.At[bool] { return &s.strict }),
		keys.Or("mode", policy.ModeAct, "`observe`: record what opinions would do, and do nothing of it. Orders work "+
			"all the same.", keys.Choice(nil, policy.ModeAct, policy.ModeObserve),
			func(s *Draft) *keys.At[policy.Mode] { return &s.mode }),
	}
}

// opinionKeys are the keys of what has a say.
func opinionKeys() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.May("metrics", "The numbers that opinions go by, by name.",
			keys.Mapping[metricDraft]{Key: "METRIC", Each: metricShape()},
			func(s *Draft) *keys.At[[]keys.Named[metricDraft]] { return &s.metrics }),
		keys.May("opinions", "What moves the size, by name. The greatest of the wanted sizes counts. While an opinion "+
			"has none, because its metric is missing, late or absurd, nothing is removed.",
			keys.Mapping[opinionDraft]{Key: "OPINION", Each: opinionShape()},
			func(s *Draft) *keys.At[[]keys.Named[opinionDraft]] { return &s.opinions }),
		keys.Or("tell_after", defaultTellAfter, "How long a metric may say nothing before a person is paged.",
			keys.Duration(time.Minute, 24*time.Hour),
			func(s *Draft) *keys.At[time.Duration] { return &s.tellAfter }),
		keys.Or("forecast", false, "Keep in mind what was wanted at each hour of the week, and say what that would "+
			"have foreseen, and how well. Nothing follows from it.", keys.Boolean(),
			func(s *Draft) *keys.At[bool] { return &s.forecast }),
	}
}

// moveKeys are the keys of how fast the size moves, and of who goes.
func moveKeys() []keys.Field[Draft] {
	return []keys.Field[Draft]{
		keys.Part("up", "How fast opinions add machines.", keys.Object[paceDraft]{Fields: paceFields(defaultUp)},
			func(s *Draft) *keys.At[paceDraft] { return &s.up }),
		keys.Part("down", "How fast opinions remove machines.",
			keys.Object[paceDraft]{Fields: append(paceFields(defaultDown),
				keys.Or("grace", 0, "The time between the choice of a machine that is to go and the first call that "+
					"takes it down. Until then it is taken back when more are wanted again.",
					keys.Duration(0, time.Hour), func(p *paceDraft) *keys.At[time.Duration] { return &p.grace }))},
			func(s *Draft) *keys.At[paceDraft] { return &s.down }),
		keys.May("leave", "Which machine goes first, by rules in order: the next one decides between those that are "+
			"equal by the ones before. One without an instance goes before all others. Never goes one that is "+
			"protected or held, nor the last healthy one of a domain while another domain has more.",
			keys.List[policy.LeaveRule]{Noun: "one rule", Each: keys.Choice(nil, policy.LeaveUnhealthy,
				policy.LeaveOldestTemplate, policy.LeaveOldest, policy.LeaveNewest, policy.LeaveRandom,
				policy.LeaveLeastBusy, policy.LeaveHighestNumber)},
			func(s *Draft) *keys.At[[]keys.At[policy.LeaveRule]] { return &s.leave }).
			Said("[unhealthy, oldest-template, oldest]"),
		keys.May("busy", "The metric that `least-busy` of leave goes by. A plan that waits for a person's word does "+
			"not: who is least busy changes, and it names its machines.", keys.Name(),
			func(s *Draft) *keys.At[string] { return &s.busy }),
		keys.May("even", "In what the numbers of machines are kept equal when one goes.",
			keys.Choice(nil, fleet.DomainHost, fleet.DomainRack, fleet.DomainRoom, fleet.DomainZone,
				fleet.DomainStorage),
			func(s *Draft) *keys.At[fleet.DomainKind] { return &s.even }).Said("as placement.spread"),
		keys.May("stay", "Numbers of machines that no opinion removes, as `[1]` for web-1. They are repaired as any "+
			"other.",
			keys.List[int]{Noun: "one number", Each: keys.Integer(1, maxSize)},
			func(s *Draft) *keys.At[[]keys.At[int]] { return &s.stay }).Said("none"),
	}
}

// pace is how fast the size moves in one direction by default.
type pace struct {
	cooldown, stabilise time.Duration
	most                stride
}

func paceFields(p pace) []keys.Field[paceDraft] {
	return []keys.Field[paceDraft]{
		keys.Or("cooldown", p.cooldown, "How long after a move, in either direction, the next one in this direction "+
			"may follow. A signal (`hale scale --signal`) is refused for so long; a person's order is not.",
			keys.Duration(0, 24*time.Hour), func(p *paceDraft) *keys.At[time.Duration] { return &p.cooldown }),
		keys.Or("stabilise", p.stabilise, "The most cautious size that was wanted within this time counts.",
			keys.Duration(0, longestLook), func(p *paceDraft) *keys.At[time.Duration] { return &p.stabilise }),
		keys.Or("most", p.most, "So many machines in one move at most: the greater of a number and a part of the "+
			"size.", strideShape(), func(p *paceDraft) *keys.At[stride] { return &p.most }),
	}
}

func metricShape() keys.Object[metricDraft] {
	return keys.Object[metricDraft]{Fields: append(metricWays(), []keys.Field[metricDraft]{
		keys.Or("every", defaultMetricEvery, "The time from one reading to the next.",
			keys.Duration(time.Second, time.Hour),
			func(m *metricDraft) *keys.At[time.Duration] { return &m.every }),
		keys.May("late", "How old the newest reading may be: an older one says nothing.",
			keys.Duration(time.Second, longestLook),
			func(m *metricDraft) *keys.At[time.Duration] { return &m.late }).Said("three times every"),
		keys.May("between", "What is believed, as `[0, 100]`: a value beyond is absurd, and says nothing.",
			keys.List[float64]{Noun: "the least and the greatest value",
				Each: keys.Number(-math.MaxFloat64, math.MaxFloat64)},
			func(m *metricDraft) *keys.At[[]keys.At[float64]] { return &m.between }).
			Said("what is not negative; of cpu and memory, [0, 100]"),
		keys.Or("smooth", 0, "The time constant of a mean of the readings in which newer ones weigh more. 0s: each "+
			"counts for itself.", keys.Duration(0, longestLook),
			func(m *metricDraft) *keys.At[time.Duration] { return &m.smooth }),
		keys.May("of", "How the values of several machines, or series, become one.",
			keys.Choice(nil, policy.CombineMean, policy.CombineSum, policy.CombineMax),
			func(m *metricDraft) *keys.At[policy.Combine] { return &m.of }).
			Said("mean; a query without label is to answer with one value"),
	}...)}
}

// MetricShape is a metric for something else than a size.
func MetricShape() keys.Shorthand[MetricDraft, string] {
	return keys.Shorthand[MetricDraft, string]{
		Short: keys.Name(),
		Long: keys.Object[MetricDraft]{Fields: keys.Within(metricShape().Fields,
			func(d *MetricDraft) *metricDraft { return &d.own })},
		Take: func(name keys.At[string]) MetricDraft { return MetricDraft{name: name} },
	}
}

// metricWays are the keys of how a metric is read. It is read in one way.
func metricWays() []keys.Field[metricDraft] {
	return []keys.Field[metricDraft]{
		keys.May("prometheus", "Ask a server that speaks Prometheus's API. A metric is read in one way: one of "+
			"prometheus, check, provider and command.", prometheusShape(),
			func(m *metricDraft) *keys.At[prometheusDraft] { return &m.prometheus }),
		keys.May("check", "What one of the fleet's checks measures at each machine as it asks: by its name alone, the "+
			"time that answers take, in seconds.", checkNumberShape(),
			func(m *metricDraft) *keys.At[checkNumberDraft] { return &m.check }),
		keys.May("provider",
			"What the provider counts of each instance: `cpu` and `memory` in percent of what it has, "+
				"`received` and `sent` in bytes per second.", keys.Choice(nil, policy.Usages()...),
			func(m *metricDraft) *keys.At[policy.Usage] { return &m.provider }),
		keys.May("command", "A program and its arguments, without a shell, whose output is the number, or a "+
			"line MACHINE NUMBER for each machine, by its name or its address. It is killed before the next "+
			"reading, and finds the fleet's name in HALE_FLEET. Put no secrets here: everybody on the server can "+
			"read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command",
				"/usr/local/bin/queue-length")},
			func(m *metricDraft) *keys.At[[]keys.At[string]] { return &m.command }),
		keys.May("env",
			"The command's environment, beside a PATH: a text, or `{file: PATH}` or `{env: NAME}` for what "+
				"is secret.", keys.Mapping[keys.TextDraft]{Key: "VARIABLE", Names: keys.VariableNames,
				Each: keys.TextOrSecret("the variable's value", "production")},
			func(m *metricDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &m.env }),
	}
}

func prometheusShape() keys.Object[prometheusDraft] {
	return keys.Object[prometheusDraft]{Fields: []keys.Field[prometheusDraft]{
		keys.Must("url", "https://prometheus.example.org", "The server's address, as far as before `/api/v1`.",
			keys.Text("a web address", "https://prometheus.example.org"),
			func(p *prometheusDraft) *keys.At[string] { return &p.url }),
		keys.Must("query", `"sum(rate(http_requests_total[1m]))"`, "The query, in PromQL. It is to answer with one "+
			"value, or, with label, with one for each machine.",
			keys.Text("a query", `"sum(rate(http_requests_total[1m]))"`),
			func(p *prometheusDraft) *keys.At[string] { return &p.query }),
		keys.May("label", "The label of a series that says which machine it is of: by the machine's name, or by its "+
			"address with or without a port.", keys.Text("a label", "instance"),
			func(p *prometheusDraft) *keys.At[string] { return &p.label }).Said("the series are of no machine"),
		keys.May("headers", "Further lines of the request's head: a text, or `{file: PATH}` or `{env: NAME}` for what "+
			"is secret.", keys.Mapping[keys.TextDraft]{
			Key: "HEADER", Names: keys.HeaderNames, Each: keys.TextOrSecret("the header's value", "team-a"),
		}, func(p *prometheusDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &p.headers }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"ca.pem"), func(p *prometheusDraft) *keys.At[string] { return &p.ca }),
		keys.May("timeout", "When no answer is none; shorter than every.", keys.Duration(100*time.Millisecond,
			time.Minute), func(p *prometheusDraft) *keys.At[time.Duration] { return &p.timeout }).
			Said(keys.FormatDuration(defaultMetricTimeout) + ", or half of every when that is shorter"),
	}}
}

func checkNumberShape() keys.Shorthand[checkNumberDraft, string] {
	return keys.Shorthand[checkNumberDraft, string]{
		Short: keys.Name(),
		Long: keys.Object[checkNumberDraft]{Fields: []keys.Field[checkNumberDraft]{
			keys.Must("name", "page", "The check.", keys.Name(),
				func(c *checkNumberDraft) *keys.At[string] { return &c.name }),
			keys.May("body", "http only: a regular expression (RE2) with one group, which is the number in the first "+
				"4 KiB of the page.", keys.Text("a regular expression", `'users: ([0-9.]+)'`),
				func(c *checkNumberDraft) *keys.At[string] { return &c.body }).
				Said("the time that answers take, in seconds"),
		}},
		Take: func(name keys.At[string]) checkNumberDraft { return checkNumberDraft{name: name} },
	}
}

func opinionShape() keys.Object[opinionDraft] {
	windows := keys.List[times.Draft]{Noun: "one window", Each: times.Shape()}
	return keys.Object[opinionDraft]{Fields: []keys.Field[opinionDraft]{
		keys.May("metric", "The metric that it goes by. Without target and steps the metric is the size.", keys.Name(),
			func(o *opinionDraft) *keys.At[string] { return &o.metric }),
		keys.May("target", "The value that the metric is kept at: as many machines as that takes.",
			keys.Number(0, math.MaxFloat64), func(o *opinionDraft) *keys.At[float64] { return &o.target }),
		keys.May("per", "What the target is of. `machine`: the metric is a mean over the machines that serve, as a "+
			"processor's load. `fleet`: it is the whole fleet's, and each machine takes target of it.",
			keys.Choice(nil, perMachine, perFleet),
			func(o *opinionDraft) *keys.At[perWord] { return &o.per }).
			Said("machine, where the metric is a mean over machines; else fleet"),
		keys.Or("tolerance", defaultTolerance, "Within this part of the target around it nothing moves.",
			keys.Number(0, 1), func(o *opinionDraft) *keys.At[float64] { return &o.tolerance }),
		keys.May("steps", "What follows beyond thresholds. Of those that apply, the one that wants the most machines "+
			"counts.", keys.List[stepDraft]{Noun: "one step", Each: stepShape()},
			func(o *opinionDraft) *keys.At[[]keys.At[stepDraft]] { return &o.steps }),
		keys.May("schedule", "The times at which it wants the size in `size`; at others it has no say.", windows,
			func(o *opinionDraft) *keys.At[[]keys.At[times.Draft]] { return &o.schedule }),
		keys.May("size", "With schedule: so many machines.", keys.Integer(1, maxSize),
			func(o *opinionDraft) *keys.At[int] { return &o.size }),
		keys.May("only_at", "The times at which the opinion counts at all.", windows,
			func(o *opinionDraft) *keys.At[[]keys.At[times.Draft]] { return &o.onlyAt }).Said("always"),
		keys.May("not_at", "The times at which it does not, whatever only_at says.", windows,
			func(o *opinionDraft) *keys.At[[]keys.At[times.Draft]] { return &o.notAt }).Said("never"),
	}}
}

func stepShape() keys.Object[stepDraft] {
	value := keys.Number(-math.MaxFloat64, math.MaxFloat64)
	return keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{
		keys.May("above", "It applies while the metric is greater than this. One of above and below.", value,
			func(s *stepDraft) *keys.At[float64] { return &s.above }),
		keys.May("below", "It applies while the metric is less than this.", value,
			func(s *stepDraft) *keys.At[float64] { return &s.below }),
		keys.Or("for", 0, "For so long every reading must be beyond the threshold.", keys.Duration(0, longestLook),
			func(s *stepDraft) *keys.At[time.Duration] { return &s.lasts }),
		keys.May("readings", "So many readings there must be in that time.", keys.Integer(1, 1000),
			func(s *stepDraft) *keys.At[int] { return &s.readings }).Said("half of those that fit into it"),
		keys.Must("change", "+1", "What follows: a size, as 6, or a change of it, as +2, -1, +50% or -20%.",
			changeShape(), func(s *stepDraft) *keys.At[fleet.SizeChange] { return &s.change }),
		keys.May("at_least", "A percentage changes the size by so many machines at least.", keys.Integer(1, maxSize),
			func(s *stepDraft) *keys.At[int] { return &s.atLeast }).Said("1"),
	}}
}

// changeShape is another size, or a change of it.
func changeShape() keys.Scalar[fleet.SizeChange] {
	return keys.Scalar[fleet.SizeChange]{
		Noun: "a size or a change of it", Example: "+2", Forms: []keys.Form{keys.FormText, keys.FormNumber},
		Parse: func(text string) (fleet.SizeChange, *keys.Flaw) {
			c, err := fleet.ParseSizeChange(text)
			if err != nil {
				return c, keys.Flawf("write for example 6, +2, -1, +50% or -20%", "%s", err)
			}
			return c, nil
		},
		Format: func(c fleet.SizeChange) any { return c.String() },
		JSON: keys.Schema{Type: []string{"integer", "string"}, Pattern: `^[+-]?[0-9]+%?$`,
			Noun: "size, or change of it as `+2`, `-1`, `+50%`"},
	}
}

// Said is what the reference says of the key size.
const Said = "How many machines there shall be, or `{min: …, max: …}`: bounds between which orders and " +
	"opinions move it. Needed, unless select takes machines that exist already: then a person is paged when " +
	"another number of them was adopted for longer than blind_after."
