package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hale/internal/fleet"
)

// fleetCompiler judges one fleet's draft.
type fleetCompiler struct {
	*finder
	draft     fleetDraft
	name      string
	spot      spot
	providers map[string]at[ProviderType]
	drafts    []named[providerDraft]
	targets   map[string]targetDraft
	rise      rise
	listens   bool // machines can report by themselves
}

func (c *fleetCompiler) compile() fleet.Spec {
	d := c.draft
	adopt := c.adoption()
	template := c.template()
	loss := c.loss(template)
	if c.selects() && !adopt.Replaceable {
		template, loss = fleet.Template{}, unreplaceable
	}
	checks, unhealthy := c.checks(), c.unhealthyWhen()
	c.rise = riseOf(checks, unhealthy)
	c.heartbeatPlaceholders(template.UserData, checks)
	return fleet.Spec{
		Name:          fleet.Name(c.name),
		Provider:      c.provider(),
		Size:          c.size(),
		Adopt:         adopt,
		Template:      template,
		Checks:        checks,
		UnhealthyWhen: unhealthy,
		Repair:        c.repair(loss),
		Limits:        c.limits(),
		Update:        fleet.UpdatePolicy{Canary: d.update.value.canary.value, Soak: d.update.value.soak.value},
		SharedFate:    c.sharedFate(loss),
		Placement:     c.placement(),
		Mode:          d.mode.value,
		Protected:     c.protected(),
		Grace:         d.grace.value,
		BuildWithin:   c.patience(d.buildWithin),
		BlindAfter:    d.blindAfter.value,
		Notify:        c.notify(),
		Evidence:      c.evidence(),
		History:       d.history.value,
	}
}

func (c *fleetCompiler) provider() fleet.ProviderName {
	p := c.draft.provider
	if _, ok := c.providers[p.value]; p.known() && !ok {
		hint := didYouMean(p.value, slices.Collect(maps.Keys(c.providers)))
		if hint == "" {
			hint = "add it under providers"
		}
		c.add(p.spot, fmt.Sprintf("there is no provider %s", p.value), hint)
	}
	return fleet.ProviderName(p.value)
}

// providerIs reports whether the fleet's provider is known to be of the type.
func (c *fleetCompiler) providerIs(t ProviderType) bool {
	kind, ok := c.providers[c.draft.provider.value]
	return ok && kind.known() && kind.value == t
}

// providerKnown reports whether the type of the fleet's provider is known.
func (c *fleetCompiler) providerKnown() bool {
	kind, ok := c.providers[c.draft.provider.value]
	return ok && kind.known()
}

// evidence returns what is kept; what is usual is left at zero.
func (c *fleetCompiler) evidence() fleet.EvidencePolicy {
	e := c.draft.evidence.value
	p := fleet.EvidencePolicy{Off: !e.gather.value, NoScreenshot: !e.screenshot.value}
	if e.console.value != fleet.ConsoleLimit {
		p.Console = int(e.console.value) //nolint:gosec // at most 64 KiB
	}
	if e.wait.value != fleet.GatherLimit {
		p.Wait = e.wait.value
	}
	return p
}

func (c *fleetCompiler) limits() fleet.Limits {
	d := c.draft.limits.value
	size := c.draft.size
	if n := d.inRepair.value.number; d.inRepair.known() && size.known() && n > size.value {
		c.add(d.inRepair.spot, fmt.Sprintf("%d is more than the size, %d", n, size.value), "lower in_repair")
	}
	return fleet.Limits{
		InRepair:        d.inRepair.value.number,
		InRepairPercent: d.inRepair.value.percent,
		Repairs:         d.repairs.value.times,
		RepairsIn:       d.repairs.value.within,
		InBuild:         d.inBuild.value,
		Brake:           brakePolicy(d.brake),
	}
}

// sharedFate judges the policy for parent incidents. An evacuation needs a recreate step; a loss is what is wrong with
// one.
func (c *fleetCompiler) sharedFate(loss *flaw) fleet.SharedFate {
	d := c.draft.sharedFate.value
	if d.then.given() && d.then.value == fleet.FateEvacuate && !c.recreates(loss) {
		c.add(d.then.spot, "evacuate needs the step recreate", "add recreate to repair.steps, or choose page or wait")
	}
	return fleet.SharedFate{Then: d.then.value, AtLeast: d.atLeast.value, Wait: d.wait.value}
}

