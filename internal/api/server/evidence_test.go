package server_test

import (
	"strings"
	"testing"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/state/evidence"
)

// keep stores evidence on a machine's incident.
func (o *office) keep(incident string, at time.Time, console string) {
	o.t.Helper()
	machine, _, _ := strings.Cut(incident, "/")
	e := evidence.Exhibit{
		At: at, Fleet: fleet.MachineName(machine).Fleet(), Machine: fleet.MachineName(machine), Incident: incident,
		Instance: "i-1",
		Parts: fleet.Evidence{
			Console:    fleet.EvidencePart{Bytes: len(console)},
			Screenshot: fleet.EvidencePart{Why: fleet.ReasonUnsupported},
		},
		Findings: evidence.Findings{
			Power:  fleet.PowerRunning,
			Checks: []evidence.Finding{{Check: "page", Standing: fleet.StandingDown, Result: fleet.ResultRefused}},
		},
	}
	if err := evidence.Keep(o.t.Context(), o.store, nil, e, evidence.Bytes{Console: []byte(console)}); err != nil {
		o.t.Fatal(err)
	}
}

func TestEvidenceOfTheLastIncidentOrOfTheOneNamed(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.keep("web-2/1", dawn, "first")
	o.keep("web-2/2", dawn.Add(time.Hour), "second")
	o.keep("web-2/2", dawn.Add(2*time.Hour), "third\x1b")
	o.keep("web-1/1", dawn, "another's")
	o.keep("web-9/1", dawn, "of a removed machine")
	client := o.client()
	e, err := client.Evidence(t.Context(), "web-2", "")
	if err != nil || e.Incident != "web-2/2" || len(e.Incidents) != 2 || len(e.Exhibits) != 2 {
		t.Fatalf("%v %+v", err, e)
	}
	x := e.Exhibits[1]
	if string(x.Console) != "third\x1b" || len(x.Found) != 2 ||
		x.Found[0] != "the provider says the instance is running" ||
		x.Found[1] != "check page is down: connection refused or reset" || x.Parts[2].Lacks.Code != "unsupported" ||
		x.Parts[1].Bytes != 6 {
		t.Errorf("%+v", x)
	}
	if e, err = client.Evidence(t.Context(), "web-2", "web-2/1"); err != nil || len(e.Exhibits) != 1 ||
		string(e.Exhibits[0].Console) != "first" {
		t.Errorf("%v %+v", err, e)
	}
	if e, err = client.Evidence(t.Context(), "web-9", ""); err != nil || len(e.Exhibits) != 1 {
		t.Errorf("%v %+v", err, e)
	}
	if _, err = client.Evidence(t.Context(), "web-2", "web-2/3"); err == nil ||
		!strings.Contains(err.Error(), "did you mean web-2/") {
		t.Errorf("%v", err)
	}
	if _, err = client.Evidence(t.Context(), "web-7", ""); err == nil ||
		!strings.Contains(err.Error(), "there is no machine web-7") {
		t.Errorf("%v", err)
	}
}

func TestEvidenceOfAnAdoptedMachineGoesByItsProvidersName(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.keep("db-1/1", dawn, "of one that has a name of its own at the provider")
	e, err := o.client().Evidence(t.Context(), "main", "")
	if err != nil || e.Machine != "db-1" || len(e.Exhibits) != 1 {
		t.Errorf("%v %+v", err, e)
	}
}

func TestCopiesOfDisksComeWithTheEvidence(t *testing.T) {
	t.Parallel()
	e, err := open(t).client().Evidence(t.Context(), "web-2", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Copies) != 1 || e.Copies[0].ID != "r1" || !e.Copies[0].Whole || e.Copies[0].Where != "/pool/r1" ||
		e.Copies[0].Bytes != 7 {
		t.Errorf("copies: %+v", e.Copies)
	}
}
