package script

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
)

// shape says what a verb goes with.
type shape struct {
	subject string // machine, domain, provider, template, store or server
	arg     string // what Arg is, or empty: it takes none
	must    bool   // Arg may not be left out
}

// examples are subjects and objects as they may stand in a file.
func examples() map[string]string {
	return map[string]string{
		"machine": "web-2", "another": "web-1", "domain": "host h2", "provider": "provider", "template": "template",
		"store": "store", "server": "hale-1", "balancer": "balancer",
		"operator": "operator", "person": person, "hale": "hale", "fleet": OtherFleet + "db", "time": "10m",
		"wanted":   "web-2",
		"the host": "host h2", "image": "web-2.qcow2", "MiB": "2048", "text": "role=web",
		"load": "load", "metric": "metric requests", "hook": "hook drain", "amount": "500", "lie": "nothing",
		"share": "50%", "host": "h1", "duration": "2m", "count": "3", "check": "page",
		program: "a " + program, "change": "+1", "bounds": "3",
	}
}

// Verbs lists everything that can happen, as lines of a scenario file without their time.
func Verbs() []string {
	var out []string
	for v, s := range shapes() {
		out = append(out, examples()[s.subject]+join(v)+with(v, s))
	}
	slices.Sort(out)
	return out
}

// with returns the verb with an object, if it takes one.
func with(v Verb, s shape) string {
	return strings.TrimSpace(string(v) + " " + examples()[s.arg])
}

// verbsOf lists what can happen to what the text begins with.
func verbsOf(text string) string {
	words := strings.Fields(text)
	kind := SubjectKind(strings.Join(words[:min(1, len(words))], " "))
	if both := SubjectKind(strings.Join(words[:min(2, len(words))], " ")); slices.Contains([]string{"domain", "metric",
		"hook", "fleet", program, "person"}, both) {
		kind = both
	}
	var out []string
	for v, s := range shapes() {
		if s.subject == kind {
			out = append(out, with(v, s))
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Compare(strings.TrimPrefix(a, "'s "),
			strings.TrimPrefix(b, "'s "))
	})
	return "a " + kind + ": " + strings.Join(out, ", ")
}

// Parse reads a line as "10m  host h2 loses power for 5m": when, what to, what, and for how long.
func Parse(line string) (Event, error) {
	first, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	at, err := time.ParseDuration(first)
	if err != nil || at < 0 {
		return Event{}, fmt.Errorf("%q: begin with the time since the start, as 10m or 1h30m", line)
	}
	rest = strings.Replace(strings.Join(strings.Fields(rest), " "), "'s ", " 's ", 1)
	verb, where := findVerb(rest)
	if verb == "" {
		return Event{}, fmt.Errorf("%q says nothing that can happen to %s", rest, verbsOf(rest))
	}
	e := Event{At: at, Subject: strings.TrimPrefix(strings.TrimSpace(rest[:where]), "the "), Verb: verb}
	e.Arg = strings.TrimSpace(rest[where+len(verb):])
	if i := strings.LastIndex(" "+e.Arg, least); i >= 0 {
		if e.Least, err = strconv.Atoi(e.Arg[i+len(least)-1:]); err != nil || e.Least < 1 {
			return Event{}, fmt.Errorf("%q: what follows%sis a number of machines", line, least)
		}
		e.Arg = strings.TrimSpace(e.Arg[:i])
	}
	if i := strings.LastIndex(" "+e.Arg, " for "); i >= 0 {
		if e.For, err = time.ParseDuration(e.Arg[i+len("for "):]); err != nil || e.For <= 0 {
			return Event{}, fmt.Errorf("%q: what follows for is a duration, as 5m", line)
		}
		e.Arg = strings.TrimSpace(e.Arg[:i])
	}
	return e, e.Check()
}

// least introduces how many machines the subject must have for the event to happen.
const least = " if at least "

// findVerb returns the longest verb in the text, and where it begins.
func findVerb(text string) (Verb, int) {
	all := slices.SortedFunc(maps.Keys(shapes()), func(a, b Verb) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	padded := text + " "
	for _, v := range all {
		if i := strings.Index(padded, " "+string(v)+" "); i >= 0 {
			return v, i + 1
		}
	}
	return "", 0
}

// Check says what is wrong with the event, as far as it can be told without a fleet.
func (e Event) Check() error {
	s := shapes()[e.Verb]
	if kind := SubjectKind(e.Subject); kind != s.subject {
		return fmt.Errorf("%q %s: the subject is a %s, and this happens to a %s", e.Subject, e.Verb, kind, s.subject)
	}
	switch {
	case s.arg == "" && e.Arg != "":
		return fmt.Errorf("%s %s: %q is one word too many", e.Subject, e.Verb, e.Arg)
	case s.must && e.Arg == "":
		return fmt.Errorf("%s %s: the %s is missing", e.Subject, e.Verb, s.arg)
	case (e.Verb == Freezes || e.Verb == FreezesCall) && e.For == 0:
		return fmt.Errorf("%s %s: say for how long", e.Subject, e.Verb)
	case e.Verb == Holds && e.For == 0:
		return fmt.Errorf("%s %s %s: say for how long", e.Subject, e.Verb, e.Arg)
	case e.Arg == "":
		return nil
	case e.Verb == LosesLast || e.Verb == IsRolledBack:
		return e.checkPast()
	}
	return e.checkArg(s.arg)
}

// checkPast says what is wrong with an event that brings the past back.
func (e Event) checkPast() error {
	d, err := time.ParseDuration(e.Arg)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", e.Subject, e.Verb, err)
	case d < 0 || d > e.At || d == e.At && e.Verb == IsRolledBack:
		return fmt.Errorf("%s %s %s: that is not between the start and now, which is %s later", e.Subject, e.Verb,
			e.Arg, Span(e.At))
	}
	return nil
}

func (e Event) checkArg(kind string) error {
	var err error
	switch kind {
	case "share":
		_, err = verbs.ParseShare(e.Arg)
	case "duration":
		_, err = time.ParseDuration(e.Arg)
	case "change":
		_, err = ParseChange(e.Arg)
	case "bounds":
		_, err = e.Sized(policy.Spec{Sizing: &policy.Sizing{}})
	case "amount":
		_, err = verbs.ParseAmount(e.Arg)
	case "lie":
		_, err = verbs.ParseLie(e.Arg)
	case "text":
		if !strings.Contains(e.Arg, "=") {
			err = errors.New("it is no key=value")
		}
	case "count", "MiB":
		var n int
		if n, err = strconv.Atoi(e.Arg); err == nil && n < 1 {
			err = fmt.Errorf("%d is below 1", n)
		}
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", e.Subject, e.Verb, err)
	}
	return nil
}

// SubjectKind says what an event's subject is: a machine, domain, server, person, or one of those that are named so.
func SubjectKind(subject string) string {
	switch {
	case subject == "provider", subject == "template", subject == "store", subject == "operator", subject == "hale",
		subject == "load", subject == "balancer":
		return subject
	case strings.HasPrefix(subject, OtherFleet):
		return "fleet"
	case subject == "a "+program:
		return program
	case subject == person:
		return "person"
	case strings.HasPrefix(subject, "hale-"):
		return "server"
	}
	if _, ok := verbs.ParseMetric(subject); ok {
		return "metric"
	}
	if _, ok := verbs.ParseHook(subject); ok {
		return "hook"
	}
	if _, err := verbs.ParseDomain(subject); err == nil {
		return "domain"
	}
	return "machine"
}
