package fleets

import (
	"time"

	"hale/internal/config/hooks"
	"hale/internal/config/times"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
)

// The tables: every key with its shape, its default and its meaning. The reader, the schema and the reference page are
// made from them. They are functions because a condition contains conditions.

func repairShape() keys.Object[repairDraft] {
	return keys.Object[repairDraft]{
		Fields: []keys.Field[repairDraft]{
			keys.May("steps", "The ladder: steps in the order in which they are tried, the gentlest first.",
				keys.List[stepDraft]{Noun: "one step, or set mode: observe", Each: stepShape()},
				func(r *repairDraft) *keys.At[[]keys.At[stepDraft]] { return &r.steps }).
				Said("start, reboot, recreate; without recreate where it would lose a disk; with select: start, " +
					"resume, reboot, page"),
			keys.Part("fence", "What must be known of the old instance before a new one may start.",
				keys.Object[fenceDraft]{
					Fields: []keys.Field[fenceDraft]{
						keys.Or("proof", defaultProof, "`confirmed-off`: the provider reports it off, after the "+
							"order. `confirmed-deleted`: it is gone as well. `access-cut`: where its host does not "+
							"answer, it is enough that nothing on it can write: a `cut` says so, and it may run on.",
							keys.Choice(map[string]string{
								string(fleet.ProofWatchdog): "nothing proves from outside that a host honours its " +
									"watchdog: choose confirmed-off",
							}, fleet.ProofConfirmedOff, fleet.ProofDeleted, fleet.ProofAccessCut),
							func(f *fenceDraft) *keys.At[fleet.Proof] { return &f.proof }),
						fenceHosts(), fenceWord(),
					},
					Later: map[string]string{"via": "take it out; the provider itself is asked",
						"devices": "take it out; the provider itself is asked"},
				}, func(r *repairDraft) *keys.At[fenceDraft] { return &r.fence }),
			keys.Or("attempts", defaultAttempts, "So many repairs of one machine within the time; then it goes into "+
				"quarantine and a person is paged.", keys.Attempts(),
				func(r *repairDraft) *keys.At[keys.Rate] { return &r.attempts }),
			keys.Or("backoff", defaultBackoff, "The wait before the second repair within that time; it doubles with "+
				"each further one.",
				keys.Duration(0, time.Hour), func(r *repairDraft) *keys.At[time.Duration] { return &r.backoff }),
			keys.May("windows", "When repairs and their further steps may begin; at other times a machine that fails "+
				"is held. Building what is missing from the start is no repair.",
				keys.List[times.Draft]{Noun: "one window", Each: times.Shape()},
				func(r *repairDraft) *keys.At[[]keys.At[times.Draft]] { return &r.windows }).Said("always"),
			keys.May("not_every", "When they may not, whatever windows says.",
				keys.List[times.Draft]{Noun: "one window", Each: times.Shape()},
				func(r *repairDraft) *keys.At[[]keys.At[times.Draft]] { return &r.notEvery }).Said("never"),
		},
	}
}

func stepShape() keys.OneOf[stepDraft] {
	return keys.OneOf[stepDraft]{
		Noun: "a step",
		Kinds: map[string]keys.Shape[stepDraft]{
			string(fleet.StepStart):    startShape(),
			string(fleet.StepResume):   resumeShape(),
			string(fleet.StepReboot):   rebootShape(),
			string(fleet.StepRebuild):  rebuildShape(),
			string(fleet.StepRecreate): recreateShape(),
			string(fleet.StepEvacuate): evacuateShape(),
			string(fleet.StepMigrate):  migrateShape(),
			string(fleet.StepRescue):   rescueShape(),
			string(fleet.StepRun):      runShape(),
			string(fleet.StepSnapshot): snapshotShape(),
			string(fleet.StepPage):     pageShape(),
			string(fleet.StepQuarantine): kindOf{kind: fleet.StepQuarantine, doc: "Leave it to a person, who is " +
				"paged: nothing touches it any more. Only as the last step.",
				Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{onlyFor()}}},
		},
		Later: map[string]string{
			"revert": "take the step out", "workflow": "take the step out",
		},
	}
}

// kindOf makes a step's options into a step of the kind.
type kindOf struct {
	keys.Object[stepDraft]
	kind fleet.StepKind
	doc  string
}

func (k kindOf) Read(r *keys.Reader, n keys.Node) (stepDraft, bool) {
	s, ok := k.Object.Read(r, n)
	s.kind = k.kind
	return s, ok
}

func (k kindOf) Schema() *keys.Schema {
	s := k.Object.Schema()
	s.Description = k.doc
	return s
}

