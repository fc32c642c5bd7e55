package api

import (
	"net/http"
	"strings"

	"hale/internal/near"
)

// Problem is why the server did not answer, in the form of RFC 9457. It is an error.
type Problem struct {
	// Type never changes for a Code: it is urn:hale:problem: and the code.
	Type   string `json:"type" doc:"A URI that names the kind of problem, and never changes."`
	Title  string `json:"title" doc:"The kind of problem in words."`
	Status int    `json:"status" doc:"The HTTP status."`
	Detail string `json:"detail" doc:"What is wrong this time."`
	// Instance names the request in the log of the server.
	Instance string `json:"instance,omitempty" doc:"The request, as the server's log names it."`
	// Code is one of the Code constants.
	Code   string   `json:"code" doc:"The kind of problem, for programs."`
	Near   []string `json:"near,omitempty" doc:"Names that were perhaps meant."`
	Lines  []string `json:"lines,omitempty" doc:"All that is wrong, one by one."`
	Advice string   `json:"advice,omitempty" doc:"What a person can do."`
	// Waits is the id under which the call waits for a second person.
	Waits  string       `json:"waits,omitempty" doc:"The id under which the call waits for a second person."`
	Errors []FieldError `json:"errors,omitempty" doc:"What is wrong with which part of the request."`
}

// FieldError is what is wrong with one part of a request.
type FieldError struct {
	Location string `json:"location" doc:"As body.subjects[0], query.limit or header.If-Match."`
	Message  string `json:"message"`
}

// Codes of Problem.
const (
	CodeUnknownMachine  = "unknown_machine"
	CodeUnknownIncident = "unknown_incident"
	CodeUnknownFleet    = "unknown_fleet"
	CodeUnknownHost     = "unknown_host"
	CodeUnknownTarget   = "unknown_target"
	CodeUnknownLetter   = "unknown_letter"
	CodeUnknownPlan     = "unknown_plan"
	CodeUnknownOrder    = "unknown_order"
	CodeUnknownHold     = "unknown_hold"
	CodeUnknownRoute    = "unknown_route" // there is no such call
	CodeMethod          = "method"        // the call has other methods
	CodeBadRequest      = "bad_request"
	CodeInvalid         = "invalid"   // the request does not fit the document; Errors say where
	CodeTooLarge        = "too_large" // the body
	CodeTooSlow         = "too_slow"  // the body did not come in time
	CodeMediaType       = "media_type"
	CodeStore           = "store"
	CodeStandby         = "standby"       // another server looks after the fleets, or none does yet
	CodeConfiguration   = "configuration" // the file is wrong; Lines say what
	CodeRefused         = "refused"
	CodeOccupied        = "occupied"        // something else is under way there; Detail says who ordered it
	CodePrecondition    = "precondition"    // If-Match or If-None-Match does not fit
	CodeTarget          = "target"          // it did not take the message
	CodeUnauthenticated = "unauthenticated" // who calls is not known
	CodeForbidden       = "forbidden"       // who calls may not do that
	CodeThrottled       = "throttled"       // who calls does so too often
	CodeBusy            = "busy"            // too much is under way
	CodeMisdirected     = "misdirected"     // the name by which hale was asked is none of its own
	CodeCrossOrigin     = "cross_origin"    // a page from elsewhere had a browser ask
	CodeUnknownToken    = "unknown_token"
	CodeUnknownAct      = "unknown_act"
	CodeSecondPerson    = "second_person" // it waits until another person agrees; Waits is its id
	CodeInternal        = "internal"      // a defect of hale; Instance finds it in the log

	// of requests with an Idempotency-Key
	CodeKeyReused = "key_reused" // for another request
	CodeUnderWay  = "under_way"  // a request with the key is
	CodeHalfDone  = "half_done"  // hale ended meanwhile, and nothing says how far it came
)

