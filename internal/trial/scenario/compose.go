package scenario

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hale/internal/adapters"
	"hale/internal/config/fleets"
	"hale/internal/config/hooks"
	"hale/internal/config/sizes"
	"hale/internal/config/updates"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/world"

	"github.com/rogpeppe/go-internal/txtar"
)

// Compose writes a run as a scenario file that plays it again, line for line: policy, world and events. The
// configuration in it is the run's policy on a simulated provider; what machines are built from is not part of a run,
// and neither is it of the file, except for the disks. A naive policy (Options.Rival) cannot be written.
func Compose(purpose string, o sim.Options) []byte {
	a := txtar.Archive{
		Comment: []byte(purpose + "\n"),
		Files: []txtar.File{
			{Name: partConfig, Data: Policy(o)}, {Name: partWorld, Data: worldOf(o)},
			{Name: partEvents, Data: eventsOf(o)},
		},
	}
	if len(o.Burden.Load.Points) > 0 {
		var b bytes.Buffer
		_ = o.Burden.Load.Write(&b) // memory takes everything
		a.Files = slices.Insert(a.Files, 2, txtar.File{Name: partLoad, Data: b.Bytes()})
	}
	return txtar.Format(&a)
}

func eventsOf(o sim.Options) []byte {
	var b bytes.Buffer
	for _, e := range o.Plan {
		fmt.Fprintf(&b, "%s  %s\n", e.At, e)
	}
	return b.Bytes()
}

func worldOf(o sim.Options) []byte {
	var b bytes.Buffer
	for _, h := range o.Hosts {
		fmt.Fprintf(&b, "host %s", h.Name)
		for _, d := range []struct{ kind, name string }{
			{"rack", h.Rack}, {"room", h.Room}, {"zone", h.Zone}, {"network", h.Network}, {"storage", h.Storage},
		} {
			if d.name != "" {
				fmt.Fprintf(&b, " %s %s", d.kind, d.name)
			}
		}
		if h.Fence > 0 {
			fmt.Fprintf(&b, " fence %d", h.Fence)
		}
		if h.Cut > 0 {
			fmt.Fprintf(&b, " cut %d", h.Cut)
		}
		if h.Delay > 0 {
			fmt.Fprintf(&b, " fence_delay %s", h.Delay)
		}
		if h.Beside > 0 {
			fmt.Fprintf(&b, " beside %d", h.Beside)
		}
		b.WriteByte('\n')
	}
	b.WriteString(standing(o))
	if o.Empty {
		b.WriteString("empty\n")
	}
	if o.Burden.Capacity > 0 {
		fmt.Fprintf(&b, "capacity %s\n", strconv.FormatFloat(o.Burden.Capacity, 'f', -1, 64))
	}
	for _, m := range slices.Sorted(maps.Keys(o.Burden.Measures)) {
		fmt.Fprintf(&b, "measure %s %s\n", m, o.Burden.Measures[m])
	}
	w := world.Options{Boot: o.Boot, BootMost: o.BootMost, Latency: o.Latency, LatencyMost: o.LatencyMost}.Complete()
	fmt.Fprintf(&b, "boot %s\nlatency %s\n", between(w.Boot, w.BootMost), between(w.Latency, w.LatencyMost))
	fmt.Fprintf(&b, "servers %d\nseed %d\nrun %s\n", max(o.Servers, 1), o.Seed, o.Horizon)
	for _, s := range []struct {
		name string
		d    time.Duration
	}{{"calm", o.Calm}, {"operator", o.Operator}} {
		if s.d != 0 {
			fmt.Fprintf(&b, "%s %s\n", s.name, s.d)
		}
	}
	return b.Bytes()
}

// standing is where the machines stand, and what they stand behind.
func standing(o sim.Options) string {
	var b strings.Builder
	for i, host := range o.Homes {
		fmt.Fprintf(&b, "home %s %s\n", o.Spec.Name.Machine(i+1), host)
	}
	for _, name := range o.Spec.After {
		fmt.Fprintf(&b, "after %s\n", name)
	}
	for _, p := range o.Spec.Pools {
		fmt.Fprintf(&b, "pool %s %s\n", p.Balancer, p.Wait)
	}
	return b.String()
}

func between(least, most time.Duration) string {
	if least == most {
		return least.String()
	}
	return fmt.Sprintf("%s..%s", least, most)
}

