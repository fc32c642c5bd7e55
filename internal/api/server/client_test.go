package server_test

import (
	"reflect"
	"testing"

	"hale/api"
)

// methods name the client's method of each call; of a call that has none, why.
var methods = map[string]string{
	"alive": "", "ready": "", "metrics": "", "discovery-prometheus": "", // for programs that know nothing of hale
	"status": "Status", "why-machine": "Why", "why-fleet": "WhyFleet", "fleet-size": "FleetSize",
	"fleet-rollout": "FleetRollout", "evidence": "Evidence", "state": "State",
	"backup": "Backup", "events": "Events", "probe-log": "ProbeLog", "list-fleets": "Fleets",
	"get-fleet": "Fleet", "list-machines": "Machines",
	"list-machines-of-fleet": "Machines", "get-machine": "Machine", "list-instances": "Instances",
	"list-incidents": "Incidents", "get-incident": "Incident", "list-repairs": "Repairs", "list-hosts": "Hosts",
	"list-providers": "Providers", "list-brakes": "Brakes", "whoami": "WhoAmI", "order": "Order",
	"list-orders": "Given",
	"world":       "World", "take-over": "TakeOver", "reload": "Reload", "list-plans": "Plans",
	"plan": "Plan", "list-holds": "Holds", "list-servers": "Servers",
	"get-hold": "Hold", "put-hold": "PutHold", "delete-hold": "DeleteHold",
	"confirm-plan": "Confirm", "given-order": "GivenOrder", "cancel-order": "Cancel", "compare": "Compare",
	"dead-letters": "DeadLetters", "retry-dead-letters": "Retry", "test-target": "Test",
	"fences": "Fences", "test-fences": "TestFences", "fence-off": "FenceOff", "fence-uncut": "FenceUncut",
	"breakages": "Breakages", "break": "Break", "list-tokens": "Tokens", "make-token": "MakeToken",
	"revoke-token": "Revoke", "audit": "Audit", "list-acts": "Acts", "agree": "Agree", "withdraw": "Withdraw",
}

// Everything that the API can do, the Go client can. What it sends and reads are the types that the document is made
// of.
func TestTheClientHasAMethodForEachCall(t *testing.T) {
	t.Parallel()
	client := reflect.TypeFor[*api.Client]()
	for _, op := range operationsOf(t) {
		name, known := methods[op.ID]
		if _, has := client.MethodByName(name); !known || name != "" && !has {
			t.Errorf("%s %s (%s) has no method of the client: name it in this table", op.Method, op.Path, op.ID)
		}
	}
}
