package fleets

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/config/hooks"
	"hale/internal/config/sizes"
	"hale/internal/config/times"
	"hale/internal/config/updates"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// Around is what else the configuration says, as far as it matters to a fleet.
type Around struct {
	*keys.Finder
	All kinds.All
	// Providers are the names of all that there are; Type is the word of the fleet's own, Settings are what its own
	// keys come to, and Hosts what the file says of its hosts.
	Providers []string
	Type      string
	Settings  kinds.Settings
	Hosts     keys.At[[]keys.At[kinds.HostDraft]]
	// Targets are what people are told of at each target; one without events is sent signs of life only.
	Targets map[string]policy.Recipient
	// Cuts are the methods that cut the access of a host of the provider.
	Cuts []Cut
	// Receives says that machines can report by themselves.
	Receives bool
	// Balancers are how often hale looks at each load balancer's pool.
	Balancers map[string]time.Duration
	// Satellites are how many there are, and SatellitesStale is how long what one said counts.
	Satellites      int
	SatellitesStale time.Duration
	// Shared says that several servers share the state, and StandbysLook that those which stand by are vantages.
	Shared, StandbysLook bool
}

// Cut is a method that cuts a host's access.
type Cut struct {
	Host   fleet.HostName
	Method string
	From   kinds.Access // empty: that is not known
}

// Compile judges the draft of a fleet. What it returns counts only when nothing was found.
func Compile(n keys.Named[Draft], around Around) policy.Spec {
	c := compiler{Around: around, draft: n.Value, name: n.Name, spot: n.Under("size")}
	if kind := c.All.Provider(c.Type); kind != nil {
		c.known, c.kind = true, *kind
	}
	spec := c.compile()
	c.cutsEnough(&spec)
	return spec
}

// Provider is the name of the provider that the fleet names.
func (d *Draft) Provider() string { return d.provider.Value }

// Selects is where the fleet selects machines that exist already.
func (d *Draft) Selects() keys.Spot { return d.selects.Spot }

// compiler judges one fleet's draft.
type compiler struct {
	Around
	draft Draft
	name  string
	spot  keys.Spot
	rise  rise
	// known says that the type of the fleet's provider is, which is kind then.
	known bool
	kind  kinds.Provider
	// bootsVolume says that a machine has no disk but a volume to boot from.
	bootsVolume bool
}

func (c *compiler) compile() policy.Spec {
	d := c.draft
	adopt := c.adoption()
	template := c.template()
	c.bootsVolume = template.Server != nil && template.Server.BootVolume.Size > 0
	loss := c.loss(template)
	if c.selects() && !adopt.Replaceable {
		template, loss = policy.Template{}, unreplaceable
	}
	checks, tells := c.checks()
	unhealthy := c.unhealthyWhen()
	around := hooks.Compiler{Finder: c.Finder, Placeholders: c.placeholders}
	c.rise = riseOf(checks, unhealthy)
	c.speakWhileOut(checks, unhealthy)
	c.heartbeatPlaceholders(template.UserData, slices.Concat(checks, tells))
	return policy.Spec{
		Name:          fleet.Name(c.name),
		Provider:      c.provider(),
		Size:          c.size(),
		Sizing:        sizes.Compile(d.size, c.aroundSize(slices.Concat(checks, tells))),
		Spares:        c.spares(template),
		Adopt:         adopt,
		Template:      template,
		Checks:        checks,
		Tells:         tells,
		UnhealthyWhen: unhealthy,
		Repair:        c.repair(loss),
		Limits:        c.limits(),
		Update:        updates.Compile(&d.update.Value, c.aroundUpdates(slices.Concat(checks, tells), template)),
		SharedFate:    c.sharedFate(loss),
		Placement:     c.placement(),
		Mode:          d.mode.Value,
		Protected:     c.protected(),
		Grace:         d.grace.Value,
		BuildWithin:   c.patience(d.buildWithin),
		BlindAfter:    d.blindAfter.Value,
		Notify:        c.notify(),
		Evidence:      c.evidence(),
		Hooks:         around.Hooks(d.hooks.Value),
		Provision:     around.List(d.provision),
		Pools:         c.pooled(),
		History:       d.history.Value,
	}
}

