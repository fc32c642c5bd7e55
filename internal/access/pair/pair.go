// Package pair keeps risky acts until a second person agrees.
//
// It promises that what is done is exactly what was asked for; that the one who agrees is not the one who asked, by
// another token or another way in (access.Principal.Apart); that of several who agree at once, on whatever server, one
// counts; that an act ends unless a second person agrees in time; and that all this outlives hale. What an agreed act
// does is asked of the same call that would have done it at once, with the rights of the one who agrees.
//
// It does not carry out anything.
package pair

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hale/internal/access"
	"hale/internal/core/fault"
	"hale/internal/state"
)

const root = "access/pair/"

// Limits of what waits.
const (
	Within      = time.Hour          // in which the second person must agree
	keepFor     = 7 * 24 * time.Hour // what came of it
	mostWait    = 100
	longestBody = 64 << 10 // bytes of a request
	longestSaid = 64 << 10 // bytes of an answer
)

// Standing is how an act stands.
type Standing string

// The standings. One that waits beyond its time is over.
const (
	Waits     Standing = "waits"
	Agreed    Standing = "agreed" // and it is not known yet what came of it
	Done      Standing = "done"   // the call was made; Status says what it answered
	Withdrawn Standing = "withdrawn"
	Over      Standing = "over"
)

// Request is a call as it came.
type Request struct {
	Method string
	Target string // path and query
	Type   string // of the body
	Body   []byte
	// Alone says that the caller goes without a second person, which only counts at the machine itself.
	Alone bool
}

// Person is who asked, or agreed.
type Person struct {
	Kind    access.Kind
	Name    string
	ID      string
	From    string   `json:",omitempty"`
	Persons []string // see access.Principal
}

func personOf(p access.Principal) Person { return Person{p.Kind, p.Name, p.ID, p.From, p.Persons} }

// Act is a risky act with what became of it.
type Act struct {
	ID       string
	Risk     access.Risk
	About    []string // what it is about: fleets, machines, hosts
	Request  Request
	By       Person
	At       time.Time
	Expires  time.Time
	Standing Standing
	Second   Person    `json:",omitzero"` // who agreed, or withdrew it
	Since    time.Time `json:",omitzero"` // of the standing, if it is not the first
	Status   int       `json:",omitempty"`
	Answer   []byte    `json:",omitempty"`

	revision int64
}

// Key is what a repeated call is known by, so that it takes effect once.
func (a *Act) Key() string { return "second-person-" + a.ID }

// Rule says which acts take two.
type Rule struct {
	Store state.Store
	Risks func() []access.Risk // as the configuration has it now; nil: none
}

// Hold keeps the call of the context if it takes a second person, and returns what waits then. Nil: it may go on. The
// call is whole and allowed by now: it would be carried out. fault.Quota: too much waits already.
func (r Rule) Hold(ctx context.Context, risk access.Risk, about ...string) (*Act, error) {
	const op = "pair.hold"
	if r.Risks == nil || !slices.Contains(r.Risks(), risk) || agreedTo(ctx, risk) {
		return nil, nil //nolint:nilnil // nothing waits
	}
	p, q := access.Of(ctx), requestOf(ctx)
	if q.Alone && p.Kind == access.BySocket && p.May(access.Admin, "") {
		return nil, nil //nolint:nilnil // as above
	}
	if q.Method == "" || len(q.Body) > longestBody {
		return nil, fault.New(fault.Invalid, op, string(risk),
			fmt.Errorf("it takes a second person, and cannot wait for one: keep it below %d bytes", longestBody))
	}
	now := time.Now().UTC()
	a := &Act{
		ID: strings.ToLower(rand.Text()[:8]), Risk: risk, About: about, Request: q, By: personOf(p), At: now,
		Expires: now.Add(Within), Standing: Waits,
	}
	all, err := List(ctx, r.Store, now)
	if err != nil {
		return nil, err
	}
	waiting := 0
	for _, other := range all {
		if other.Standing == Waits {
			waiting++
		}
	}
	if waiting >= mostWait {
		return nil, fault.New(fault.Quota, op, string(risk),
			fmt.Errorf("%d acts wait for a second person already: agree to some, or withdraw them", waiting))
	}
	if err := a.put(ctx, r.Store, state.Absent(root+a.ID)); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Act) put(ctx context.Context, s state.Store, unless state.Compare) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fault.New(fault.Invalid, "pair.write", a.ID, err)
	}
	a.revision, err = s.Commit(ctx, state.Txn{
		If: []state.Compare{unless}, Then: []state.Write{state.Put(root+a.ID, data)},
	})
	return err
}

// errDamaged says that an act cannot be read, so that nothing comes of it.
var errDamaged = errors.New("what is kept of it cannot be read: ask for it anew")

// Get returns the act of the id. fault.NotFound: there is none. fault.Permanent: it cannot be read.
func Get(ctx context.Context, s state.Store, id string, now time.Time) (Act, error) {
	const op = "pair.get"
	e, err := s.Get(ctx, root+id)
	if fault.Is(err, fault.NotFound) {
		return Act{}, fault.New(fault.NotFound, op, id, errors.New("nothing of that id waits for a second person"))
	}
	if err != nil {
		return Act{}, err
	}
	return read(e, now)
}

