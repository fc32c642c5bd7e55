package rehearsal

import (
	"fmt"
	"time"

	"hale/internal/sim/survey"
	"hale/internal/trial/scenario"
)

// Found is the least that makes a policy do wrong again.
type Found struct {
	Fleet  string `json:"fleet"`
	Law    string `json:"law"`
	Events int    `json:"events"` // of the plan, that are left
	Of     int    `json:"of"`     // so many
	Runs   int    `json:"runs"`   // that it took to find
	Whole  bool   `json:"whole"`  // nothing more can be left out; else there was no time to try
	File   string `json:"file"`   // the scenario file that does it again
}

// Find looks for the least that makes each fleet break again the law that it broke first, until stop says so (it is
// asked before each run).
func (o *Outcome) Find(stop func() bool) []Found {
	out := []Found{}
	for _, f := range o.Fleets {
		if len(f.Result.Violations) == 0 {
			continue
		}
		out = append(out, f.find(stop))
	}
	return out
}

func (f Fleet) find(stop func() bool) Found {
	s := survey.Shrink(f.Options, f.Result.Violations[0], stop)
	v := s.Violation
	what := v.What
	if v.Machine != "" {
		what = v.Machine + ": " + what
	}
	purpose := fmt.Sprintf("Law %s must not break here. When this was found, it did, after %s: %s.",
		v.Law, v.At.Round(time.Second), what)
	return Found{
		Fleet: string(f.Name), Law: v.Law, Events: len(s.Options.Plan), Of: len(f.Options.Plan), Runs: s.Plays,
		Whole: s.Whole, File: string(scenario.Compose(purpose, s.Options)),
	}
}