// size is the number of machines that a fleet builds; one that selects has as many as there are.
func (c *compiler) size() int {
	if c.selects() {
		return 0
	}
	if c.draft.size.How == keys.Absent {
		c.Add(c.spot, "is missing", "add size: 3")
	}
	return sizes.Asked(c.draft.size).Value
}

// aroundSize is what else the configuration says, as far as it matters to the fleet's size.
func (c *compiler) aroundSize(checks []policy.Check) sizes.Around {
	around := sizes.Around{Finder: c.Finder, Selects: c.selects(), Checks: checks,
		Broken: c.draft.checks.How == keys.Broken || len(checks) != len(c.draft.checks.Value),
		Used:   c.draft.update.Value.Metric()}
	if c.known {
		around.Kind = &c.kind
	}
	return around
}

// aroundUpdates is what else the configuration says, as far as it matters to the fleet's updates.
func (c *compiler) aroundUpdates(checks []policy.Check, t policy.Template) updates.Around {
	spares := c.draft.spares.Value.count
	return updates.Around{Around: c.aroundSize(checks), Size: c.draft.size,
		StandsIn: spares.Known() && spares.Value > 0, Keeps: keptDisk(t)}
}

func (c *compiler) provider() fleet.ProviderName {
	p := c.draft.provider
	if p.Known() && !slices.Contains(c.Providers, p.Value) {
		hint := keys.DidYouMean(p.Value, c.Providers)
		if hint == "" {
			hint = "add it under providers"
		}
		c.Add(p.Spot, fmt.Sprintf("there is no provider %s", p.Value), hint)
	}
	return fleet.ProviderName(p.Value)
}

// evidence returns what is kept; what is usual is left at zero.
func (c *compiler) evidence() policy.Evidence {
	e := c.draft.evidence.Value
	p := policy.Evidence{Off: !e.gather.Value, NoScreenshot: !e.screenshot.Value}
	if e.console.Value != fleet.ConsoleLimit {
		p.Console = int(e.console.Value) //nolint:gosec // at most 64 KiB
	}
	if e.wait.Value != fleet.GatherLimit {
		p.Wait = e.wait.Value
	}
	return p
}

func (c *compiler) limits() policy.Limits {
	d := c.draft.limits.Value
	size := sizes.Largest(c.draft.size)
	if n := d.inRepair.Value.Number; d.inRepair.Known() && size.Known() && n > size.Value {
		c.Add(d.inRepair.Spot, fmt.Sprintf("%d is more than the size, %d", n, size.Value), "lower in_repair")
	}
	return policy.Limits{
		InRepair:        d.inRepair.Value.Number,
		InRepairPercent: d.inRepair.Value.Percent,
		Repairs:         d.repairs.Value.Times,
		RepairsIn:       d.repairs.Value.Within,
		InBuild:         d.inBuild.Value,
		Brake:           d.brake.Value.Policy(),
	}
}

// sharedFate judges the policy for parent incidents. An evacuation needs a recreate step; a loss is what is wrong with
// one.
func (c *compiler) sharedFate(loss *keys.Flaw) policy.SharedFate {
	d := c.draft.sharedFate.Value
	if d.then.Given() && d.then.Value == policy.FateEvacuate && !c.recreates(loss) {
		c.Add(d.then.Spot, "evacuate needs the step recreate", "add recreate to repair.steps, or choose page or wait")
	}
	return policy.SharedFate{Then: d.then.Value, AtLeast: d.atLeast.Value, Wait: d.wait.Value}
}

// recreates reports whether the ladder has the step recreate, as written or by default.
func (c *compiler) recreates(loss *keys.Flaw) bool {
	steps := c.draft.repair.Value.steps
	if steps.How == keys.Absent {
		return loss == nil
	}
	return slices.ContainsFunc(steps.Value,
		func(s keys.At[stepDraft]) bool { return s.Value.kind == fleet.StepRecreate })
}

func (c *compiler) repair(loss *keys.Flaw) policy.Repair {
	d := c.draft.repair.Value
	stop, hold := c.externalStop()
	disabled, longest := c.hostDisabled()
	return policy.Repair{
		Steps:            c.steps(loss),
		Fence:            c.fence(d.fence.Value),
		Attempts:         d.attempts.Value.Times,
		AttemptsIn:       d.attempts.Value.Within,
		Backoff:          d.backoff.Value,
		OnExternalStop:   stop,
		OnHostDisabled:   disabled,
		DisabledHold:     longest,
		Silence:          c.silence(),
		ExternalStopHold: hold,
		Windows:          times.Windows(c.Finder, d.windows),
		NotEvery:         times.Windows(c.Finder, d.notEvery),
	}
}

