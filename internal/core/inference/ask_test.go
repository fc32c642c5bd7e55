package inference

import (
	"slices"
	"testing"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/chart"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/round"
	"hale/internal/core/situation"
)

// L4: a look found a machine silent. hale asks up to three machines near by, each once. It does not ask one that is
// being asked, or has answered since.
func TestL04EachWitnessIsAskedOnce(t *testing.T) {
	t.Parallel()
	on := belief.Incarnation{ID: "vm", Host: "h1", Certified: true}
	views := make([]situation.View, 6)
	for i := range views {
		views[i] = situation.View{
			Machine: belief.Machine{Name: fleet.Name("web").Machine(i + 1), Current: on,
				Health: belief.Health{Verdict: belief.VerdictHealthy}},
			Checks: []fleet.CheckState{{Check: "alive", Standing: fleet.StandingUp}},
		}
	}
	const silentAt = 100
	views[0].Machine.Repair = &belief.Repair{}
	views[0].Machine.Repair.SilentAt = silentAt
	views[1].Machine.Current.Host = "h2"
	views[2].Asking = 7
	views[3].Asked = situation.Asked{At: silentAt + 1}
	r := Inference{Round: &round.Round{S: situation.Situation{Machines: views, State: situation.State{
		Spec: policy.Spec{Name: "web", Size: len(views), Checks: []policy.Check{
			{Name: "alive", Kind: policy.CheckPing, Every: 5 * time.Second, Timeout: time.Second, DownAfter: 2}}}}}}}
	silent := round.Member{On: &chart.Chart{M: &views[0].Machine}}
	r.askWitnesses([]*round.Member{&silent})
	if want := []int{4}; !slices.Equal(r.Asks, want) {
		t.Errorf("asked are %v, not %v", r.Asks, want)
	}
	if silent.Near.Pending != 2 || silent.Near.Mute != 1 || silent.Near.Heard != 0 {
		t.Errorf("those near by say %+v", silent.Near)
	}
}
