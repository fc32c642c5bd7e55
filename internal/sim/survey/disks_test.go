package survey_test

import (
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
	"hale/internal/sim/verbs"
	"hale/internal/sim/world"
)

// database is the exemplary fleet with a disk of data on each machine.
func database(size int) policy.Spec {
	spec := exemplar.Fleet(size)
	spec.Template.Disks = []policy.Disk{{Name: "data", Size: 1 << 30}, {Name: "root", Ephemeral: true}}
	spec.Limits.InRepair = 2
	return spec
}

// Whatever goes wrong, on hosts of their own and on such as share a storage: a disk with data survives (the judge reads
// what is on it), and no two instances ever write to one.
func TestADiskWithDataSurvivesFiftyRandomHeals(t *testing.T) {
	t.Parallel()
	shared := exemplar.Town(6, 2, 3)
	for i := range shared {
		shared[i].Storage = []string{"", "nas1", "nas1", "nas1", "nas2", "nas2"}[i]
	}
	for name, s := range map[string]struct {
		hosts         []world.Host
		servers, runs int
		then          policy.FateAnswer
	}{
		"on hosts of their own": {hosts: exemplar.Town(6, 2, 3), servers: 1, runs: 4,
			then: policy.FatePage},
		"on shared storage":                 {hosts: shared, servers: 3, runs: 4, then: policy.FatePage},
		"on shared storage, and evacuating": {hosts: shared, servers: 1, runs: 4, then: policy.FateEvacuate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			survey := survey.Dose{
				Spec: func() policy.Spec {
					spec := database(12)
					spec.SharedFate.Then = s.then
					return spec
				},
				Hosts:   s.hosts,
				Servers: s.servers,
				Kinds:   script.FirstKinds(),
				Seed:    1,
				Runs:    s.runs,
				Horizon: 10 * day,
				Gap:     day,
			}
			r, err := survey.Run()
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range r.Found {
				t.Errorf("seed %d, after %s: law %s, %s: %s", f.Seed, f.At, f.Law, f.Machine, f.What)
			}
			if r.Score.Reattached < 50 {
				t.Errorf("only %d disks went from one instance to the next", r.Score.Reattached)
			}
			if r.Score.Wrong() > 0 {
				t.Errorf("%+v", r.Score)
			}
			t.Logf("%d repairs, %d disks went from one instance to the next", r.Score.Repairs, r.Score.Reattached)
		})
	}
}

// The judge of disks is not blind.
func TestALostDiskIsFoundOut(t *testing.T) {
	t.Parallel()
	o := sim.Options{
		Spec: database(3), Hosts: exemplar.Town(3, 3, 1), Seed: 1, Horizon: 10 * time.Minute, Calm: time.Hour,
		Rival: sim.Sequential,
		Plan:  []script.Event{{At: time.Minute, Subject: "web-2", Verb: verbs.LosesDisk}},
	}
	r, err := sim.Run(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Violations {
		if v.Law == "disk" && v.Machine == "web-2" {
			return
		}
	}
	t.Errorf("a policy that knows of no disks lost none: %+v", r.Violations)
}