// silence returns what silence without a witness means, as nothing when it is the usual.
func (c *compiler) silence() policy.Silence {
	if v := c.draft.silence.Value; v != policy.SilenceHolds {
		return v
	}
	return ""
}

// hostDisabled returns what a disabled host means, and for how long one is held at most. To heal is for the ladder:
// without a step that leaves the host, only a person could.
func (c *compiler) hostDisabled() (policy.HostDisabled, time.Duration) {
	d := c.draft.onHostDisabled
	word, longest := d.Value.word.Value, time.Duration(0)
	switch {
	case d.Value.hold.Given():
		word, longest = policy.HostDisabledHold, d.Value.hold.Value
	case word == policy.HostDisabledHold:
		longest = defaultDisabledHold
	case word != policy.HostDisabledHeal:
		return "", 0 // as when nothing was written
	}
	leaves := func(s keys.At[stepDraft]) bool {
		return s.Value.kind == fleet.StepMigrate || s.Value.kind == fleet.StepRecreate
	}
	if hint := c.unseen(); hint != "" && (word != policy.HostDisabledHold || !c.kind.Maintains) {
		c.Add(d.Spot, "has no effect: hale does not see the hosts of this provider", hint)
	}
	if steps := c.draft.repair.Value.steps; word == policy.HostDisabledHeal && steps.How != keys.Absent &&
		!slices.ContainsFunc(steps.Value, leaves) {
		c.Add(d.Spot, "no step leaves a host that is disabled", "add migrate or recreate to repair.steps")
	}
	return word, longest
}

func (c *compiler) externalStop() (policy.ExternalStop, time.Duration) {
	d := c.draft.onExternalStop
	switch {
	case d.Value.hold.Given():
		return policy.ExternalStopHoldThenPage, d.Value.hold.Value
	case d.Value.word.Given() && d.Value.word.Value == policy.ExternalStopHeal:
		return policy.ExternalStopHeal, 0
	}
	return policy.ExternalStopHoldThenPage, defaultStopHold
}

// steps returns the ladder: as written, or every step that loses nothing. A loss is what is wrong with recreate.
func (c *compiler) steps(loss *keys.Flaw) []policy.Step {
	d := c.draft.repair.Value.steps
	if d.How == keys.Absent {
		return c.defaultSteps(loss)
	}
	var steps []policy.Step
	for i, s := range d.Value {
		if s.How != keys.Given {
			continue
		}
		wait := s.Value.verifyWithin.Value
		if s.Value.kind != fleet.StepPage { // there it is how long the person has
			wait = c.patience(s.Value.verifyWithin)
		}
		steps = append(steps, policy.Step{
			Kind: s.Value.kind, Timeout: s.Value.timeout.Value, VerifyWithin: wait,
			OnDeleteFailure: s.Value.onDeleteFailure.Value, KeepOld: s.Value.keepOld.Value, Mode: s.Value.mode.Value,
			For: c.onlyFor(s.Value.only),
			Run: c.command(s.Value), Keep: s.Value.keep.Value, KeepFor: s.Value.keepFor.Value,
			OnFailure: s.Value.onFailure.Value, Approve: hooks.Approval(s.Value.approve),
		})
		c.order(d.Value[:i], s)
		c.unmoved(s)
		c.unrescued(s)
		c.uncopied(s)
		c.prepares(s, d.Value[i+1:])
		if s.Value.keepOld.Written() && c.selects() {
			c.Add(s.Value.keepOld.Spot,
				"a machine that existed before hale bears no mark, so that it cannot be kept aside",
				"take it out")
		}
		if s.Value.keepOld.Written() && c.draft.repair.Value.fence.Value.proof.Value == fleet.ProofDeleted {
			c.Add(s.Value.keepOld.Spot, "an instance that is kept cannot be confirmed-deleted",
				"take it out, or demand confirmed-off in repair.fence")
		}
		if s.Value.onDeleteFailure.Value == policy.DeleteFailureContinue && c.keepsDisks() {
			c.Add(s.Value.onDeleteFailure.Spot,
				"an instance that is left behind would hold on to the machine's kept disks",
				"choose stop")
		}
		if s.Value.kind.Builds() && loss != nil && !s.Value.keepOld.Written() {
			c.Add(s.Spot, strings.Replace(loss.Message, "recreate", string(s.Value.kind), 1), strings.Replace(loss.Hint,
				"take recreate", "take "+string(s.Value.kind), 1))
		}
	}
	return steps
}

