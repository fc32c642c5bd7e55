package server_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/core/policy"
	"hale/internal/notify"
)

// mutations are the calls of the document that change something, with a good request each.
func mutations(t *testing.T) map[operation]row {
	t.Helper()
	all := map[operation]row{}
	for _, op := range operationsOf(t) {
		if op.Method != http.MethodGet {
			all[op] = matrix[op.ID]
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d calls change something", len(all))
	}
	return all
}

func (r row) at(op operation, query string) string {
	path := op.Path
	if r.path != "" {
		path = r.path
	}
	return path + query
}

// keyed makes a call with a key.
func (h *house) keyed(t *testing.T, key, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	ctx, cancel := context.WithTimeout(access.With(t.Context(), everywhere(access.Admin)), time.Minute)
	defer cancel()
	q := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	q.Header.Set(api.HeaderKey, key)
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, q)
	return w
}

const aKey = "key-00000001"

// untriable are the calls that change something, and cannot be tried first, with the reason.
var untriable = map[string]string{}

func TestEveryCallThatChangesSomethingCanBeTriedAndRepeated(t *testing.T) {
	t.Parallel()
	said := furnished(t).call(t, everywhere(access.Admin), http.MethodGet, "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]struct {
			ID         string `json:"operationId"`
			Parameters []struct {
				Name string `json:"name"`
				In   string `json:"in"`
			} `json:"parameters"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(said.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, methods := range doc.Paths {
		for method, op := range methods {
			has := map[string]bool{}
			for _, p := range op.Parameters {
				has[p.In+" "+p.Name] = true
			}
			if changes := method != "get"; changes != has["header "+api.HeaderKey] {
				t.Errorf("%s: it changes something: %v, and has a key: %v", op.ID, changes, !changes)
			}
			if method != "get" && has["query dry_run"] == (untriable[op.ID] != "") {
				t.Errorf("%s can be tried: %v; say why where it cannot", op.ID, has["query dry_run"])
			}
		}
	}
}

func TestToTryACallHasNoEffect(t *testing.T) {
	t.Parallel()
	for op, r := range mutations(t) {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			h := furnished(t)
			_, before, err := h.store.List(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"", aKey} {
				said := h.keyed(t, key, op.Method, r.at(op, "?dry_run=true"), r.body)
				if said.Code >= http.StatusInternalServerError || said.Header().Get("Idempotency-Replayed") != "" {
					t.Errorf("it is answered %d %s", said.Code, said.Body)
				}
			}
			_, after, err := h.store.List(t.Context(), "")
			if did := h.acted(t); did != "" || err != nil || after != before {
				t.Errorf("it did %q, and the store is at %d, not %d; %v", did, after, before, err)
			}
		})
	}
}

func TestACallWithAKeyTakesEffectOnce(t *testing.T) {
	t.Parallel()
	for op, r := range mutations(t) {
		t.Run(op.ID, func(t *testing.T) {
			t.Parallel()
			h := furnished(t)
			first := h.keyed(t, aKey, op.Method, r.at(op, ""), r.body)
			did := h.acted(t)
			again := h.keyed(t, aKey, op.Method, r.at(op, ""), r.body)
			if again.Code != first.Code || h.acted(t) != did {
				t.Errorf("it did %q and then %q; it answered %d and then %d", did, h.acted(t), first.Code, again.Code)
			}
			replayed := again.Header().Get("Idempotency-Replayed")
			switch {
			case first.Code != http.StatusOK && replayed != "":
				t.Errorf("a refusal is replayed: %s", again.Body)
			case first.Code == http.StatusOK && (replayed != "true" || again.Body.String() != first.Body.String()):
				t.Errorf("it answered\n%s\nand then, replayed %q,\n%s", first.Body, replayed, again.Body)
			}
		})
	}
}

func codeOf(t *testing.T, said *httptest.ResponseRecorder) string {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(said.Body.Bytes(), &p); err != nil {
		t.Fatalf("%d %s: %v", said.Code, said.Body, err)
	}
	return p.Code
}

func TestAKeyIsForOneRequest(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	on := `{"kind":"brake-on","subjects":["web"]}`
	if said := h.keyed(t, aKey, http.MethodPost, "/v1/orders", on); said.Code != http.StatusOK {
		t.Fatal(said.Code, said.Body)
	}
	for path, body := range map[string]string{
		"/v1/orders": `{"kind":"brake-off","subjects":["web"]}`, "/v1/reload": "",
	} {
		said := h.keyed(t, aKey, http.MethodPost, path, body)
		if said.Code != http.StatusUnprocessableEntity || codeOf(t, said) != api.CodeKeyReused {
			t.Errorf("%s: %d %s", path, said.Code, said.Body)
		}
	}
	same := h.keyed(t, aKey, http.MethodPost, "/v1/orders", "{ \"subjects\": [\"web\"],\n\"kind\": \"brake-on\" }")
	if same.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same words in other places are another request: %s", same.Body)
	}
	for _, key := range []string{"short", strings.Repeat("k", 65), "with a blank"} {
		if said := h.keyed(t, key, http.MethodPost, "/v1/orders", on); codeOf(t, said) != api.CodeInvalid {
			t.Errorf("key %q: %d %s", key, said.Code, said.Body)
		}
	}
}

func TestWhatIsUnderWayIsNotDoneTwice(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	begun, end := make(chan struct{}), make(chan struct{})
	h.test = func(context.Context, policy.TargetName) (notify.Answer, error) {
		close(begun)
		<-end
		return notify.Answer{Said: "ok"}, nil
	}
	answered := make(chan *httptest.ResponseRecorder)
	test := func() *httptest.ResponseRecorder {
		return h.keyed(t, aKey, http.MethodPost, "/v1/notify/targets/ops/test", "")
	}
	go func() { answered <- test() }() // ends with the test message; awaited below
	select {
	case <-begun:
	case said := <-answered:
		t.Fatalf("it is answered %d %s", said.Code, said.Body)
	}
	meanwhile := test()
	if meanwhile.Code != http.StatusConflict || codeOf(t, meanwhile) != api.CodeUnderWay ||
		meanwhile.Header().Get("Retry-After") == "" {
		t.Errorf("meanwhile it is answered %d %s", meanwhile.Code, meanwhile.Body)
	}
	close(end)
	first := <-answered
	if again := test(); again.Body.String() != first.Body.String() {
		t.Errorf("it answered %s and then %s", first.Body, again.Body)
	}
}

// TestTheCallerLeft: what it asked for goes on, and when it asks again it is told how that ended.
func TestTheCallerLeft(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	left, leave := context.WithCancel(access.With(t.Context(), everywhere(access.Admin)))
	h.test = func(ctx context.Context, _ policy.TargetName) (notify.Answer, error) {
		leave()
		return notify.Answer{Said: "ok"}, ctx.Err()
	}
	q := httptest.NewRequestWithContext(left, http.MethodPost, "/v1/notify/targets/ops/test", nil)
	q.Header.Set(api.HeaderKey, aKey)
	h.server.Handler().ServeHTTP(httptest.NewRecorder(), q)
	again := h.keyed(t, aKey, http.MethodPost, "/v1/notify/targets/ops/test", "")
	if !strings.Contains(again.Body.String(), `"ok"`) || again.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("it is answered %d %s", again.Code, again.Body)
	}
}