// recreates reports whether the ladder has the step recreate, as written or by default.
func (c *fleetCompiler) recreates(loss *flaw) bool {
	steps := c.draft.repair.value.steps
	if steps.how == absent {
		return loss == nil
	}
	return slices.ContainsFunc(steps.value, func(s at[stepDraft]) bool { return s.value.kind == fleet.StepRecreate })
}

func (c *fleetCompiler) repair(loss *flaw) fleet.RepairPolicy {
	d := c.draft.repair.value
	stop, hold := c.externalStop()
	return fleet.RepairPolicy{
		Steps:            c.steps(loss),
		Fence:            c.fence(d.fence.value),
		Attempts:         d.attempts.value.times,
		AttemptsIn:       d.attempts.value.within,
		Backoff:          d.backoff.value,
		OnExternalStop:   stop,
		OnHostDisabled:   c.hostDisabled(),
		Silence:          c.silence(),
		ExternalStopHold: hold,
		Windows:          c.windows(d.windows),
		NotEvery:         c.windows(d.notEvery),
	}
}

// silence returns what silence without a witness means, as nothing when it is the usual.
func (c *fleetCompiler) silence() fleet.SilencePolicy {
	if v := c.draft.silence.value; v != fleet.SilenceHolds {
		return v
	}
	return ""
}

// hostDisabled returns what a disabled host means. What can follow from it is for the ladder: without a step that
// leaves the host, only a person could.
func (c *fleetCompiler) hostDisabled() fleet.HostDisabled {
	d := c.draft.onHostDisabled
	if d.value != fleet.HostDisabledHeal {
		return "" // as when nothing was written
	}
	leaves := func(s at[stepDraft]) bool {
		return s.value.kind == fleet.StepMigrate || s.value.kind == fleet.StepRecreate
	}
	if hint := c.unseen(); hint != "" {
		c.add(d.spot, "has no effect: hale does not see the hosts of this provider", hint)
	}
	if steps := c.draft.repair.value.steps; steps.how != absent && !slices.ContainsFunc(steps.value, leaves) {
		c.add(d.spot, "no step leaves a host that is disabled", "add migrate or recreate to repair.steps")
	}
	return d.value
}

func (c *fleetCompiler) externalStop() (fleet.ExternalStop, time.Duration) {
	d := c.draft.onExternalStop
	switch {
	case d.value.hold.given():
		return fleet.ExternalStopHoldThenPage, d.value.hold.value
	case d.value.word.given() && d.value.word.value == fleet.ExternalStopHeal:
		return fleet.ExternalStopHeal, 0
	}
	return fleet.ExternalStopHoldThenPage, defaultStopHold
}

// steps returns the ladder: as written, or every step that loses nothing. A loss is what is wrong with recreate.
func (c *fleetCompiler) steps(loss *flaw) []fleet.Step {
	d := c.draft.repair.value.steps
	if d.how == absent {
		return c.defaultSteps(loss)
	}
	var steps []fleet.Step
	for i, s := range d.value {
		if s.how != given {
			continue
		}
		wait := s.value.verifyWithin.value
		if s.value.kind != fleet.StepPage { // there it is how long the person has
			wait = c.patience(s.value.verifyWithin)
		}
		steps = append(steps, fleet.Step{
			Kind: s.value.kind, Timeout: s.value.timeout.value, VerifyWithin: wait,
			OnDeleteFailure: s.value.onDeleteFailure.value, KeepOld: s.value.keepOld.value, Mode: s.value.mode.value,
			For: c.onlyFor(s.value.only),
			Run: c.command(s.value), Keep: s.value.keep.value, KeepFor: s.value.keepFor.value,
			OnFailure: s.value.onFailure.value,
		})
		c.order(d.value[:i], s)
		c.unmoved(s)
		c.unrescued(s)
		c.uncopied(s)
		c.prepares(s, d.value[i+1:])
		if s.value.keepOld.written() && c.selects() {
			c.add(s.value.keepOld.spot,
				"a machine that existed before hale bears no mark, so that it cannot be kept aside",
				"take it out")
		}
		if s.value.keepOld.written() && c.draft.repair.value.fence.value.proof.value == fleet.ProofDeleted {
			c.add(s.value.keepOld.spot, "an instance that is kept cannot be confirmed-deleted",
				"take it out, or demand confirmed-off in repair.fence")
		}
		if s.value.onDeleteFailure.value == fleet.DeleteFailureContinue && c.keepsDisks() {
			c.add(s.value.onDeleteFailure.spot,
				"an instance that is left behind would hold on to the machine's kept disks",
				"choose stop")
		}
		if s.value.kind.Builds() && loss != nil && !s.value.keepOld.written() {
			c.add(s.spot, strings.Replace(loss.message, "recreate", string(s.value.kind), 1), strings.Replace(loss.hint,
				"take recreate", "take "+string(s.value.kind), 1))
		}
	}
	return steps
}

