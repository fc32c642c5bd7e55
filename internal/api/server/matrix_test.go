package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/api/server"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/engine/takeover"
	"hale/internal/notify"
	"hale/internal/state"
	"hale/internal/state/memory"
)

// row is what a call needs, and a good request of it.
type row struct {
	role  access.Role
	whole bool   // in the whole installation, and not in a fleet only
	path  string // with its parameters, as they are in fleet web; empty: the path has none
	body  string
}

// matrix says who may make which call. A call that is not here fails the test, and so does one that the document has
// with another role.
var matrix = map[string]row{
	"alive":                  {},
	"ready":                  {role: access.Viewer},
	"metrics":                {role: access.Viewer},
	"status":                 {role: access.Viewer},
	"why-machine":            {role: access.Viewer, path: "/v1/machines/web-2/why"},
	"why-fleet":              {role: access.Viewer, path: "/v1/fleets/web/why"},
	"fleet-size":             {role: access.Viewer, path: "/v1/fleets/web/size"},
	"fleet-rollout":          {role: access.Viewer, path: "/v1/fleets/web/rollout"},
	"evidence":               {role: access.Admin, path: "/v1/machines/web-2/evidence"},
	"state":                  {role: access.Admin, whole: true},
	"backup":                 {role: access.Admin, whole: true},
	"events":                 {role: access.Viewer},
	"probe-log":              {role: access.Viewer, path: "/v1/machines/web-2/probes?for=1s"},
	"list-fleets":            {role: access.Viewer},
	"get-fleet":              {role: access.Viewer, path: "/v1/fleets/web"},
	"list-machines":          {role: access.Viewer},
	"list-machines-of-fleet": {role: access.Viewer, path: "/v1/fleets/web/machines"},
	"get-machine":            {role: access.Viewer, path: "/v1/machines/web-2"},
	"list-instances":         {role: access.Viewer},
	"list-incidents":         {role: access.Viewer},
	"get-incident":           {role: access.Viewer, path: "/v1/incidents/web-2%2F2"},
	"list-repairs":           {role: access.Viewer},
	"list-hosts":             {role: access.Viewer},
	"list-providers":         {role: access.Viewer},
	"list-brakes":            {role: access.Viewer},
	"whoami":                 {role: access.Viewer},
	"discovery-prometheus":   {role: access.Viewer, path: "/v1/discovery/prometheus?port=9100&fleet=web"},
	"list-tokens":            {role: access.Viewer},
	"make-token": {
		role: access.Admin, body: `{"name":"ci","person":"bo","role":"viewer","fleets":["web"],"for":"1h"}`,
	},
	"revoke-token": {role: access.Viewer, path: "/v1/tokens/abcdefghij"},
	"audit":        {role: access.Admin, whole: true},
	"list-acts":    {role: access.Operator},
	"agree":        {role: access.Operator, path: "/v1/second-person/abcdefgh/agree"},
	"withdraw":     {role: access.Operator, path: "/v1/second-person/abcdefgh"},
	"order":        {role: access.Operator, body: `{"kind":"brake-on","subjects":["web"]}`},
	"list-orders":  {role: access.Viewer},
	"given-order":  {role: access.Viewer, path: "/v1/orders/o-1"},
	"cancel-order": {role: access.Operator, path: "/v1/orders/o-1/cancel", body: `{}`},
	"world":        {role: access.Viewer, path: "/v1/fleets/web/world"},
	"take-over":    {role: access.Admin, whole: true, body: `{"installation":"other"}`},
	"reload":       {role: access.Admin, whole: true},
	"list-holds":   {role: access.Viewer},
	"list-servers": {role: access.Viewer},
	"get-hold":     {role: access.Viewer, path: "/v1/holds/power"},
	"put-hold": {role: access.Holder, path: "/v1/holds/power",
		body: `{"subject":"web","reason":"r","for":"1h"}`},
	"delete-hold":        {role: access.Holder, path: "/v1/holds/power"},
	"list-plans":         {role: access.Viewer},
	"plan":               {role: access.Viewer, path: "/v1/plans/web-0a"},
	"confirm-plan":       {role: access.Operator, path: "/v1/plans/web-0a/confirm", body: `{}`},
	"compare":            {role: access.Admin, whole: true, path: "/v1/compare?path=/etc/hale.yaml"},
	"dead-letters":       {role: access.Viewer},
	"retry-dead-letters": {role: access.Operator, body: `{"all":true}`},
	"test-target":        {role: access.Admin, whole: true, path: "/v1/notify/targets/ops/test"},
	"fences":             {role: access.Viewer, whole: true},
	"test-fences":        {role: access.Admin, whole: true, body: `{"subjects":["h1"]}`},
	"fence-off":          {role: access.Admin, whole: true, body: `{"subject":"h1"}`},
	"fence-uncut":        {role: access.Admin, whole: true, body: `{"subject":"h1"}`},
	"breakages":          {role: access.Viewer, whole: true},
	"break":              {role: access.Admin, whole: true, body: `{"machine":"web-1","way":"crash"}`},
}

