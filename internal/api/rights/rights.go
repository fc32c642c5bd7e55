// Package rights are the calls about who may use the API, and who did: tokens, the audit, and what waits for a second
// person.
//
// It promises that a token is told once, to who makes it; that callers see and revoke the tokens only that they bear,
// or could have made; and that what a second person agrees to is the call that was asked for, made again with that
// person's rights, and once.
package rights

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/access/audit"
	"hale/internal/access/pair"
	"hale/internal/access/token"
	"hale/internal/api/rest"
	"hale/internal/api/view"
	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/once"
)

// desk answers the calls.
type desk struct {
	store  state.Store
	log    *slog.Logger
	router *rest.Router
}

// Serve makes the calls ones of the router.
func Serve(r *rest.Router, store state.Store, log *slog.Logger) {
	d := &desk{store: store, log: log, router: r}
	d.tokens()
	rest.Serve(r, rest.Call{ID: "audit", Method: http.MethodGet, Path: "/v1/audit", Needs: rest.Governs,
		Summary: "Who did, or tried, what by the API"}, d.audit)
	d.secondPerson()
}

func (d *desk) tokens() {
	rest.Serve(d.router, rest.Call{ID: "list-tokens", Method: http.MethodGet, Path: "/v1/tokens", Needs: rest.Reads,
		Summary: "The tokens that the caller may revoke"}, d.list)
	rest.Mutate(d.router, rest.Call{ID: "make-token", Method: http.MethodPost, Path: "/v1/tokens", Needs: rest.Inspects,
		Again: rest.GoesOn, Secret: true,
		Summary: "Make a token, which is told this once", Codes: []string{api.CodeRefused, api.CodeUnknownFleet}}, d.make)
	rest.Mutate(d.router, rest.Call{ID: "revoke-token", Method: http.MethodDelete, Path: "/v1/tokens/{id}", Needs: rest.Reads,
		Again:   rest.RunsAgain,
		Summary: "End a token, and those that were made by it", Codes: []string{api.CodeUnknownToken}}, d.revoke)
}

func (d *desk) secondPerson() {
	rest.Serve(d.router, rest.Call{ID: "list-acts", Method: http.MethodGet, Path: "/v1/second-person", Needs: rest.Orders,
		Summary: "What waits for a second person, and what did in the last week"}, d.acts)
	codes := []string{api.CodeUnknownAct, api.CodeRefused}
	rest.Mutate(d.router, rest.Call{ID: "agree", Method: http.MethodPost, Path: "/v1/second-person/{id}/agree",
		Needs: rest.Orders, Again: rest.RunsAgain, Summary: "Agree to an act as the second person: it is carried out", Codes: codes}, d.agree)
	rest.Mutate(d.router, rest.Call{ID: "withdraw", Method: http.MethodDelete, Path: "/v1/second-person/{id}",
		Needs: rest.Orders, Again: rest.RunsAgain, Summary: "End an act that waits for a second person", Codes: codes}, d.withdraw)
}

// byID names a token, or an act.
type byID struct {
	rest.Repeatable
	ID string `path:"id" minLength:"1" maxLength:"40" pattern:"^[a-z2-7]+$"`
}

func (d *desk) list(ctx context.Context, _ *rest.Nothing) (api.Tokens, error) {
	all, err := token.List(ctx, d.store)
	out := api.Tokens{Tokens: []api.Token{}}
	now, who := time.Now(), access.Of(ctx)
	for i := range all {
		if all[i].Of(who) {
			out.Tokens = append(out.Tokens, tokenOf(&all[i], now))
		}
	}
	return out, err
}

func tokenOf(t *token.Token, now time.Time) api.Token {
	out := api.Token{
		ID: t.ID, Name: t.Name, Person: t.Person, By: t.By, Grants: view.Grants(t.Grants), Made: t.Made,
		Expires: t.Expires, Used: t.Used, State: "good",
	}
	switch {
	case t.Hash == "":
		out.State = "damaged"
	case !now.Before(t.Expires):
		out.State = "over"
	}
	return out
}

