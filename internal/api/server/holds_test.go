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
	"hale/internal/core/fleet"
	"hale/internal/state/inbox"
)

// held asks about a hold of a name, with conditions.
func (h *house) held(t *testing.T, who access.Principal, method, name, body string, headers ...string) (
	*httptest.ResponseRecorder, api.NamedHold) {
	t.Helper()
	ctx, cancel := context.WithTimeout(access.With(t.Context(), who), time.Minute)
	defer cancel()
	q := httptest.NewRequestWithContext(ctx, method, "/v1/holds/"+name, strings.NewReader(body))
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.server.Handler().ServeHTTP(w, q)
	var is api.NamedHold
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &is); err != nil {
			t.Fatal(err)
		}
	}
	return w, is
}

// ordered are the orders that wait in the fleet's inbox.
func (h *house) ordered(t *testing.T, name fleet.Name) []fleet.Order {
	t.Helper()
	letters, _, err := inbox.Pending(t.Context(), h.store, name)
	if err != nil {
		t.Fatal(err)
	}
	var out []fleet.Order
	for _, l := range letters {
		out = append(out, l.Order)
	}
	return out
}

const aHold = `{"subject":"web-1","reason":"new power supply","for":"720h"}`

func TestAHoldOfANameIsAsItWasDeclared(t *testing.T) {
	t.Parallel()
	h, ana := furnished(t), everywhere(access.Operator)
	first, put := h.held(t, ana, http.MethodPut, "power", aHold, "If-None-Match", "*")
	if first.Code != http.StatusOK || put.For != "720h" || put.Subject != "web-1" || put.Reason != "new power supply" ||
		len(put.Parts) != 1 || put.Parts[0].State != api.HoldPending || put.By != "ana" {
		t.Fatalf("%d %s", first.Code, first.Body)
	}
	read, is := h.held(t, ana, http.MethodGet, "power", "")
	if is.HoldWish != put.HoldWish || is.Revision != put.Revision ||
		read.Header().Get("ETag") != `"`+put.Revision+`"` ||
		first.Header().Get("ETag") != read.Header().Get("ETag") {
		t.Errorf("it reads %s, with %v", read.Body, read.Header())
	}
	if _, same := h.held(t, ana, http.MethodPut, "power", aHold); same.Revision != put.Revision {
		t.Errorf("the same words make it another one: %+v", same)
	}
	orders := h.ordered(t, "web")
	if len(orders) != 1 || orders[0].Name != "power" || orders[0].Machine != "web-1" || orders[0].For != 720*time.Hour {
		t.Errorf("ordered: %+v", orders)
	}
}

// A deploy tool's token quiets its own fleet for a while, and does nothing else: no other's hold is touched, none lasts
// for long, and no order is given.
func TestAHolderHasHoldsOfItsOwnOnly(t *testing.T) {
	t.Parallel()
	h, ana := furnished(t), everywhere(access.Operator)
	tool := access.Principal{Kind: access.ByToken, Name: "bo by token abc", ID: "abc", Persons: []string{"bo"},
		Grants: []access.Grant{{Role: access.Holder, Fleets: []fleet.Name{"web"}}}}
	const brief = `{"subject":"web","reason":"deploy 4711","for":"30m"}`
	asks := func(who access.Principal, method, name, body string, want int) {
		t.Helper()
		if w, _ := h.held(t, who, method, name, body); w.Code != want {
			t.Errorf("%s of hold %s by %s: %d %s, want %d", method, name, who.Name, w.Code, w.Body, want)
		}
	}
	asks(tool, http.MethodPut, "deploy", brief, http.StatusOK)
	asks(tool, http.MethodPut, "long", `{"subject":"web","reason":"deploy","for":"5h"}`, http.StatusForbidden)
	asks(tool, http.MethodPut, "other", `{"subject":"db","reason":"deploy","for":"30m"}`, http.StatusNotFound)
	asks(ana, http.MethodPut, "power", aHold, http.StatusOK)
	asks(tool, http.MethodPut, "power", brief, http.StatusForbidden)
	asks(tool, http.MethodDelete, "power", "", http.StatusForbidden)
	asks(tool, http.MethodDelete, "deploy", "", http.StatusOK)
	for _, o := range h.ordered(t, "web") {
		if o.Name != "deploy" && o.Name != "power" || o.Name == "power" && o.By != "ana" {
			t.Errorf("ordered: %+v", o)
		}
	}
}