// command returns what a run step executes.
func (c *fleetCompiler) command(d stepDraft) fleet.Command {
	program := c.exec(execDraft{command: d.command, env: d.env})
	return fleet.Command{Args: program.Command, Env: program.Env, Idempotent: d.idempotent.value}
}

// defaultSteps are those of a fleet whose ladder is not written. Machines that existed before hale may have been
// paused, or suspended, by whoever had them; and a person is told where nothing gentle helps.
func (c *fleetCompiler) defaultSteps(loss *flaw) []fleet.Step {
	wait := c.patience(at[time.Duration]{value: defaultVerifyWithin, how: preset})
	steps := []fleet.Step{{Kind: fleet.StepStart, Timeout: defaultCallTimeout, VerifyWithin: wait}}
	if c.selects() {
		steps = append(steps, fleet.Step{Kind: fleet.StepResume, Timeout: defaultCallTimeout, VerifyWithin: wait})
	}
	steps = append(steps, fleet.Step{Kind: fleet.StepReboot, Timeout: defaultCallTimeout, VerifyWithin: wait,
		Mode: defaultRebootMode})
	switch {
	case loss == nil:
		steps = append(steps, fleet.Step{Kind: fleet.StepRecreate, Timeout: defaultRecreateTimeout,
			OnDeleteFailure: defaultOnDeleteFailure})
	case c.selects():
		steps = append(steps, fleet.Step{Kind: fleet.StepPage})
	}
	return steps
}

// onlyFor returns the checks that a step is for, sorted.
func (c *fleetCompiler) onlyFor(d at[[]at[string]]) []fleet.CheckName {
	names := append(c.checkNames(), string(fleet.ProviderTerm))
	var out []fleet.CheckName
	for _, n := range d.value {
		if n.known() && !slices.Contains(names, n.value) {
			hint := didYouMean(n.value, names)
			if hint == "" {
				hint = "name one of the fleet's checks, or provider"
			}
			c.add(n.spot, fmt.Sprintf("there is no check %s", n.value), hint)
		}
		out = append(out, fleet.CheckName(n.value))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prepares reports a copy of disks that no later step would lose.
func (c *fleetCompiler) prepares(s at[stepDraft], later []at[stepDraft]) {
	loses := func(l at[stepDraft]) bool {
		return l.how == given && (l.value.kind == fleet.StepRecreate || l.value.kind == fleet.StepRebuild)
	}
	if s.value.kind == fleet.StepSnapshot && !slices.ContainsFunc(later, loses) {
		c.add(s.spot, "snapshot is pointless: no later step would lose the disks",
			"put it before rebuild or recreate, or take it out")
	}
}

// order reports a step that comes twice, or after one that leaves nothing to do.
func (c *fleetCompiler) order(earlier []at[stepDraft], s at[stepDraft]) {
	for _, e := range earlier {
		switch {
		case e.how != given:
		case e.value.kind == s.value.kind && e.value.mode.value == s.value.mode.value && !s.value.only.written() &&
			!e.value.only.written() &&
			s.value.kind != fleet.StepRun:
			c.add(s.spot, fmt.Sprintf("%s is in the ladder already, at line %d", s.value.kind, e.line),
				"take one of the two out")
			return
		case e.value.kind == fleet.StepQuarantine && !e.value.only.written():
			c.add(s.spot, fmt.Sprintf("%s after quarantine is pointless: nothing touches the machine any more",
				s.value.kind),
				"make quarantine the last step")
			return
		case s.value.kind == fleet.StepPage || s.value.kind == fleet.StepQuarantine:
		case e.value.kind == fleet.StepRescue && !e.value.only.written():
			c.add(s.spot, fmt.Sprintf("%s after rescue would disturb the person who repairs the machine", s.value.kind),
				"make rescue the last step")
			return
		case e.value.kind == fleet.StepRecreate && !e.value.only.written():
			c.add(s.spot, fmt.Sprintf("%s after recreate is pointless: the machine is new by then", s.value.kind),
				"make recreate the last step")
			return
		}
	}
}