// command returns what a run step executes.
func (c *compiler) command(d stepDraft) policy.Command {
	args, env := kinds.Command(c.Finder, keys.ProgramDraft{Command: d.command, Env: d.env}, c.placeholders)
	return policy.Command{Args: args, Env: env, Idempotent: d.idempotent.Value}
}

// defaultSteps are those of a fleet without a ladder in the file. Machines that existed before hale may have been
// paused or suspended by their owner; and a person is told where nothing gentle helps.
func (c *compiler) defaultSteps(loss *keys.Flaw) []policy.Step {
	wait := c.patience(keys.At[time.Duration]{Value: defaultVerifyWithin, How: keys.Preset})
	steps := []policy.Step{{Kind: fleet.StepStart, Timeout: defaultCallTimeout, VerifyWithin: wait}}
	if c.selects() {
		steps = append(steps, policy.Step{Kind: fleet.StepResume, Timeout: defaultCallTimeout, VerifyWithin: wait})
	}
	steps = append(steps, policy.Step{Kind: fleet.StepReboot, Timeout: defaultCallTimeout, VerifyWithin: wait,
		Mode: defaultRebootMode})
	switch {
	case loss == nil:
		steps = append(steps, policy.Step{Kind: fleet.StepRecreate, Timeout: defaultRecreateTimeout,
			OnDeleteFailure: defaultOnDeleteFailure})
	case c.selects():
		steps = append(steps, policy.Step{Kind: fleet.StepPage})
	}
	return steps
}

// onlyFor returns the checks that a step is for, sorted.
func (c *compiler) onlyFor(d keys.At[[]keys.At[string]]) []fleet.CheckName {
	names := append(c.judging(), string(policy.ProviderTerm))
	var out []fleet.CheckName
	for _, n := range d.Value {
		c.judgingCheck(n, names, "name one of the fleet's checks, or provider")
		out = append(out, fleet.CheckName(n.Value))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// prepares reports a copy of disks that no later step would lose.
func (c *compiler) prepares(s keys.At[stepDraft], later []keys.At[stepDraft]) {
	loses := func(l keys.At[stepDraft]) bool {
		return l.How == keys.Given && (l.Value.kind == fleet.StepRecreate || l.Value.kind == fleet.StepRebuild)
	}
	if s.Value.kind == fleet.StepSnapshot && !slices.ContainsFunc(later, loses) {
		c.Add(s.Spot, "snapshot is pointless: no later step would lose the disks",
			"put it before rebuild or recreate, or take it out")
	}
}

// order reports a step that comes twice, or after one that leaves nothing to do.
func (c *compiler) order(earlier []keys.At[stepDraft], s keys.At[stepDraft]) {
	for _, e := range earlier {
		switch {
		case e.How != keys.Given:
		case e.Value.kind == s.Value.kind && e.Value.mode.Value == s.Value.mode.Value && !s.Value.only.Written() &&
			!e.Value.only.Written() &&
			s.Value.kind != fleet.StepRun:
			c.Add(s.Spot, fmt.Sprintf("%s is in the ladder already, at line %d", s.Value.kind, e.Line),
				"take one of the two out")
			return
		case e.Value.kind == fleet.StepQuarantine && !e.Value.only.Written():
			c.Add(s.Spot, fmt.Sprintf("%s after quarantine is pointless: nothing touches the machine any more",
				s.Value.kind),
				"make quarantine the last step")
			return
		case s.Value.kind == fleet.StepPage || s.Value.kind == fleet.StepQuarantine:
		case e.Value.kind == fleet.StepRescue && !e.Value.only.Written():
			c.Add(s.Spot, fmt.Sprintf("%s after rescue would disturb the person who repairs the machine", s.Value.kind),
				"make rescue the last step")
			return
		case e.Value.kind == fleet.StepRecreate && !e.Value.only.Written():
			c.Add(s.Spot, fmt.Sprintf("%s after recreate is pointless: the machine is new by then", s.Value.kind),
				"make recreate the last step")
			return
		}
	}
}
