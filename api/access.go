package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// HeaderAlone is the header by which who sits at the machine says that an act waits for no second person.
const HeaderAlone = "Hale-Alone"

// Token is one of hale's tokens, without the token itself.
type Token struct {
	ID      string    `json:"id"`
	Name    string    `json:"name" doc:"What it is for."`
	Person  string    `json:"person" doc:"Who bears it."`
	By      string    `json:"by,omitempty" doc:"Who made it."`
	Grants  []Grant   `json:"grants"`
	Made    time.Time `json:"made,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	Used    time.Time `json:"used,omitzero" doc:"When it was used last, to the minute."`
	State   string    `json:"state" enum:"good,over,damaged"`
}

// Tokens are those that the caller may revoke.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}

// TokenRequest asks for a token.
type TokenRequest struct {
	Name   string   `json:"name" minLength:"1" maxLength:"100" doc:"What it is for."`
	Person string   `json:"person,omitempty" maxLength:"200" doc:"Who is to bear it; empty: the caller."`
	Role   string   `json:"role" enum:"viewer,operator,admin"`
	Fleets []string `json:"fleets,omitempty" maxItems:"100" doc:"Empty: in all, and in what belongs to no fleet."`
	For    Duration `json:"for" doc:"How long it counts. There is no default; 2160h is usual."`
}

// NewToken is a token that was made.
type NewToken struct {
	Token
	Text string `json:"text" doc:"The token itself. It is told this once."`
}

// Revoked are tokens that are over.
type Revoked struct {
	Revoked []string `json:"revoked" doc:"The token, and those that were made by it."`
}

// Audited is a call that changed something, or was refused.
type Audited struct {
	At        time.Time `json:"at"`
	Request   string    `json:"request,omitempty"`
	Kind      string    `json:"kind,omitempty"`
	Name      string    `json:"name,omitempty"`
	ID        string    `json:"id,omitempty"`
	From      string    `json:"from,omitempty"`
	Operation string    `json:"operation"`
	About     []string  `json:"about,omitempty"`
	Result    string    `json:"result" enum:"begun,done,waits,refused,failed"`
	Status    int       `json:"status,omitempty"`
	Why       string    `json:"why,omitempty"`
	Count     int       `json:"count" doc:"How many calls it stands for."`
}

// Audit are such calls, oldest first.
type Audit struct {
	Records []Audited `json:"records"`
}

// Person is who asked, or agreed.
type Person struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	From string `json:"from,omitempty"`
}

// Act is what waits for a second person, or did.
type Act struct {
	ID       string    `json:"id"`
	Risk     string    `json:"risk" enum:"fence,delete,confirm,brake-off"`
	About    []string  `json:"about"`
	Request  string    `json:"request" doc:"The call, as POST /v1/orders."`
	Body     string    `json:"body,omitempty" doc:"Exactly what is asked for."`
	By       Person    `json:"by"`
	At       time.Time `json:"at"`
	Expires  time.Time `json:"expires"`
	Standing string    `json:"standing" enum:"waits,agreed,done,withdrawn,over"`
	Second   *Person   `json:"second,omitempty" doc:"Who agreed, or withdrew it."`
	Since    time.Time `json:"since,omitzero"`
	// Status and Answer are those of the call.
	Status int             `json:"status,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty" doc:"What the call answered."`
}

// Acts are those that wait, and those that did in the last week.
type Acts struct {
	Acts []Act `json:"acts"`
}

// Tokens returns the tokens that the caller may revoke.
func (c *Client) Tokens(ctx context.Context) (Tokens, error) {
	return get[Tokens](ctx, c, "/v1/tokens")
}

// MakeToken makes a token. Its text is told this once.
func (c *Client) MakeToken(ctx context.Context, q TokenRequest) (NewToken, error) {
	return post[NewToken](ctx, c, "/v1/tokens", q)
}

// Revoke ends a token, and those that were made by it.
func (c *Client) Revoke(ctx context.Context, id string) (Revoked, error) {
	return ask[Revoked](ctx, c, http.MethodDelete, "/v1/tokens/"+url.PathEscape(id), nil)
}

// AuditQuery chooses records of the audit.
type AuditQuery struct {
	Since time.Time
	Who   string // of the name, or the id
	Only  string // acts or refusals; empty: both
	Limit int    // the newest so many; 0: 1000
}

// Audit returns who did, or tried, what.
func (c *Client) Audit(ctx context.Context, q AuditQuery) (Audit, error) {
	v := url.Values{}
	if !q.Since.IsZero() {
		v.Set("since", q.Since.Format(time.RFC3339Nano))
	}
	if q.Who != "" {
		v.Set("who", q.Who)
	}
	if q.Only != "" {
		v.Set("only", q.Only)
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return get[Audit](ctx, c, "/v1/audit?"+v.Encode())
}

// Acts returns what waits for a second person, and what did in the last week.
func (c *Client) Acts(ctx context.Context) (Acts, error) {
	return get[Acts](ctx, c, "/v1/second-person")
}

// Agree is the second person's word: the act is carried out.
func (c *Client) Agree(ctx context.Context, id string) (Act, error) {
	return ask[Act](ctx, c, http.MethodPost, "/v1/second-person/"+url.PathEscape(id)+"/agree", nil)
}

// Withdraw ends an act that waits.
func (c *Client) Withdraw(ctx context.Context, id string) error {
	_, err := ask[Acts](ctx, c, http.MethodDelete, "/v1/second-person/"+url.PathEscape(id), nil)
	return err
}

// Device is a sign-in on another device, as its beginner is told of it.
type Device struct {
	Handle  string    `json:"handle"` // a secret of who began it
	Code    string    `json:"code"`   // that the person types in
	Address string    `json:"address"`
	Whole   string    `json:"whole,omitempty"` // the address with the code in it
	Expires time.Time `json:"expires"`
}

// Ticket is the token that a sign-in on another device ends with.
type Ticket struct {
	Waits   bool      `json:"waits,omitempty"` // the person has not signed in yet: ask again
	Token   string    `json:"token"`
	Person  string    `json:"person"`
	Expires time.Time `json:"expires"`
}

// BeginSignIn begins the sign-in of a person on another device.
func (c *Client) BeginSignIn(ctx context.Context) (Device, error) {
	return ask[Device](ctx, c, http.MethodPost, "/signin/device", nil)
}

// AwaitSignIn waits for a while until the person has signed in.
func (c *Client) AwaitSignIn(ctx context.Context, handle string) (Ticket, error) {
	return post[Ticket](ctx, c, "/signin/device/wait", map[string]string{"handle": handle})
}