// callers are all sorts of them, with what they may do.
var callers = map[string][]access.Grant{
	"a viewer of another fleet":     {{Role: access.Viewer, Fleets: []fleet.Name{"db"}}},
	"an operator of another fleet":  {{Role: access.Operator, Fleets: []fleet.Name{"db"}}},
	"an admin of another fleet":     {{Role: access.Admin, Fleets: []fleet.Name{"db"}}},
	"a viewer of the fleet":         {{Role: access.Viewer, Fleets: []fleet.Name{"web"}}},
	"a holder of the fleet":         {{Role: access.Holder, Fleets: []fleet.Name{"web"}}},
	"an operator of the fleet":      {{Role: access.Operator, Fleets: []fleet.Name{"web"}}},
	"an admin of the fleet":         {{Role: access.Admin, Fleets: []fleet.Name{"web"}}},
	"a viewer":                      {{Role: access.Viewer}},
	"a viewer who operates another": {{Role: access.Viewer}, {Role: access.Operator, Fleets: []fleet.Name{"db"}}},
	"an operator":                   {{Role: access.Operator}},
	"an admin":                      {{Role: access.Admin}},
	"a caller without a role":       nil,
	"a caller who cannot be told":   nil,
}

// Every call is made by every sort of caller: who may is answered, and who may not is told so, and nothing happens.
func TestWhoMayMakeWhichCall(t *testing.T) {
	t.Parallel()
	for _, op := range operationsOf(t) {
		r, known := matrix[op.ID]
		if !known {
			t.Errorf("%s %s (%s) is not in the matrix: say who may make the call", op.Method, op.Path, op.ID)
			continue
		}
		if r.role.String() != op.Role || r.whole != (op.Scope == "installation") {
			t.Errorf("%s needs %s in the %s by the document, and %v by the matrix", op.ID, op.Role, op.Scope, r.role)
		}
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			for name, grants := range callers {
				who := access.Principal{Kind: access.ByCertificate, Name: "ana", ID: "ana", Persons: []string{"ana"},
					Grants: grants}
				if name == "a caller who cannot be told" {
					who = access.Principal{}
				}
				calledBy(t, op, r, name, who)
			}
		})
	}
}

func calledBy(t *testing.T, op operation, r row, name string, who access.Principal) {
	t.Helper()
	house := furnished(t)
	path := op.Path
	if r.path != "" {
		path = r.path
	}
	said := house.call(t, who, op.Method, path, r.body)
	allowed := who.May(r.role, "web")
	if r.whole {
		allowed = who.May(r.role, "")
	}
	elsewhere := who.MayAnywhere(r.role) && !r.whole // its answer is about other fleets only
	switch {
	case r.role == access.None:
		if said.Code != http.StatusOK {
			t.Errorf("%s is answered %d %s", name, said.Code, said.Body)
		}
	case who.Kind == "":
		if said.Code != http.StatusUnauthorized {
			t.Errorf("%s is answered %d %s", name, said.Code, said.Body)
		}
	case allowed:
		if said.Code == http.StatusUnauthorized || said.Code == http.StatusForbidden || said.Code >= 500 {
			t.Errorf("%s is answered %d %s", name, said.Code, said.Body)
		}
	case elsewhere:
		if named := strings.Contains(r.path+r.body, "web"); named && said.Code < 400 {
			t.Errorf("%s, who has nothing to say in web, is answered %d %s", name, said.Code, said.Body)
		}
		if strings.Contains(said.Body.String(), "web-1") {
			t.Errorf("%s may not see web, and is told %s", name, said.Body)
		}
	case said.Code != http.StatusForbidden:
		t.Errorf("%s is answered %d %s", name, said.Code, said.Body)
	}
	if acted := house.acted(t); acted != "" && !allowed {
		t.Errorf("%s may not, and it was done: %s", name, acted)
	}
}

