package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// HoldWish is a hold as its owner declares it under a name, for example by Terraform. It comes back as it was sent.
type HoldWish struct {
	Subject string `json:"subject" minLength:"1" maxLength:"253" doc:"A fleet (web), a machine (web-2) or a host (host:h1)."`
	Reason  string `json:"reason" minLength:"1" maxLength:"200"`
	// For is kept in the words in which it was sent, so it is none of Duration.
	For  string `json:"for" pattern:"^([0-9]+(\\.[0-9]+)?(s|m|h))+$" maxLength:"20" doc:"How long, from when it is taken up: 2h, 720h."`
	Only string `json:"only,omitempty" enum:"scale-in" doc:"What alone it forbids; without it, everything disruptive."`
}

// NamedHold is a hold with a name of its owner's.
type NamedHold struct {
	Name string `json:"name"`
	HoldWish
	By       string    `json:"by"`
	Given    time.Time `json:"given"`
	Revision string    `json:"revision" doc:"What ETag and If-Match say."`
	// Parts are the holds that it is, one in each fleet that it concerns.
	Parts []HoldPart `json:"parts"`
}

// ETag is the hold's revision, as the answer's header has it.
func (h NamedHold) ETag() string { return `"` + h.Revision + `"` }

// HoldPart is a named hold in one fleet.
type HoldPart struct {
	Fleet   string    `json:"fleet"`
	Machine string    `json:"machine,omitempty"`
	Host    string    `json:"host,omitempty"`
	State   string    `json:"state" enum:"pending,held,ended"`
	Until   time.Time `json:"until,omitzero" doc:"When it ends, where it is in force."`
	Refused Reason    `json:"refused,omitzero"`
}

// How a part of a named hold stands (HoldPart.State).
const (
	HoldPending = "pending" // its fleet's owner did not take it up yet; of one that is deleted, it is not released yet
	HoldHeld    = "held"
	HoldEnded   = "ended" // its time is over, or it was released or refused
)

// NamedHolds are all that are in force, or will be, by name.
type NamedHolds struct {
	Holds []NamedHold `json:"holds"`
}

// HoldChange says how a named hold may be changed.
type HoldChange struct {
	Match  string // its revision, as it must be; empty: any
	New    bool   // there must be none of the name
	DryRun bool
	Wait   time.Duration // for the owners of its fleets, in whole seconds
}

// Holds returns the named holds.
func (c *Client) Holds(ctx context.Context) (NamedHolds, error) {
	return get[NamedHolds](ctx, c, "/v1/holds")
}

// Hold returns a named hold.
func (c *Client) Hold(ctx context.Context, name string) (NamedHold, error) {
	return get[NamedHold](ctx, c, holdPath(name))
}

// PutHold has the named hold be as it is wished for.
func (c *Client) PutHold(ctx context.Context, name string, w HoldWish, how HoldChange) (NamedHold, error) {
	body, err := json.Marshal(w)
	if err != nil {
		return NamedHold{}, err
	}
	return ask[NamedHold](how.over(ctx), c, http.MethodPut, how.path(name), body)
}

// DeleteHold releases the named hold.
func (c *Client) DeleteHold(ctx context.Context, name string, how HoldChange) (NamedHold, error) {
	return ask[NamedHold](how.over(ctx), c, http.MethodDelete, how.path(name), nil)
}

func (h HoldChange) path(name string) string {
	return holdPath(name) + "?" + url.Values{
		"dry_run": {strconv.FormatBool(h.DryRun)}, "wait": {strconv.Itoa(int(h.Wait/time.Second)) + "s"},
	}.Encode()
}

func holdPath(name string) string { return "/v1/holds/" + url.PathEscape(name) }

type conditionKey struct{}

// over is the context of a call with the conditions.
func (h HoldChange) over(ctx context.Context) context.Context {
	conditions := map[string]string{}
	if h.Match != "" {
		conditions["If-Match"] = `"` + h.Match + `"`
	}
	if h.New {
		conditions["If-None-Match"] = "*"
	}
	return context.WithValue(ctx, conditionKey{}, conditions)
}
