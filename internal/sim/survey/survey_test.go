package survey_test

import (
	"bytes"
	"testing"
	"time"

	"hale/internal/core/policy"
	"hale/internal/sim"
	"hale/internal/sim/exemplar"
	"hale/internal/sim/script"
	"hale/internal/sim/survey"
)

const day = 24 * time.Hour

// stormy is a survey of small fleets in which everything goes wrong much more often than anybody should see.
func stormy(size, servers, runs int) survey.Dose {
	return survey.Dose{
		Spec: func() policy.Spec { return exemplar.Fleet(size) }, Hosts: exemplar.Town(max(3, size/10), 5, 4),
		Servers: servers,
		Kinds:   script.FirstKinds(), Seed: 1, Runs: runs, Horizon: 10 * day, Gap: 4 * day,
	}
}

func TestEqualRunsWriteEqualTraces(t *testing.T) {
	t.Parallel()
	var traces [2]bytes.Buffer
	for i := range traces {
		o := stormy(30, 3, 1).Options(0)
		o.Trace = &traces[i]
		if _, err := sim.Run(o); err != nil {
			t.Fatal(err)
		}
	}
	if traces[0].Len() < 1000 || !bytes.Equal(traces[0].Bytes(), traces[1].Bytes()) {
		t.Errorf("the same seed wrote two traces, of %d and %d bytes", traces[0].Len(), traces[1].Len())
	}
}