func callTimeout(otherwise time.Duration) keys.Field[stepDraft] {
	return keys.Or("timeout", otherwise, "The limit of each call to the provider; after it the outcome is unknown "+
		"and is looked at first.",
		keys.Duration(time.Second, time.Hour), func(s *stepDraft) *keys.At[time.Duration] { return &s.timeout })
}

func verifyWithin() keys.Field[stepDraft] {
	return keys.Or("verify_within", defaultVerifyWithin, "How long the machine may take to be healthy again before "+
		"the next step is tried. Not less than what the checks need to say so: `every` as often as `up_after`, and "+
		"`timeout`. Where nothing is written it is at least twice that.",
		keys.Duration(time.Second, time.Hour), func(s *stepDraft) *keys.At[time.Duration] { return &s.verifyWithin })
}

func onlyFor() keys.Field[stepDraft] {
	return keys.May("for", "The checks that the step is for: it is tried only while one of them is down. The word "+
		"`provider` stands for the provider's own word (off, gone, crashed).",
		keys.List[string]{Noun: "one check", Each: keys.Name()},
		func(s *stepDraft) *keys.At[[]keys.At[string]] { return &s.only }).Said("whatever the fault is")
}

func approve() keys.Field[stepDraft] {
	return keys.May("approve", "Ask a person before the step is done: a page goes out, and the step waits for `hale "+
		"approve` or `hale deny`. One that is denied leaves the machine to a person. What has no instance any more "+
		"is built without a word.", hooks.ApproveShape(),
		func(s *stepDraft) *keys.At[hooks.Approve] { return &s.approve }).Said("no person is asked")
}

func runShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepRun, doc: "Run a command on hale's side, for instance a playbook that applies the " +
		"machine's configuration again. Tried when the machine runs. " +
		"Exit code 0, and then a healthy machine, is a success. What it says is kept with the repair, the beginning " +
		"and the end.", Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{
		keys.Must("command", "[/usr/bin/ansible-playbook, -i, \"{ip},\", site.yaml]",
			"The program and its arguments, without a shell. "+
				kinds.PlaceholdersSaid+"When its time is over, or hale loses the fleet to another server, it is killed with "+
				"everything that it started. Put no secrets here: everybody on the server can read them.",
			keys.List[string]{Noun: "the program", Each: keys.Text("a word of the command",
				"/usr/bin/ansible-playbook")},
			func(s *stepDraft) *keys.At[[]keys.At[string]] { return &s.command }),
		keys.May("env", kinds.EnvSaid, keys.Mapping[keys.TextDraft]{
			Key: "VARIABLE", Names: keys.VariableNames, Each: keys.TextOrSecret("the variable's value", "production"),
		}, func(s *stepDraft) *keys.At[[]keys.Named[keys.TextDraft]] { return &s.env }),
		keys.Or("idempotent", false, "It may be run again at any time. Else, when hale dies while it runs, it is "+
			"unknown how far it came, and the machine is left to a person.",
			keys.Boolean(), func(s *stepDraft) *keys.At[bool] { return &s.idempotent }),
		keys.Or("timeout", defaultRunTimeout, "When it is killed, and the step has failed.",
			keys.Duration(time.Second, time.Hour),
			func(s *stepDraft) *keys.At[time.Duration] { return &s.timeout }),
		verifyWithin(), approve(), onlyFor(),
	}}}
}

func snapshotShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepSnapshot, doc: "Copy the disks that a later rebuild or recreate would lose, " +
		"whether the machine runs or not. It heals nothing: the next step follows. The " +
		"copy is made once per incident and instance, outlives both, and can be read without any other file. It " +
		"takes room and time at the host: of a disk of 20 GiB " +
		"that holds 4, about 4 GiB.", Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{
		keys.Or("keep", defaultSnapshotKeep, "So many copies of a machine's disks are kept; the oldest goes when "+
			"another one is whole.", keys.Integer(1, 20),
			func(s *stepDraft) *keys.At[int] { return &s.keep }),
		keys.Or("keep_for", defaultSnapshotKeepFor, "For so long each of them.",
			keys.Duration(time.Minute, 365*24*time.Hour),
			func(s *stepDraft) *keys.At[time.Duration] { return &s.keepFor }),
		keys.Or("on_failure", defaultSnapshotOnFailure, "What to do when there is no room for the copy, or it fails: "+
			"`stop`, leave the machine to a person, or `continue` with the next step, which may lose the disks.",
			keys.Choice(nil, policy.OnFailureStop, policy.OnFailureContinue),
			func(s *stepDraft) *keys.At[policy.OnFailure] { return &s.onFailure }),
		keys.Or("timeout", defaultSnapshotTimeout, "The limit of each try; there are three at most, and a copy under "+
			"way is gone on with.", keys.Duration(time.Second, 12*time.Hour),
			func(s *stepDraft) *keys.At[time.Duration] { return &s.timeout }),
		onlyFor(),
	}}}
}

func pageShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepPage, doc: "Tell a person, once per incident, and go on with the next step.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{
			keys.Or("wait", time.Duration(0), "How long that person has before the next step is tried.",
				keys.Duration(0, 24*time.Hour),
				func(s *stepDraft) *keys.At[time.Duration] { return &s.verifyWithin }),
			onlyFor(),
		}}}
}

func startShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepStart, doc: "Power it on. Tried when the provider says that it is off.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{verifyWithin(), callTimeout(defaultCallTimeout),
			approve(), onlyFor()}}}
}

func resumeShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepResume, doc: "Let it go on where it was. Tried when it suspended itself, and, with " +
		"on_external_stop: heal, when " +
		"it was paused from outside. One that was paused because its disk cannot be written is left to a person in " +
		"any case.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{verifyWithin(), callTimeout(defaultCallTimeout),
			approve(), onlyFor()}}}
}

func rebootShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepReboot, doc: "Reboot it. Tried when it runs. A ladder can have both modes.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{
			keys.Or("mode", defaultRebootMode, "`hard`: a reset, without asking the guest. `soft`: ask the guest (its "+
				"agent, else its power button); one that does not listen is not healthy within verify_within, and "+
				"the next step is tried.", keys.Choice(nil, policy.RebootHard, policy.RebootSoft),
				func(s *stepDraft) *keys.At[policy.RebootMode] { return &s.mode }),
			verifyWithin(), callTimeout(defaultCallTimeout), approve(), onlyFor(),
		}}}
}

func rebuildShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepRebuild, doc: "Make sure that it is off, give it a new disk from the template's " +
		"image, and start it: the same instance, at the same address. What is on its " +
		"disk is lost. It has the fleet's build_within to become healthy.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{callTimeout(defaultRecreateTimeout),
			approve(), onlyFor()}}}
}

func evacuateShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepEvacuate, doc: "Have the provider start it on another host: the same instance, at " +
		"the same address, with a new disk unless hosts share it. Tried when its host " +
		"does not answer, after that was proven off (repair.fence). It has the fleet's build_within to become " +
		"healthy. openstack with hosts only.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{callTimeout(defaultRecreateTimeout),
			approve(), onlyFor()}}}
}

func migrateShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepMigrate, doc: "Move it to another host while it runs. Tried when its host is " +
		"disabled, with on_host_disabled: heal. openstack with hosts only.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{verifyWithin(),
			callTimeout(defaultRecreateTimeout),
			approve(), onlyFor()}}}
}

func rescueShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepRescue, doc: "Stop it, and have the provider start a rescue system in its place, " +
		"with its disk beside: nothing on that is changed. A person is paged, and the machine is left to them " +
		"until they end that at the provider; then it is judged as any other that a person started. After it there " +
		"can only be page and quarantine, for when it fails. openstack only.",
		Object: keys.Object[stepDraft]{Fields: []keys.Field[stepDraft]{verifyWithin(),
			callTimeout(defaultRecreateTimeout),
			approve(), onlyFor()}}}
}

func recreateShape() keys.Shape[stepDraft] {
	return kindOf{kind: fleet.StepRecreate, doc: "Make sure that the old instance is off, delete it and build a new " +
		"one from the template. " +
		"It has the fleet's build_within to become healthy. After it there can only be page and quarantine.",
		Object: keys.Object[stepDraft]{
			Fields: []keys.Field[stepDraft]{
				keys.Or("on_delete_failure", defaultOnDeleteFailure, "What to do when the old instance is off but "+
					"cannot be deleted: `stop` and page, or `continue` with the new one.",
					keys.Choice(nil, policy.DeleteFailureStop, policy.DeleteFailureContinue),
					func(s *stepDraft) *keys.At[policy.OnDeleteFailure] { return &s.onDeleteFailure }),
				keys.May("keep_old", "Keep the old instance for so long, powered off and under another name, instead "+
					"of deleting it: `hale undo` brings it back. An update to another template keeps it, too. A disk "+
					"that would be lost is then kept with it, so that the recreate is allowed.",
					keys.Duration(time.Minute, 90*24*time.Hour),
					func(s *stepDraft) *keys.At[time.Duration] { return &s.keepOld }),
				callTimeout(defaultRecreateTimeout), approve(), onlyFor(),
			},
			Later: map[string]string{
				"verify_within": "use the fleet's build_within",
				"elsewhere":     "take it out",
			},
		}}
}
