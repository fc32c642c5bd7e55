package change

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// What differs is told in the configuration's own words, as data: the keys with their values. Package prose makes the
// sentence.

// mostParts is how much of what differs within a policy or check is named one by one.
const mostParts = 6

// part is a key of the configuration with what it says. A part without a word for its value is named alone.
type part struct {
	key   string
	value any
	said  string
}

func word[T ~string](key string, value T) part { return part{key, value, string(value)} }

func number(key string, n int) part { return part{key, n, strconv.Itoa(n)} }

func flag(key string, is bool) part { return part{key, is, strconv.FormatBool(is)} }

func span(key string, d time.Duration) part { return part{key, d, fleet.WriteSpan(d)} }

func portion(key string, p policy.Portion) part {
	switch {
	case p.Percent > 0:
		return part{key, p, strconv.Itoa(p.Percent) + "%"}
	case p.Number > 0:
		return part{key, p, strconv.Itoa(p.Number)}
	}
	return part{key, p, "none"}
}

// bare is for what is too long for a line, or may be secret.
func bare(key string, value any) part { return part{key: key, value: value} }

// parts returns a fleet's policy key by key. The last one is whatever has no key of its own here.
func parts(s policy.Spec) []part {
	r, l, e := &s.Repair, &s.Limits, &s.Evidence
	return append(sizeParts(s.Sizing), []part{
		word("mode", s.Mode), steps(r.Steps), bare("repair.steps, their options", r.Steps),
		word("repair.fence.proof", r.Fence.Proof), bare("repair.fence", r.Fence),
		{"repair.attempts", [2]any{r.Attempts, r.AttemptsIn},
			strconv.Itoa(r.Attempts) + " in " + fleet.WriteSpan(r.AttemptsIn)},
		span("repair.backoff", r.Backoff), bare("repair.windows", r.Windows), bare("repair.not_every", r.NotEvery),
		word("on_external_stop", r.OnExternalStop), span("on_external_stop.hold", r.ExternalStopHold),
		word("on_host_disabled", r.OnHostDisabled), span("on_host_disabled.hold", r.DisabledHold),
		word("silence", r.Silence),
		number("limits.in_repair", l.InRepair),
		{"limits.in_repair", l.InRepairPercent, strconv.Itoa(l.InRepairPercent) + "%"},
		{"limits.repairs", [2]any{l.Repairs, l.RepairsIn}, strconv.Itoa(l.Repairs) + " in " +
			fleet.WriteSpan(l.RepairsIn)},
		number("limits.in_build", l.InBuild),
		number("limits.brake.at_least", l.Brake.AtLeast),
		{"limits.brake.percent", l.Brake.Percent, strconv.Itoa(l.Brake.Percent) + "%"},
		span("limits.brake.release_after", l.Brake.ReleaseAfter),
		bare("limits.brake.all", l.Brake.All),
		bare("limits shared with other fleets", l.Shared),
		bare("brakes shared with other fleets", l.Brakes),
		word("shared_fate.then", s.SharedFate.Then), number("shared_fate.at_least", s.SharedFate.AtLeast),
		span("shared_fate.wait", s.SharedFate.Wait),
		bare("unhealthy_when", s.UnhealthyWhen), bare("protect", s.Protected), bare("placement", s.Placement),
		number("spares", s.Spares.Count), flag("spares.keep: off", s.Spares.Off),
		number("update.canary", s.Update.Pilots), span("update.soak", s.Update.Soak),
		portion("update.batch", s.Update.Batch), span("update.pause", s.Update.Pause),
		portion("update.min_in_service", s.Update.InService), number("update.surge", s.Update.Surge),
		bare("update.query", s.Update.Query),
		word("update.on_failure", s.Update.OnFailure), span("update.undo_within", s.Update.UndoWithin),
		word("update.order", s.Update.Order),
		flag("adopt.replaceable", s.Adopt.Replaceable),
		bare("select", s.Adopt.Select), number("size", s.Adopt.Expected),
		bare("select of other fleets", s.Adopt.Rivals), bare("machines that were let go", s.Adopt.Left),
		span("grace", s.Grace), span("build_within", s.BuildWithin), span("blind_after", s.BlindAfter),
		span("history", s.History),
		span("notify.remind_every", s.Notify.RemindEvery), bare("notify", s.Notify.To),
		number("evidence.console", e.Console),
		bare("evidence", s.Evidence), bare("template.disks", s.Template.Disks),
		bare("hooks", s.Hooks), bare("provision", s.Provision), bare("balancers", s.Pools), bare("after", s.After),
	}...)
}