// operation is one of the document's.
type operation struct {
	ID     string `json:"operationId"`
	Role   string `json:"x-hale-role"`
	Scope  string `json:"x-hale-scope"`
	Path   string `json:"-"`
	Method string `json:"-"`
}

func operationsOf(t *testing.T) []operation {
	t.Helper()
	said := furnished(t).call(t, everywhere(access.Admin), http.MethodGet, "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	if err := json.Unmarshal(said.Body.Bytes(), &doc); err != nil || len(doc.Paths) == 0 {
		t.Fatalf("the document: %v: %s", err, said.Body)
	}
	var all []operation
	for path, methods := range doc.Paths {
		for method, op := range methods {
			op.Path, op.Method = path, strings.ToUpper(method)
			all = append(all, op)
		}
	}
	return all
}

func everywhere(r access.Role) access.Principal {
	return access.Principal{Kind: access.ByToken, Name: "ana", ID: "t1", Grants: []access.Grant{{Role: r}}}
}

// house is a server with all that it can have, on fleets that stand still.
type house struct {
	server *server.Server
	store  state.Store
	desk   *clerk
	hosts  *breakers
	broken []string
	test   func(context.Context, policy.TargetName) (notify.Answer, error) // nil: it notes that it was asked
}

func furnished(t *testing.T) *house {
	t.Helper()
	h := &house{store: memory.New(memory.Options{}).Open(nil), desk: &clerk{}, hosts: &breakers{}}
	h.server = server.New(server.Options{
		Version: "1", Server: "h", Status: standing, Store: h.store, Logger: slog.New(slog.DiscardHandler),
		Desk:    h.desk,
		Fencing: h.hosts, Breaking: h, Nudge: func() {},
		Monitoring: server.Monitoring{Metrics: well, Ready: well, Alive: well},
		Targets:    func() []policy.TargetName { return []policy.TargetName{"ops"} },
		Test: func(ctx context.Context, name policy.TargetName) (notify.Answer, error) {
			if h.test != nil {
				return h.test(ctx, name)
			}
			h.desk.did("test")
			return notify.Answer{}, nil
		},
		TakeOver: func(_ context.Context, o takeover.Wish) (takeover.Done, error) {
			if !o.DryRun {
				h.desk.did("take-over")
			}
			return takeover.Done{}, nil
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.server.Serve(ctx) }() // ends with ctx; the cleanup waits for it
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

var well = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// call makes a call, and follows nothing.
func (h *house) call(t *testing.T, who access.Principal, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	return h.callWith(t, who, method, path, body, http.Header{})
}

// callWith is call, with headers.
func (h *house) callWith(t *testing.T, who access.Principal, method, path, body string,
	with http.Header) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(access.With(t.Context(), who), time.Minute)
	defer cancel()
	q := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	q.Header = with
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, q)
	return w
}

// acted says what was done, or is to be done, by a call.
func (h *house) acted(t *testing.T) string {
	t.Helper()
	letters, _, err := h.store.List(t.Context(), "inbox/web")
	if err != nil {
		t.Fatal(err)
	}
	done := slices.Concat(h.desk.done, h.broken)
	if len(letters) > 0 {
		done = append(done, "an order")
	}
	return strings.Join(done, ", ")
}

// Break implements server.Breaking.
func (h *house) Break(fleet.ProviderName, fleet.InstanceID, string) (string, error) {
	h.broken = append(h.broken, "break")
	return "crashes", nil
}

// Foretell implements server.Breaking.
func (*house) Foretell(fleet.ProviderName, fleet.InstanceID, string) (string, error) {
	return "crashes", nil
}

// Ways implements server.Breaking.
func (h *house) Ways() []api.Breakage { return []api.Breakage{{Name: "crash", Does: "crashes"}} }

// clerk is a desk that takes down what it is asked for.
type clerk struct{ done []string }

func (c *clerk) did(what string) { c.done = append(c.done, what) }

var noChanges = api.Changes{Changes: []api.Change{}, Plans: []api.Waiting{}}

// Reload implements server.Desk.
func (c *clerk) Reload(context.Context) (api.Changes, error) {
	c.did("reload")
	return noChanges, nil
}

// Compare implements server.Desk.
func (*clerk) Compare(context.Context, string) (api.Changes, error) { return noChanges, nil }

// Readdress implements server.Desk.
func (c *clerk) Readdress(context.Context, string, string) error {
	c.did("readdress")
	return fault.New(fault.Conflict, "desk", "", errors.New("another plan waits"))
}

// Pending implements server.Desk.
func (*clerk) Pending(context.Context) (api.Changes, error) { return noChanges, nil }