// problems says of each code what it means, and by which HTTP status.
var problems = map[string]struct {
	status int
	title  string
}{
	CodeUnknownMachine:  {http.StatusNotFound, "there is no such machine"},
	CodeUnknownIncident: {http.StatusNotFound, "there is no such incident"},
	CodeUnknownFleet:    {http.StatusNotFound, "there is no such fleet"},
	CodeUnknownHost:     {http.StatusNotFound, "there is no such host"},
	CodeUnknownTarget:   {http.StatusNotFound, "there is no such target"},
	CodeUnknownLetter:   {http.StatusNotFound, "there is no such message"},
	CodeUnknownPlan:     {http.StatusNotFound, "there is no such plan"},
	CodeUnknownOrder:    {http.StatusNotFound, "there is no such order"},
	CodeUnknownHold:     {http.StatusNotFound, "there is no such hold"},
	CodePrecondition:    {http.StatusPreconditionFailed, "it is not at the revision that was seen"},
	CodeUnknownRoute:    {http.StatusNotFound, "there is no such call"},
	CodeMethod:          {http.StatusMethodNotAllowed, "the call has other methods"},
	CodeBadRequest:      {http.StatusBadRequest, "the request cannot be understood"},
	CodeInvalid:         {http.StatusUnprocessableEntity, "the request does not fit the document"},
	CodeTooLarge:        {http.StatusRequestEntityTooLarge, "the request is too large"},
	CodeTooSlow:         {http.StatusRequestTimeout, "the request came too slowly"},
	CodeMediaType:       {http.StatusUnsupportedMediaType, "the request's media type is not known"},
	CodeStore:           {http.StatusServiceUnavailable, "the store does not answer"},
	CodeStandby:         {http.StatusServiceUnavailable, "the server stands by"},
	CodeConfiguration:   {http.StatusUnprocessableEntity, "the configuration is not valid"},
	CodeRefused:         {http.StatusConflict, "it is refused as things stand"},
	CodeOccupied:        {http.StatusConflict, "something else is under way there"},
	CodeTarget:          {http.StatusBadGateway, "the target did not take the message"},
	CodeUnauthenticated: {http.StatusUnauthorized, "who calls is not known"},
	CodeForbidden:       {http.StatusForbidden, "the caller may not do that"},
	CodeThrottled:       {http.StatusTooManyRequests, "the caller asks too often"},
	CodeBusy:            {http.StatusServiceUnavailable, "too much is under way"},
	CodeMisdirected:     {http.StatusMisdirectedRequest, "hale has no such name"},
	CodeCrossOrigin:     {http.StatusForbidden, "a page from elsewhere asks"},
	CodeUnknownToken:    {http.StatusNotFound, "there is no such token"},
	CodeUnknownAct:      {http.StatusNotFound, "nothing of the id waits for a second person"},
	CodeSecondPerson:    {http.StatusConflict, "it waits for a second person"},
	CodeInternal:        {http.StatusInternalServerError, "a defect of hale"},
	CodeKeyReused:       {http.StatusUnprocessableEntity, "the key was used for another request"},
	CodeUnderWay:        {http.StatusConflict, "a request with the key is under way"},
	CodeHalfDone:        {http.StatusConflict, "it is not known how far the request came"},
}

// NewProblem makes a problem of one of the codes.
func NewProblem(code, detail string) Problem {
	p := problems[code]
	return Problem{Type: "urn:hale:problem:" + strings.ReplaceAll(code, "_", "-"), Title: p.title, Status: p.status,
		Detail: detail, Code: code}
}

// Unknown says that there is nothing of the name, and which of those that there are may be meant. The code says what is
// looked for, and what names it, as in "machine web-9".
func Unknown(code, what, name string, known []string) Problem {
	p := NewProblem(code, "there is no "+what)
	p.Near = near.Names(name, known)
	return p
}

// Error implements error.
func (p Problem) Error() string {
	if len(p.Near) == 0 {
		return p.Detail
	}
	return p.Detail + "; did you mean " + strings.Join(p.Near, " or ") + "?"
}

// GetStatus returns the HTTP status of the answer.
func (p Problem) GetStatus() int { return p.Status }

// GetHeaders returns what the answer's header says of it.
func (p Problem) GetHeaders() http.Header {
	if p.Code != CodeUnderWay {
		return nil
	}
	return http.Header{"Retry-After": {"1"}}
}

// ContentType returns the media type of the problem where an answer would have the other.
func (p Problem) ContentType(of string) string {
	if of == "application/json" {
		return "application/problem+json"
	}
	return of
}

// UnknownFleet says that there is no fleet of the name, and which of those that there are may be meant.
func UnknownFleet(name string, known []string) Problem {
	return Unknown(CodeUnknownFleet, "fleet "+name, name, known)
}