// Policy writes the run's fleet as a configuration, on a simulated provider.
func Policy(o sim.Options) []byte {
	s := o.Spec
	var b bytes.Buffer
	line := func(indent int, format string, args ...any) {
		b.WriteString(strings.Repeat("  ", indent) + fmt.Sprintf(format, args...) + "\n")
	}
	poll := o.Poll
	if poll == 0 {
		poll = sim.DefaultPoll
	}
	line(0, "providers: {%s: {type: simulated, poll: %s}}", s.Provider, poll)
	line(0, "fleets:")
	line(1, "%s:", s.Name)
	line(2, "provider: %s", s.Provider)
	if !s.Adopt.Selects() || s.Adopt.Expected > 0 {
		line(2, "size: %s", sizes.Write(&s))
	}
	if a := s.Adopt; a.Selects() {
		except := ""
		if len(a.Select.Except) > 0 {
			except = ", except: " + quotedList(a.Select.Except)
		}
		line(2, "select: {name: %q%s%s}", a.Select.Name, except, borne(a.Select))
		line(2, "adopt: {replaceable: %v}", a.Replaceable)
	}
	line(2, "mode: %s", s.Mode)
	if !s.Adopt.Selects() || s.Adopt.Replaceable {
		line(2, "template: {disks: {%s}}", disks(s.Template))
	}
	line(2, "checks: {%s}", strings.Join(fleets.WriteChecks(slices.Concat(s.Checks, s.Tells), adapters.All()),
		",\n      "))
	if len(s.Checks) > 0 {
		line(2, "unhealthy_when: %s", condition(s.UnhealthyWhen))
	}
	repairOf(line, s.Repair)
	l := s.Limits
	repairs := ""
	if l.Repairs > 0 {
		repairs = fmt.Sprintf(", repairs: %d in %s", l.Repairs, l.RepairsIn)
	}
	line(2, "limits: {in_repair: %s%s, in_build: %d, brake: {at_least: %d, percent: %d%%, release_after: %s}}",
		places(l), repairs, l.InBuild,
		l.Brake.AtLeast, l.Brake.Percent, l.Brake.ReleaseAfter)
	f := s.SharedFate
	line(2, "shared_fate: {then: %s, at_least: %d, wait: %s}", cmp.Or(f.Then, policy.FatePage), f.AtLeast, f.Wait)
	if p := s.Placement; p.Spread != "" || p.Apart || len(p.Only) > 0 {
		line(2, "placement: {spread: %s, apart: %v%s}", p.By(), p.Apart, only(p.Only))
	}
	line(2, "grace: %s", s.Grace)
	line(2, "build_within: %s", s.BuildWithin)
	line(2, "blind_after: %s", s.BlindAfter)
	changesOf(line, &s)
	return b.Bytes()
}

// changesOf writes how machines change beside their repair, and what people are told.
func changesOf(line func(int, string, ...any), s *policy.Spec) {
	if s.Update.Pilots > 0 {
		line(2, "update: %s", updates.Write(&s.Update))
	}
	if h := s.Hooks; len(h.Before)+len(h.Leave)+len(h.After) > 0 {
		line(2, "hooks: %s", hooks.Write(&h))
	}
	if len(s.Provision) > 0 {
		line(2, "provision: %s", hooks.WriteList(s.Provision))
	}
	if e := s.Evidence; e != (policy.Evidence{}) {
		line(2, "evidence: {gather: %v, console: %dKiB, screenshot: %v, wait: %s}",
			!e.Off, e.ConsoleBytes()>>10, !e.NoScreenshot, e.Patience())
	}
	if every := s.Notify.RemindEvery; every > 0 {
		line(2, "notify: {remind_every: %s}", every)
	}
}

// disabled is what a disabled host means; empty: nothing.
func disabled(r *policy.Repair) string {
	if r.OnHostDisabled == policy.HostDisabledHold {
		return fmt.Sprintf("{hold: %s}", r.DisabledHold)
	}
	return string(r.OnHostDisabled)
}

func repairOf(line func(int, string, ...any), r policy.Repair) {
	line(2, "repair:")
	line(3, "steps:")
	for _, step := range r.Steps {
		switch step.Kind {
		case fleet.StepRun:
			line(4, "- run: {command: %s, %sidempotent: %v, timeout: %s, verify_within: %s%s}",
				quotedList(step.Run.Args), environment(step.Run.Env),
				step.Run.Idempotent, step.Timeout, step.VerifyWithin, onlyFor(step))
		case fleet.StepRebuild, fleet.StepEvacuate:
			line(4, "- %s: {timeout: %s%s}", step.Kind, step.Timeout, onlyFor(step))
		case fleet.StepSnapshot:
			line(4, "- snapshot: {keep: %d, keep_for: %s, on_failure: %s, timeout: %s%s}", step.Keep, step.KeepFor,
				cmp.Or(step.OnFailure, policy.OnFailureStop),
				step.Timeout, onlyFor(step))
		case fleet.StepPage:
			line(4, "- page: {wait: %s%s}", step.VerifyWithin, onlyFor(step))
		case fleet.StepQuarantine:
			line(4, "- quarantine: {%s}", strings.TrimPrefix(onlyFor(step), ", "))
		case fleet.StepReboot:
			line(4, "- %s: {mode: %s, timeout: %s, verify_within: %s%s}",
				step.Kind, cmp.Or(step.Mode, policy.RebootHard), step.Timeout, step.VerifyWithin, onlyFor(step))
		case fleet.StepRecreate:
			keep := ""
			if step.KeepOld > 0 {
				keep = fmt.Sprintf(", keep_old: %s", step.KeepOld)
			}
			line(4, "- %s: {timeout: %s, on_delete_failure: %s%s%s}", step.Kind, step.Timeout, step.OnDeleteFailure,
				keep,
				onlyFor(step))
		default:
			line(4, "- %s: {timeout: %s, verify_within: %s%s}", step.Kind, step.Timeout, step.VerifyWithin,
				onlyFor(step))
		}
	}
	line(3, "fence: {proof: %s%s}", r.Fence.Proof, fencing(r.Fence))
	line(3, "attempts: %d in %s", r.Attempts, r.AttemptsIn)
	line(3, "backoff: %s", r.Backoff)
	if word := disabled(&r); word != "" {
		line(2, "on_host_disabled: %s", word)
	}
	if r.Silence != "" {
		line(2, "silence: %s", r.Silence)
	}
	if r.OnExternalStop == policy.ExternalStopHeal {
		line(2, "on_external_stop: %s", r.OnExternalStop)
	} else {
		line(2, "on_external_stop: {hold: %s}", r.ExternalStopHold)
	}
}