func read(e state.Entry, now time.Time) (Act, error) {
	var a Act
	id := strings.TrimPrefix(e.Key, root)
	if json.Unmarshal(e.Value, &a) != nil || a.ID != id || a.Risk == "" || a.Request.Method == "" ||
		a.Expires.IsZero() || len(a.By.Persons) == 0 || a.Standing == "" {
		return Act{ID: id}, fault.New(fault.Permanent, "pair.get", id, errDamaged)
	}
	if a.Standing == Waits && !now.Before(a.Expires) {
		a.Standing = Over
	}
	a.revision = e.Revision
	return a, nil
}

// List returns all acts, oldest first, without those that cannot be read.
func List(ctx context.Context, s state.Store, now time.Time) ([]Act, error) {
	entries, _, err := s.List(ctx, root)
	if err != nil {
		return nil, err
	}
	out := make([]Act, 0, len(entries))
	for _, e := range entries {
		if a, err := read(e, now); err == nil {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b Act) int { return a.At.Compare(b.At) })
	return out, nil
}

// Agree notes that the caller is the second person, and returns the act, which is then to be carried out. Asked again
// by the same caller it returns it again, until it is known what came of it: hale may have ended in between, and a call
// with the same key takes effect once. fault.Unauthorised: the caller is not a second person. fault.Conflict: it does
// not wait any more.
func Agree(ctx context.Context, s state.Store, id string, by access.Principal, now time.Time) (Act, error) {
	const op = "pair.agree"
	a, err := Get(ctx, s, id, now)
	if err != nil {
		return Act{}, err
	}
	if !by.Apart(access.Principal{Persons: a.By.Persons}) {
		return Act{}, fault.New(fault.Unauthorised, op, id, fmt.Errorf(
			"%s asked for it: another person must agree, and none who may be behind both counts", a.By.Name))
	}
	again := a.Standing == Agreed && a.Second.Kind == by.Kind && a.Second.ID == by.ID && now.Before(a.Expires)
	switch {
	case again, a.Standing == Waits:
	case a.Standing == Agreed:
		return Act{}, fault.New(fault.Conflict, op, id, fmt.Errorf("%s agreed already", a.Second.Name))
	default:
		return Act{}, fault.New(fault.Conflict, op, id, fmt.Errorf("it does not wait any more: %s", a.Standing))
	}
	if again {
		return a, nil
	}
	a.Standing, a.Second, a.Since = Agreed, personOf(by), now.UTC()
	err = a.put(ctx, s, state.At(root+id, a.revision))
	if fault.Is(err, fault.Conflict) {
		return Act{}, fault.New(fault.Conflict, op, id, errors.New("another one was faster"))
	}
	return a, err
}

// Reopen has an act wait again: who agreed may not do it.
func Reopen(ctx context.Context, s state.Store, a Act) error {
	a.Standing, a.Second, a.Since = Waits, Person{}, time.Time{}
	return a.put(ctx, s, state.At(root+a.ID, a.revision))
}

// Answered notes what came of an act that was agreed to.
func Answered(ctx context.Context, s state.Store, a Act, status int, answer []byte) error {
	a.Standing, a.Status, a.Answer = Done, status, answer[:min(len(answer), longestSaid)]
	a.Since = time.Now().UTC()
	return a.put(ctx, s, state.At(root+a.ID, a.revision))
}

// Withdraw ends an act that waits. fault.Conflict: it does not wait any more.
func Withdraw(ctx context.Context, s state.Store, id string, by access.Principal, now time.Time) error {
	a, err := Get(ctx, s, id, now)
	if err != nil {
		return err
	}
	if a.Standing != Waits {
		return fault.New(fault.Conflict, "pair.withdraw", id, fmt.Errorf("it does not wait any more: %s", a.Standing))
	}
	a.Standing, a.Second, a.Since = Withdrawn, personOf(by), now.UTC()
	return a.put(ctx, s, state.At(root+id, a.revision))
}

// Sweep forgets what was over a week ago, and what cannot be read.
func Sweep(ctx context.Context, s state.Store, now time.Time) error {
	entries, _, err := s.List(ctx, root)
	if err != nil {
		return err
	}
	var txn state.Txn
	for _, e := range entries {
		a, err := read(e, now)
		if (err != nil || now.Sub(a.Expires) > keepFor) && len(txn.Then) < state.MaxOps {
			txn.Then = append(txn.Then, state.Delete(e.Key))
		}
	}
	if len(txn.Then) == 0 {
		return nil
	}
	_, err = s.Commit(ctx, txn)
	return err
}

type (
	requestKey struct{}
	agreedKey  struct{}
)

// WithRequest returns a context that carries the call as it came, for Hold.
func WithRequest(ctx context.Context, q Request) context.Context {
	return context.WithValue(ctx, requestKey{}, q)
}

func requestOf(ctx context.Context) Request {
	q, _ := ctx.Value(requestKey{}).(Request)
	return q
}

// Carrying returns the context in which the act is carried out. Its caller is named by who asked and who agreed, and
// has the rights of the one who agreed.
func Carrying(ctx context.Context, a Act) context.Context {
	p := access.Of(ctx)
	p.Name = fmt.Sprintf("%s, agreed by %s", a.By.Name, p.Name)
	return context.WithValue(access.With(ctx, p), agreedKey{}, a.Risk)
}

func agreedTo(ctx context.Context, risk access.Risk) bool {
	agreed, ok := ctx.Value(agreedKey{}).(access.Risk)
	return ok && agreed == risk
}