func (d *desk) make(ctx context.Context, in *rest.Asked[api.TokenRequest]) (api.NewToken, error) {
	var made string
	at, err := once.Stage(ctx, &made)
	if err != nil {
		return api.NewToken{}, err
	}
	if at > 0 {
		p := api.NewProblem(api.CodeHalfDone, "token "+made+" was made, and a token is told once")
		p.Advice = "if it did not arrive, revoke it and make another one, with another key"
		return api.NewToken{}, p
	}
	role, err := access.ParseRole(in.Body.Role)
	if err != nil {
		return api.NewToken{}, rest.BadRequest("role: " + err.Error())
	}
	grant := access.Grant{Role: role}
	for _, name := range in.Body.Fleets {
		if name == "" {
			return api.NewToken{}, rest.BadRequest("fleets: one has no name")
		}
		grant.Fleets = append(grant.Fleets, fleet.Name(name))
	}
	store := d.store
	if in.Dry {
		store = unwritten{store}
	}
	text, kept, err := token.Make(ctx, store, access.Of(ctx), token.Wish{
		Name: in.Body.Name, Person: in.Body.Person, For: time.Duration(in.Body.For), Grants: []access.Grant{grant},
	}, time.Now())
	if err != nil {
		return api.NewToken{}, err
	}
	if in.Dry {
		kept.ID = ""
		return api.NewToken{Token: tokenOf(&kept, time.Now())}, nil
	}
	audit.About(ctx, "token "+kept.ID, "of "+kept.Person, "role "+in.Body.Role)
	audit.About(ctx, in.Body.Fleets...)
	return api.NewToken{Token: tokenOf(&kept, time.Now()), Text: text}, nil
}

// unwritten is a store to which nothing is written, for what is only tried.
type unwritten struct{ state.Store }

// Commit implements state.Store.
func (unwritten) Commit(context.Context, state.Txn) (int64, error) { return 0, nil }

func (d *desk) revoke(ctx context.Context, in *byID) (api.Revoked, error) {
	audit.About(ctx, "token "+in.ID)
	all, err := token.List(ctx, d.store)
	if err != nil {
		return api.Revoked{}, err
	}
	for i := range all {
		if all[i].ID == in.ID && all[i].Of(access.Of(ctx)) {
			store := d.store
			if in.Dry {
				store = unwritten{store}
			}
			gone, err := token.Revoke(ctx, store, in.ID)
			return api.Revoked{Revoked: gone}, err
		}
	}
	if _, again := once.Began(ctx); again {
		return api.Revoked{Revoked: []string{in.ID}}, nil // it was there when it was asked for first
	}
	// one that the caller may not see is as one that there is not
	return api.Revoked{}, api.NewProblem(api.CodeUnknownToken, "there is no token "+in.ID+" that is yours to revoke")
}

type auditQuery struct {
	Since time.Time `query:"since" doc:"Only what happened since."`
	Who   string    `query:"who" maxLength:"200" doc:"Only callers with this in their name, or this id."`
	Only  string    `query:"only" enum:"acts,refusals" doc:"Absent: both."`
	Limit int       `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"The newest so many."`
}

func (d *desk) audit(ctx context.Context, in *auditQuery) (api.Audit, error) {
	all, err := audit.Read(ctx, d.store,
		audit.Query{Since: in.Since, Who: in.Who, Only: audit.Choice(in.Only), Limit: in.Limit})
	out := api.Audit{Records: make([]api.Audited, 0, len(all))}
	for _, r := range all {
		out.Records = append(out.Records, api.Audited{
			At: r.At, Request: r.Request, Kind: string(r.Kind), Name: r.Name, ID: r.ID, From: r.From, Operation: r.Operation,
			About: r.About, Result: string(r.Result), Status: r.Status, Why: r.Why, Count: max(1, r.Count),
		})
	}
	return out, err
}

func (d *desk) acts(ctx context.Context, _ *rest.Nothing) (api.Acts, error) {
	all, err := pair.List(ctx, d.store, time.Now())
	out := api.Acts{Acts: make([]api.Act, 0, len(all))}
	for i := range all {
		if concerns(&all[i], access.Of(ctx)) {
			out.Acts = append(out.Acts, actOf(&all[i]))
		}
	}
	return out, err
}

// concerns reports whether the caller may see the act: who asked for it, who operates what it is about, and who operates
// all.
func concerns(a *pair.Act, p access.Principal) bool {
	return p.May(access.Operator, "") || a.By.Kind == p.Kind && a.By.ID == p.ID ||
		slices.ContainsFunc(a.About, func(name string) bool { return p.May(access.Operator, fleet.Name(name)) })
}

func actOf(a *pair.Act) api.Act {
	out := api.Act{
		ID: a.ID, Risk: string(a.Risk), About: append([]string{}, a.About...), Request: a.Request.Method + " " + a.Request.Target,
		Body: strings.TrimSpace(string(a.Request.Body)), By: personOf(a.By), At: a.At, Expires: a.Expires,
		Standing: string(a.Standing), Since: a.Since, Status: a.Status,
	}
	if a.Second.Kind != "" {
		second := personOf(a.Second)
		out.Second = &second
	}
	if json.Valid(a.Answer) {
		out.Answer = a.Answer
	}
	return out
}

func personOf(p pair.Person) api.Person {
	return api.Person{Kind: string(p.Kind), Name: p.Name, From: p.From}
}