func TestAHoldOfANameIsGoneOnceItIsDeleted(t *testing.T) {
	t.Parallel()
	h, ana := furnished(t), everywhere(access.Operator)
	h.held(t, ana, http.MethodPut, "power", aHold)
	gone, _ := h.held(t, ana, http.MethodDelete, "power", "")
	after, _ := h.held(t, ana, http.MethodGet, "power", "")
	again, _ := h.held(t, ana, http.MethodDelete, "power", "")
	if gone.Code != http.StatusOK || after.Code != http.StatusNotFound || codeOf(t, after) != api.CodeUnknownHold ||
		again.Code != http.StatusNotFound {
		t.Errorf("%d %s, then %d, %d", gone.Code, gone.Body, after.Code, again.Code)
	}
	if orders := h.ordered(t, "web"); len(orders) != 2 || orders[1].Kind != fleet.OrderRelease ||
		orders[1].Name != "power" {
		t.Errorf("ordered: %+v", orders)
	}
}

func TestAHoldOfANameChangesAtTheRevisionThatWasSeen(t *testing.T) {
	t.Parallel()
	h, ana := furnished(t), everywhere(access.Operator)
	_, put := h.held(t, ana, http.MethodPut, "power", aHold)
	longer := strings.Replace(aHold, "720h", "721h", 1)
	for _, c := range [][3]string{
		{http.MethodPut, "If-None-Match", "*"}, {http.MethodPut, "If-Match", `"1"`},
		{http.MethodDelete, "If-Match", `"1"`},
	} {
		body := longer
		if c[0] == http.MethodDelete {
			body = ""
		}
		said, _ := h.held(t, ana, c[0], "power", body, c[1], c[2])
		if said.Code != http.StatusPreconditionFailed || codeOf(t, said) != api.CodePrecondition {
			t.Errorf("%v: %d %s", c, said.Code, said.Body)
		}
	}
	said, next := h.held(t, ana, http.MethodPut, "power", longer, "If-Match", `"`+put.Revision+`"`)
	if said.Code != http.StatusOK || next.For != "721h" || next.Revision == put.Revision {
		t.Errorf("%d %s", said.Code, said.Body)
	}
	if said, _ := h.held(t, ana, http.MethodPut, "other", aHold, "If-Match",
		`"7"`); said.Code != http.StatusPreconditionFailed {
		t.Errorf("one that is none is at a revision: %d %s", said.Code, said.Body)
	}
}

// A name that moves to another fleet is released where it was; who operates one fleet only cannot take it from there.
func TestAHoldOfANameMovesBetweenFleets(t *testing.T) {
	t.Parallel()
	h, ana := furnished(t), everywhere(access.Operator)
	h.held(t, ana, http.MethodPut, "power", aHold)
	onDB := `{"subject":"db","reason":"r","for":"1h"}`
	bo := access.Principal{Kind: access.ByToken, Name: "bo", Grants: []access.Grant{
		{Role: access.Operator, Fleets: []fleet.Name{"db"}}}}
	if said, _ := h.held(t, bo, http.MethodPut, "power", onDB); said.Code != http.StatusForbidden {
		t.Errorf("%d %s", said.Code, said.Body)
	}
	if said, _ := h.held(t, bo, http.MethodGet, "power", ""); said.Code != http.StatusNotFound {
		t.Errorf("who sees another fleet is told of it: %s", said.Body)
	}
	if said, _ := h.held(t, ana, http.MethodPut, "power", onDB); said.Code != http.StatusOK {
		t.Fatalf("%d %s", said.Code, said.Body)
	}
	web, db := h.ordered(t, "web"), h.ordered(t, "db")
	if len(web) != 2 || web[1].Kind != fleet.OrderRelease || len(db) != 1 || db[0].Kind != fleet.OrderHold {
		t.Errorf("web is ordered %+v, and db %+v", web, db)
	}
	if said, _ := h.held(t, bo, http.MethodGet, "power", ""); said.Code != http.StatusOK {
		t.Errorf("%d %s", said.Code, said.Body)
	}
}

func TestWhatIsNoHoldOfAName(t *testing.T) {
	t.Parallel()
	h, ana := furnished(t), everywhere(access.Operator)
	for body, code := range map[string]string{
		`{"subject":"web-9x","reason":"r","for":"1h"}`:      api.CodeUnknownFleet,
		`{"subject":"web","reason":"r","for":"a while"}`:    api.CodeInvalid,
		`{"subject":"web","reason":"r","for":"3000h"}`:      api.CodeBadRequest,
		`{"subject":"web","reason":"","for":"1h"}`:          api.CodeInvalid,
		`{"subject":"web","reason":"r","for":"1h","x":"y"}`: api.CodeInvalid,
	} {
		if said, _ := h.held(t, ana, http.MethodPut, "power", body); codeOf(t, said) != code {
			t.Errorf("%s: %d %s", body, said.Code, said.Body)
		}
	}
	if said, _ := h.held(t, ana, http.MethodPut, "Power!", aHold); codeOf(t, said) != api.CodeInvalid {
		t.Errorf("%d %s", said.Code, said.Body)
	}
	if did := h.acted(t); did != "" {
		t.Error(did)
	}
}