// fencing is what else the demand on proof says, if it is not what is usual.
func fencing(f fleet.Fence) string {
	said := ""
	if f.Hosts {
		said += ", hosts: off"
	}
	if f.Word {
		said += ", word: take"
	}
	return said
}

func quotedList(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = strconv.Quote(w)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// environment is the key env with what follows it, if there are variables.
func environment(vars []policy.Variable) string {
	if len(vars) == 0 {
		return ""
	}
	out := make([]string, len(vars))
	for i, v := range vars {
		out[i] = v.Name + ": " + strconv.Quote(v.Value)
	}
	return "env: {" + strings.Join(out, ", ") + "}, "
}

// onlyFor are the step's last parameters: for which checks it is, if only for some, and how a person is asked before
// it.
func onlyFor(step policy.Step) string {
	asks := ""
	if a := step.Approve; a != (policy.Approval{}) {
		asks = fmt.Sprintf(", approve: {within: %s, otherwise: %s}", a.Within, a.Otherwise)
	}
	if len(step.For) == 0 {
		return asks
	}
	names := make([]string, len(step.For))
	for i, n := range step.For {
		names[i] = string(n)
	}
	return ", for: [" + strings.Join(names, ", ") + "]" + asks
}

func disks(t policy.Template) string {
	words := make([]string, 0, len(t.Disks))
	for _, d := range t.Disks {
		fate := "keep"
		if d.Ephemeral {
			fate = "ephemeral"
		}
		if d.Size > 0 {
			fate = fmt.Sprintf("{size: %dKiB, keep: %t}", d.Size>>10, !d.Ephemeral)
		}
		words = append(words, d.Name+": "+fate)
	}
	return strings.Join(words, ", ")
}

func condition(c policy.Condition) string {
	if c.Op == policy.OpTerm {
		return string(c.Term)
	}
	words := make([]string, len(c.Of))
	for i, o := range c.Of {
		words[i] = condition(o)
	}
	of := "[" + strings.Join(words, ", ") + "]"
	if c.Op == policy.OpAtLeast {
		return fmt.Sprintf("{at_least: %d, of: %s}", c.N, of)
	}
	return fmt.Sprintf("{%s: %s}", c.Op, of)
}

// places writes how many machines may be in repair.
func places(l policy.Limits) string {
	if l.InRepairPercent > 0 {
		return strconv.Itoa(l.InRepairPercent) + "%"
	}
	return strconv.Itoa(l.InRepair)
}

// only writes the domains as the key of a placement, kind by kind.
func only(domains []fleet.Domain) string {
	var kinds []string
	for i, d := range domains {
		if i > 0 && domains[i-1].Kind == d.Kind {
			continue
		}
		var names []string
		for _, other := range domains {
			if other.Kind == d.Kind {
				names = append(names, other.Name)
			}
		}
		kinds = append(kinds, fmt.Sprintf("%s: %s", d.Kind, quotedList(names)))
	}
	if len(kinds) == 0 {
		return ""
	}
	return ", only: {" + strings.Join(kinds, ", ") + "}"
}

// borne is what else a fleet selects by.
func borne(s policy.Selector) string {
	out := ""
	if s.Metadata != "" {
		var texts []string
		for key, value := range s.Metadata.All() {
			texts = append(texts, fmt.Sprintf("%q: %q", key, value))
		}
		out += ", metadata: {" + strings.Join(texts, ", ") + "}"
	}
	if len(s.IDs) > 0 {
		ids := make([]string, len(s.IDs))
		for i, id := range s.IDs {
			ids[i] = string(id)
		}
		out += ", ids: " + quotedList(ids)
	}
	if len(s.Tags) > 0 {
		out += ", tags: " + quotedList(s.Tags)
	}
	return out
}