// agree notes that the caller is the second person, makes the call that waited, and notes what it answered.
func (d *desk) agree(ctx context.Context, in *byID) (api.Act, error) {
	audit.About(ctx, "act "+in.ID)
	act, err := d.standing(ctx, in.ID)
	if err != nil {
		return api.Act{}, err
	}
	audit.About(ctx, string(act.Risk))
	audit.About(ctx, act.About...)
	if _, again := once.Began(ctx); in.Dry || again && act.Standing == pair.Done {
		return actOf(&act), nil
	}
	if act, err = pair.Agree(ctx, d.store, in.ID, access.Of(ctx), time.Now()); err != nil {
		return api.Act{}, err
	}
	status, said := d.carryOut(ctx, act)
	if status == http.StatusForbidden { // who agrees may not do it: it waits for another one
		if err := pair.Reopen(ctx, d.store, act); err != nil {
			return api.Act{}, err
		}
		return api.Act{}, api.NewProblem(api.CodeForbidden, access.Of(ctx).Name+" may not do this, and so cannot agree to it")
	}
	act.Status, act.Answer, act.Standing = status, said, pair.Done
	if err := pair.Answered(ctx, d.store, act, status, said); err != nil {
		return api.Act{}, err
	}
	return actOf(&act), nil
}

// standing is the act, whose asker is still known.
func (d *desk) standing(ctx context.Context, id string) (pair.Act, error) {
	act, err := d.get(ctx, id)
	if err != nil || act.By.Kind != access.ByToken {
		return act, err
	}
	alive, err := token.Alive(ctx, d.store, act.By.ID, time.Now())
	if err == nil && !alive {
		err = rest.Refused("the token by which it was asked for is over: ask anew")
	}
	return act, err
}

// get is the act, if the caller may see it.
func (d *desk) get(ctx context.Context, id string) (pair.Act, error) {
	act, err := pair.Get(ctx, d.store, id, time.Now())
	switch {
	case fault.Is(err, fault.NotFound):
		return act, api.NewProblem(api.CodeUnknownAct, rest.Because(err))
	case err == nil && !concerns(&act, access.Of(ctx)):
		return pair.Act{}, api.NewProblem(api.CodeUnknownAct, "nothing of that id waits for a second person")
	}
	return act, err
}

// longestCall bounds a call that was agreed to.
const longestCall = 5 * time.Minute

// carryOut makes the call that waited, with the rights of who agrees, also when that one's connection breaks meanwhile.
func (d *desk) carryOut(ctx context.Context, act pair.Act) (status int, said []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(pair.Carrying(ctx, act)), longestCall)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, act.Request.Method, act.Request.Target, strings.NewReader(string(act.Request.Body)))
	if err != nil {
		d.log.Error("an act that was agreed to cannot be carried out", "act", act.ID, "err", err)
		return http.StatusInternalServerError, nil
	}
	q.Header.Set("Content-Type", act.Request.Type)
	q.Header.Set("Idempotency-Key", act.Key())
	w := &taken{header: http.Header{}, status: http.StatusOK}
	d.router.Handler().ServeHTTP(w, q)
	return w.status, w.body
}

// taken keeps an answer.
type taken struct {
	header http.Header
	status int
	body   []byte
}

// Header implements http.ResponseWriter.
func (t *taken) Header() http.Header { return t.header }

// WriteHeader implements http.ResponseWriter.
func (t *taken) WriteHeader(status int) { t.status = status }

// Write implements http.ResponseWriter.
func (t *taken) Write(b []byte) (int, error) {
	t.body = append(t.body, b...)
	return len(b), nil
}

func (d *desk) withdraw(ctx context.Context, in *byID) (api.Acts, error) {
	audit.About(ctx, "act "+in.ID)
	act, err := d.get(ctx, in.ID)
	if _, again := once.Began(ctx); err == nil && !in.Dry && (!again || act.Standing != pair.Withdrawn) {
		err = pair.Withdraw(ctx, d.store, in.ID, access.Of(ctx), time.Now())
	}
	if err != nil {
		return api.Acts{}, err
	}
	audit.About(ctx, act.About...)
	return d.acts(ctx, nil)
}

// Hold keeps the call if the rule takes a second person for it: then it returns the problem that says so.
func Hold(ctx context.Context, rule pair.Rule, risk access.Risk, about ...string) error {
	act, err := rule.Hold(ctx, risk, about...)
	if err != nil || act == nil {
		return err
	}
	audit.Hold(ctx)
	audit.About(ctx, "act "+act.ID, string(risk))
	audit.About(ctx, about...)
	p := api.NewProblem(api.CodeSecondPerson, "nothing was done: "+string(risk)+" of "+strings.Join(about, ", ")+
		" waits until another person agrees, until "+act.Expires.Format(time.RFC3339))
	p.Waits, p.Advice = act.ID, "another person says: hale second-person agree "+act.ID
	return p
}