// sizeParts returns what moves a fleet's size, key by key; nil: nothing does.
func sizeParts(s *policy.Sizing) []part {
	kind := "bounded"
	if s == nil {
		kind, s = "plain", &policy.Sizing{}
	}
	parts := []part{
		word("size", kind),
		number("size.min", s.Min), number("size.max", s.Max), flag("size.desired", s.Desired > 0),
		flag("size.strict", s.Strict), word("size.mode", s.Mode), bare("size.metrics", s.Metrics),
		bare("size.opinions", s.Opinions), span("size.down.grace", s.Grace), bare("size.up", s.Up),
		bare("size.down", s.Down), bare("size.leave", []any{s.Leave, s.Busy}), word("size.even", s.Even),
		bare("size.stay", s.Stay), span("size.tell_after", s.TellAfter), flag("size.forecast", s.Forecast),
	}
	for i := range parts { // what was not said has no word
		if reflect.ValueOf(parts[i].value).IsZero() {
			parts[i].said = ""
		}
	}
	return parts
}

// partsOfCheck returns a check key by key.
func partsOfCheck(c policy.Check) []part {
	path, _, _ := strings.Cut(c.HTTP.Path, "?") // what follows may be secret
	return []part{
		word("kind", c.Kind), number("port", c.Port), {"path", c.HTTP.Path, path}, span("every", c.Every),
		span("timeout", c.Timeout),
		{"down_after", [2]int{c.DownAfter, c.DownIn}, often(c.DownAfter, c.DownIn)},
		{"up_after", [2]int{c.UpAfter, c.UpIn}, often(c.UpAfter, c.UpIn)},
		flag("full", c.Full), bare("not_every", c.NotEvery), bare("depends_on", c.DependsOn),
		flag("then: tell", c.Tells),
		number("vantages", c.Sight.Vantages), number("agree", c.Sight.Agree), span("stale_after", c.Sight.StaleAfter),
		bare("what it asks", []any{c.HTTP, c.Exec, c.SSH, c.UDP, c.DNS, c.GRPC, c.Heartbeat, c.Certificate, c.Pool}),
	}
}

func often(after, in int) string {
	if in > after {
		return strconv.Itoa(after) + " of " + strconv.Itoa(in)
	}
	return strconv.Itoa(after)
}

func steps(ladder []policy.Step) part {
	kinds := make([]string, len(ladder))
	for i, s := range ladder {
		kinds[i] = string(s.Kind)
	}
	return part{"repair.steps", kinds, strings.Join(kinds, ", ")}
}

// told says what differs: "mode: act → observe; repair.windows". What a part that was named already explains is not
// named again.
func told(was, is []part) string {
	var said []string
	more := 0
	for i, w := range was {
		if reflect.DeepEqual(w.value, is[i].value) || w.said == "" && is[i].said == "" && explained(said, w.key) {
			continue
		}
		if len(said) == mostParts {
			more++
			continue
		}
		if w.said == is[i].said {
			said = append(said, w.key)
			continue
		}
		said = append(said, w.key+": "+orNone(w.said)+" → "+orNone(is[i].said))
	}
	if more > 0 {
		said = append(said, "and "+strconv.Itoa(more)+" more")
	}
	return strings.Join(said, "; ")
}

// explained reports whether a part of the key, or what holds the key, was told.
func explained(said []string, key string) bool {
	key, _, _ = strings.Cut(key, ", ")
	return slices.ContainsFunc(said, func(s string) bool {
		return strings.HasPrefix(s, key+".") || strings.HasPrefix(s, key+":") ||
			key == "what it asks" && strings.HasPrefix(s, "path:")
	})
}

func orNone(said string) string {
	if said == "" {
		return "none"
	}
	return said
}
