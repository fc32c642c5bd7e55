// Package words says what each value of hale's closed sets is called (verdicts, causes, results, outcomes …), why
// something is done or not, by the reason, and what a person can do about it.
//
// It promises that every constant of these sets has words (a test reads the source of the core), each written so that
// it fits the sentences of package prose.
package words

import (
	"hale/internal/core/belief"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// The words of the smaller sets.
var (
	verdicts = map[belief.Verdict]string{
		belief.VerdictUnknown:   "unknown",
		belief.VerdictStarting:  "starting",
		belief.VerdictHealthy:   "healthy",
		belief.VerdictSuspect:   "suspect",
		belief.VerdictUnhealthy: "unhealthy",
	}
	causes = map[belief.Cause]string{
		belief.CauseNone:      "",
		belief.CauseMissing:   "no instance of it was built yet",
		belief.CauseOff:       "the provider says it is off, and not what turned it off",
		belief.CauseStopped:   "the provider says it was stopped from outside",
		belief.CauseShutdown:  "the provider says it shut down in order, and not who wanted that",
		belief.CauseParked:    "a person had hale turn it off",
		belief.CauseSpareOff:  "it stands by as a spare",
		belief.CauseGone:      "the provider says its instance does not exist",
		belief.CauseCrashed:   "the provider says it crashed",
		belief.CausePanic:     "the provider says it crashed, and its remains are still in place",
		belief.CausePaused:    "the provider says it is paused",
		belief.CauseError:     "the provider says it is broken",
		belief.CauseSuspended: "the provider says it suspended itself",
		belief.CauseRescued:   "the provider says that another system runs in its place, for a person to repair it",
		belief.CauseIOError:   "the provider paused it because a write to its disk failed",
		belief.CauseChecks:    "its checks are down",
		belief.CauseBuild:     "its new instance could not be finished",
		belief.CauseBlind:     "nothing could be learnt about it for too long",
		belief.CauseDisabled:  "its host is disabled",
		belief.CauseMarked:    "a word from outside says that it fails",
		belief.CauseOrdered:   "a person wants it repaired",
	}
	results = map[fleet.ResultReason]string{
		fleet.ResultNone:          "no result yet",
		fleet.ResultOK:            "it answers",
		fleet.ResultTimeout:       "no answer in time",
		fleet.ResultRefused:       "connection refused or reset",
		fleet.ResultUnreachable:   "the network says it is unreachable",
		fleet.ResultStatus:        "the status is not a wanted one",
		fleet.ResultBody:          "the answer does not say what it should",
		fleet.ResultProtocol:      "the answer is not what was asked for",
		fleet.ResultTLS:           "the certificate or the TLS handshake failed",
		fleet.ResultExit:          "the program's exit code says so",
		fleet.ResultNoAddress:     "the provider knows no address",
		fleet.ResultSharedAddress: "another running instance has the same address and may answer in its place",
		fleet.ResultLocal:         "the fault is on this server's side",
		fleet.ResultLate:          "it was asked or read too late to mean anything",
		fleet.ResultIsolated:      "hale itself is cut off",
		fleet.ResultNotEvery:      "it is not heeded at this time of the day",
		fleet.ResultDependsOn:     "so is a check on which it depends",
		fleet.ResultUnproven:      "it fails, and has succeeded on no machine since it was made or edited",
		fleet.ResultUndecided:     "the program cannot tell",
		fleet.ResultUnsupported:   "this instance has no way to be asked",
		fleet.ResultNoMetadata:    "the provider does not name the metadata that the program needs",
		fleet.ResultUnfit: "the value taken from the instance begins with \"-\" or has a control character, so " +
			"the program is not run",
		fleet.ResultNotConnected: "no connection, which this check does not count",
		fleet.ResultPoolDown:     "its load balancer finds it down",
		fleet.ResultUntold:       "its load balancer says nothing of it",
		fleet.ResultPanicked:     "a defect in hale kept it from being asked",
		fleet.ResultNotAgreed:    "too few vantages agree that it is down",
		fleet.ResultElsewhere:    "it is seen, though not from all vantages",
	}
	standings = map[fleet.Standing]string{
		fleet.StandingUnknown: "unknown",
		fleet.StandingUp:      "up",
		fleet.StandingFailing: "failing",
		fleet.StandingDown:    "down",
	}
	powers = map[fleet.Power]string{
		fleet.PowerUnknown: "in an unknown state",
		fleet.PowerRunning: "running",
		fleet.PowerOff:     "off",
		fleet.PowerPaused:  "paused",
		fleet.PowerCrashed: "crashed",
		fleet.PowerError:   "broken",
		fleet.PowerGone:    "gone",
	}
	stops = map[fleet.Stop]string{
		fleet.StopUnknown:  "",
		fleet.StopGuest:    "it powered itself off",
		fleet.StopExternal: "it was stopped from outside",
		fleet.StopShutdown: "it shut down in order",
		fleet.StopCrash:    "it died",
		fleet.StopMoved:    "it went on at another host",
		fleet.StopRescue:   "it is rescued",
		fleet.StopIOError:  "a write to its disk failed",
	}
	ops = map[fleet.Op]string{
		fleet.OpCreate:       "create",
		fleet.OpStart:        "start",
		fleet.OpReboot:       "reset",
		fleet.OpPowerOff:     "power off",
		fleet.OpDelete:       "delete",
		fleet.OpCertify:      "certify",
		fleet.OpRun:          "run a command for",
		fleet.OpKeep:         "put aside",
		fleet.OpRestore:      "bring back",
		fleet.OpRebuild:      "rebuild",
		fleet.OpResume:       "resume",
		fleet.OpSoftReboot:   "softly reboot",
		fleet.OpSnapshot:     "copy the disks of",
		fleet.OpDropSnapshot: "remove the copy of the disks of",
		fleet.OpEvacuate:     "evacuate",
		fleet.OpMigrate:      "migrate",
		fleet.OpRescue:       "rescue",
		fleet.OpAdjust:       "adjust",
		fleet.OpRevert:       "put a copy of the disks back on",
		fleet.OpFence:        "cut the power of the host of",
		fleet.OpHook:         "run a hook for",
	}
	outcomes = map[fleet.OutcomeKind]string{
		fleet.OutcomeDone:        "done",
		fleet.OutcomeUnknown:     "it is unknown whether it took effect, so the provider is asked",
		fleet.OutcomeRetry:       "the provider did nothing; it is asked again",
		fleet.OutcomeConflict:    "the provider has something else there",
		fleet.OutcomeLocked:      "it is locked at the provider",
		fleet.OutcomeNotFound:    "the provider has no such instance",
		fleet.OutcomeRefused:     "the provider refused",
		fleet.OutcomeNoSecret:    "a secret that it needs cannot be read",
		fleet.OutcomeUnsupported: "the provider cannot do that",
		fleet.OutcomeFailed:      "it failed and would fail again",
		fleet.OutcomeNotSent:     "it was held back and surely not done",
	}
	proofs = map[fleet.Proof]string{
		fleet.ProofNone:         "not proven off",
		fleet.ProofAccessCut:    "cut off from storage or network",
		fleet.ProofWord:         "off by a person's word",
		fleet.ProofWatchdog:     "off by its host's watchdog",
		fleet.ProofConfirmedOff: "proven off",
		fleet.ProofHostOff:      "proven off with its whole host",
		fleet.ProofDeleted:      "proven gone",
	}
	// steps are what a step does, as "hale would …".
	steps = map[fleet.StepKind]string{
		fleet.StepStart:      "start it",
		fleet.StepResume:     "resume it",
		fleet.StepReboot:     "reboot it",
		fleet.StepRebuild:    "give it a new disk from the template",
		fleet.StepRecreate:   "replace it with a new instance",
		fleet.StepEvacuate:   "start it on another host",
		fleet.StepMigrate:    "move it to another host",
		fleet.StepRescue:     "start a rescue system in its place, for a person to repair it",
		fleet.StepRun:        "run a command for it",
		fleet.StepSnapshot:   "copy its disks",
		fleet.StepPage:       "tell a person",
		fleet.StepQuarantine: "leave it to a person",
		fleet.StepStop:       "turn it off",
		fleet.StepRevert:     "put a copy of its disks back",
	}
	repairs = map[belief.RepairKind]string{
		belief.RepairHeal:    "repair",
		belief.RepairBuild:   "building",
		belief.RepairUndo:    "return of the old instance",
		belief.RepairRemove:  "removal of the machine",
		belief.RepairUpdate:  "move to another template",
		belief.RepairTidy:    "removal of a copy of its disks",
		belief.RepairRemnant: "removal of what an unfinished build left",
		belief.RepairReplace: "replacement by a new instance",
		belief.RepairOperate: "what a person ordered",
	}
	moments = map[fleet.Moment]string{
		fleet.MomentBefore:    "before the repair",
		fleet.MomentLeave:     "for a machine that leaves",
		fleet.MomentAfter:     "after the repair",
		fleet.MomentProvision: "of provisioning",
		fleet.MomentPool:      "pool",
		fleet.MomentApprove:   "to be approved",
	}
	// hookWords are what is said of a hook that waits for a word.
	hookWords = map[fleet.HookWord]string{
		fleet.HookDone: "is done",
		fleet.HookMore: "needs more time",
		fleet.HookFail: "failed",
	}
	phases = map[belief.Phase]string{
		belief.PhaseLook:      "waiting for one more look that confirms the failure",
		belief.PhaseLeave:     "taking it out of use first",
		belief.PhaseAct:       "acting",
		belief.PhaseProvision: "running the provision hooks on the new instance",
		belief.PhaseVerify:    "waiting for it to be healthy",
		belief.PhaseCertify:   "certifying the new instance",
		belief.PhaseAfter:     "running the hooks after the repair",
	}
	modes = map[policy.Mode]string{
		policy.ModeAct:     "acts",
		policy.ModeObserve: "only watches",
	}
	providers = map[fleet.ProviderStanding]string{
		fleet.ProviderUnknown:  "was not asked yet",
		fleet.ProviderUp:       "answers",
		fleet.ProviderDown:     "does not answer",
		fleet.ProviderDoubtful: "is another one than before",
	}
	vantages = map[fleet.VantageStanding]string{
		fleet.VantageOK:       "sees",
		fleet.VantageIsolated: "is cut off",
		fleet.VantageUnknown:  "does not know whether it sees",
	}
	// orders are what a person wants, as in "alice orders …".
	orders = map[fleet.OrderKind]string{
		fleet.OrderHold:    "a hold",
		fleet.OrderRelease: "a release",
		fleet.OrderRetry:   "another try",
		fleet.OrderUndo:    "the old instance back",
		fleet.OrderHeal:    "a repair now",
		fleet.OrderMark:    "it taken for unhealthy",
		fleet.OrderUnmark:  "it judged by its checks alone again",
		fleet.OrderCancel:  "another order taken back",
		fleet.OrderReplace: "a new instance in its place",
		fleet.OrderStart:   "its start",
		fleet.OrderStop:    "its stop",
		fleet.OrderReboot:  "its restart",
		fleet.OrderMigrate: "its move to another host",
		fleet.OrderRevert:  "a copy of its disks put back",
		fleet.OrderRecover: "a recovery",

		fleet.OrderBrakeOn:  "the brake on",
		fleet.OrderBrakeOff: "the brake off",
		fleet.OrderConfirm:  "what waits for a person's word",

		fleet.OrderScale:  "another size",
		fleet.OrderDelete: "the machine removed",
		fleet.OrderHook:   "a word on a hook",
		fleet.OrderFenced: "it taken that the host is off",
		fleet.OrderCut:    "the host's power cut",
		fleet.OrderUncut:  "the host given its access back",

		fleet.OrderRolloutPause:  "the rollout paused",
		fleet.OrderRolloutResume: "the rollout resumed",
		fleet.OrderRolloutUndo:   "the rollout undone",
		fleet.OrderRolloutMend:   "what differs from the template mended",
	}
	events = map[policy.NotifyEvent]string{
		policy.NotifyPage:     "a page",
		policy.NotifyReminder: "a reminder",
		policy.NotifyHealed:   "it is over",

		policy.NotifyRepair:      "a repair",
		policy.NotifyDaily:       "a day's summary",
		policy.NotifyWarning:     "a warning",
		policy.NotifyWarningOver: "a warning is over",
	}
	scopes = map[policy.ScopeKind]string{
		policy.ScopeInstallation: "the installation",
		policy.ScopeProvider:     "provider",
		policy.ScopeHost:         "host",
		policy.ScopeRack:         "rack",
		policy.ScopeRoom:         "room",
		policy.ScopeZone:         "zone",
	}
	// holds say what alone a hold forbids.
	holds   = map[fleet.HoldScope]string{fleet.HoldScaleIn: "against scale-in alone"}
	domains = map[fleet.DomainKind]string{
		fleet.DomainHost:    "host",
		fleet.DomainRack:    "rack",
		fleet.DomainRoom:    "room",
		fleet.DomainZone:    "zone",
		fleet.DomainNetwork: "network",
		fleet.DomainStorage: "storage",
	}
)

// Of returns the catalogue's words; a value that is not in it speaks for itself.
func Of[K ~string](catalogue map[K]string, value K) string {
	if w, ok := catalogue[value]; ok {
		return w
	}
	return string(value)
}

// Cause says in a clause why a verdict is what it is; empty for CauseNone.
func Cause(c belief.Cause) string { return Of(causes, c) }

// Result says in a clause how one probe ended.
func Result(r fleet.ResultReason) string { return Of(results, r) }

// Step says what a step does to the machine, as in "hale would …".
func Step(s fleet.StepKind) string { return Of(steps, s) }

// Power says how an instance stands, as its provider puts it.
func Power(p fleet.Power) string { return Of(powers, p) }

// Stop says why an instance does not run.
func Stop(s fleet.Stop) string { return Of(stops, s) }

// Op names a call to a provider.
func Op(o fleet.Op) string { return Of(ops, o) }

// RepairKind says what a repair is for.
func RepairKind(k belief.RepairKind) string { return Of(repairs, k) }

// Phase says where the work on a step stands.
func Phase(p belief.Phase) string { return Of(phases, p) }

// Moment says of which time a hook is.
func Moment(m fleet.Moment) string { return Of(moments, m) }

// HookWord says what was said of a hook, as in "the hook …".
func HookWord(w fleet.HookWord) string { return Of(hookWords, w) }

// Provider says how a provider stands, as in "the provider …".
func Provider(s fleet.ProviderStanding) string { return Of(providers, s) }

// Vantage says how hale's own sight stands, as in "hale …".
func Vantage(s fleet.VantageStanding) string { return Of(vantages, s) }

// Domain names a domain, as in "rack r1".
func Domain(d fleet.Domain) string {
	if d.None() {
		return "a domain"
	}
	return Of(domains, d.Kind) + " " + d.Name
}

// Mode says what hale does with a fleet, as in "hale …".
func Mode(m policy.Mode) string { return Of(modes, m) }

// Verdict says how a machine is.
func Verdict(v belief.Verdict) string { return Of(verdicts, v) }

// Standing says how a check stands.
func Standing(s fleet.Standing) string { return Of(standings, s) }

// Outcome says how a call ended.
func Outcome(o fleet.OutcomeKind) string { return Of(outcomes, o) }

// Proof says what is proven of an old instance.
func Proof(p fleet.Proof) string { return Of(proofs, p) }

// Order says what an order wants, as in "alice orders …".
func Order(k fleet.OrderKind) string { return Of(orders, k) }

// Hold says what alone a hold forbids.
func Hold(s fleet.HoldScope) string { return Of(holds, s) }

// Event names a kind of message.
func Event(e policy.NotifyEvent) string { return Of(events, e) }

// Scope names what a limit is for.
func Scope(k policy.ScopeKind) string { return Of(scopes, k) }

// DomainKind names a kind of domain.
func DomainKind(k fleet.DomainKind) string { return Of(domains, k) }
