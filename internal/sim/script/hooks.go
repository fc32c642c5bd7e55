package script

import (
	"math/rand/v2"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/sim/verbs"
)

// Hooked returns the policy with hooks, as a seed has them: before and after repairs, for machines that leave, of which
// one may wait for a word, and of provisioning. They bear to be run twice, or not, and their failures mean one thing or
// another.
func Hooked(spec policy.Spec, seed uint64) policy.Spec {
	r := rand.New(rand.NewPCG(seed, 0x686f6f6b))
	draw := func(name fleet.HookName, means ...policy.HookFailure) policy.Hook {
		return policy.Hook{Name: name, Kind: policy.HookCommand, Always: true, OnFailure: pick(r, means...),
			Within:     pick(r, 15*time.Second, 30*time.Second, 2*time.Minute),
			Idempotent: r.IntN(2) == 0, Run: policy.Command{Args: []string{"/usr/local/bin/" + string(name), "{name}"}}}
	}
	some := func(hooks ...policy.Hook) []policy.Hook { return hooks[:1+r.IntN(len(hooks))] }
	finish := policy.Hook{Name: "finish", Kind: policy.HookWait, Within: time.Minute, Deadline: 10 * time.Minute,
		OnFailure: policy.HookGoOn}
	spec.Hooks.Leave = some(draw("drain", policy.HookGoOn, policy.HookGoOn, policy.HookPage), finish)
	spec.Provision = some(draw("site", policy.HookStop), draw("extra", policy.HookGoOn, policy.HookStop))
	if r.IntN(2) == 0 {
		spec.Hooks.Before = []policy.Hook{draw("tell", policy.HookGoOn)}
	}
	if r.IntN(2) == 0 {
		spec.Hooks.After = []policy.Hook{draw("smoke", policy.HookGoOn, policy.HookPage, policy.HookStop)}
	}
	return spec
}

// hooks draws what befalls a hook: it fails, hangs, cannot be run, is refused, or its answer is lost; or a person gives
// the word that one waits for, or a wrong one. A fleet without hooks is spared.
func (d *drawing) hooks(at time.Duration) {
	all := [][]policy.Hook{d.spec.Hooks.Before, d.spec.Hooks.Leave, d.spec.Hooks.After, d.spec.Provision}
	some := all[:0:0]
	for _, hooks := range all {
		if len(hooks) > 0 {
			some = append(some, hooks)
		}
	}
	if len(some) == 0 {
		return
	}
	h := pick(d.random, pick(d.random, some...)...)
	if h.Kind == policy.HookWait {
		d.add(at, Operator, pick(d.random, SaysDone, SaysDone, SaysMore, SaysFail), d.machine(), 0)
		return
	}
	d.add(at, "hook "+string(h.Name), pick(d.random, verbs.HookFails, verbs.HookFails, verbs.HookHangs, verbs.HookHangs,
		verbs.HookNotRun, verbs.HookRefused, verbs.HookUnheard), "", d.lasting(time.Minute, 6*time.Hour))
}
