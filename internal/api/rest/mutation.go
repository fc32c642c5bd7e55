package rest

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"hale/api"
	"hale/internal/access"
	"hale/internal/state/once"
)

// Repeatable is what every call takes that changes something.
type Repeatable struct {
	Key string `header:"Idempotency-Key" minLength:"8" maxLength:"64" pattern:"^[!-~]*$" doc:"Random, and the same each time the call is asked again: then it takes effect once, for a day."`
	Dry bool   `query:"dry_run" doc:"Only say what would be answered. Nothing is changed."`
}

func (r Repeatable) repeatable() Repeatable { return r }

type repeats interface{ repeatable() Repeatable }

// Asked is what a call takes that changes something and has a body.
type Asked[T any] struct {
	Repeatable
	Body T
}

// Plainly is what a call takes that changes something and has none.
type Plainly struct{ Repeatable }

// done is what it answers.
type done[T any] struct {
	Replayed string `header:"Idempotency-Replayed" doc:"true: the call was made before, and this is what it answered."`
	Revision string `header:"ETag" doc:"The revision of what was changed, where it has one."`
	Body     T
}

// revised is what an answer implements that has a revision.
type revised interface{ ETag() string }

// Repeated says what it means to ask again, with its key, for a call during which hale ended.
type Repeated int

const (
	// GoesOn has all that it does in one transaction, which says so: if that was done, it goes on behind it.
	GoesOn Repeated = iota
	// RunsAgain has it done again, since to do it twice is to do it once, or since what it did is looked at first.
	RunsAgain
	// RefusedAgain has it refused: nothing shows whether it was done, and twice would be too much.
	RefusedAgain
)

// Mutate registers a call that changes something: it can be tried without effect, and repeated.
func Mutate[I repeats, T any](r *Router, c Call, do func(context.Context, *I) (T, error)) {
	c.Codes = append(c.Codes, api.CodeKeyReused, api.CodeUnderWay, api.CodeHalfDone)
	Register(r, c, func(ctx context.Context, in *I) (*done[T], error) {
		q := (*in).repeatable()
		if q.Key == "" || q.Dry {
			return made(do(ctx, in))
		}
		request, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		p := access.Of(ctx)
		e, err := r.calls.Open(ctx, once.Call{
			Who: string(p.Kind) + " " + p.ID, Key: q.Key, Of: c.ID, Asked: request,
		}, time.Now())
		if err != nil {
			return nil, err
		}
		defer e.Close()
		if before := e.Answer(); before != nil {
			out := done[T]{}
			err := json.Unmarshal(before, &out)
			out.Replayed = "true"
			return &out, err
		}
		if err := c.begins(ctx, e); err != nil {
			return nil, err
		}
		ctx, cancel := lasting(ctx)
		defer cancel()
		out, err := made(do(once.With(ctx, e), in))
		r.noteEnd(ctx, c, e, out, err)
		return out, err
	})
}

func made[T any](body T, err error) (*done[T], error) {
	if err != nil {
		return nil, err
	}
	out := &done[T]{Body: body}
	if r, ok := any(body).(revised); ok {
		out.Revision = r.ETag()
	}
	return out, nil
}

// begins notes that a call begins that is no transaction, unless it must not be made again.
func (c Call) begins(ctx context.Context, e *once.Entry) error {
	at, begun := e.Begun()
	switch {
	case c.Again == GoesOn:
		return nil
	case begun && c.Again == RefusedAgain:
		p := api.NewProblem(api.CodeHalfDone, "hale ended while it did this, at "+at.Format(time.RFC3339)+
			", and nothing says how far it came")
		p.Advice = "look whether it was done; to do it again, ask with another key"
		return p
	}
	return e.Begin(ctx)
}

// noteLimit bounds the time in which it is noted how a call ended, whether or not its caller still waits.
const noteLimit = 5 * time.Second

// noteEnd notes how a call ended. One that failed did nothing, and can be asked again with its key; neither is one
// answered whose time was cut short.
func (r *Router) noteEnd(ctx context.Context, c Call, e *once.Entry, answer any, failed error) {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteLimit)
	defer cancel()
	var err error
	switch {
	case failed != nil:
		err = e.Forget(last)
	case ctx.Err() == nil && !c.Secret:
		var data []byte
		if data, err = json.Marshal(answer); err == nil {
			err = e.Done(last, data)
		}
	}
	if err != nil {
		r.log.Warn("what a call answered is not noted: asked again with its key, it goes on from what it did",
			"request", RequestOf(ctx), "err", err)
	}
}

type servingKey struct{}

// Serving returns the context of all connections to a server that ends with it: calls that change something go on until
// then, though their callers are gone.
func Serving(ctx context.Context) context.Context { return context.WithValue(ctx, servingKey{}, ctx) }

// lasting is the context of a call that goes on when its caller is gone, who may ask for it again, and ends when the
// server does.
func lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	serving, known := ctx.Value(servingKey{}).(context.Context)
	if !known {
		return out, cancel
	}
	stop := context.AfterFunc(serving, cancel)
	return out, func() { stop(); cancel() }
}

// ofKeys is the problem of a call whose key does not let it be made; false: that is not what is wrong.
func ofKeys(err error) (api.Problem, bool) {
	switch {
	case errors.Is(err, once.ErrOther):
		return api.NewProblem(api.CodeKeyReused, "the Idempotency-Key was used for another request: make a new one for "+
			"each"), true
	case errors.Is(err, once.ErrUnderWay):
		return api.NewProblem(api.CodeUnderWay, "a request with this Idempotency-Key is under way: ask again in a "+
			"moment"), true
	}
	return api.Problem{}, false
}

// Quoted is a revision as a header has it.
func Quoted(revision string) string { return `"` + revision + `"` }

// Matches refuses what is about another revision than there is. Without one that is asked for, any is meant.
func Matches(ifMatch, is string) error {
	if ifMatch == "" || ifMatch == is || ifMatch == "*" && is != "" {
		return nil
	}
	return api.NewProblem(api.CodePrecondition, "If-Match is "+ifMatch+", and the revision is "+
		map[bool]string{true: "none: there is nothing of the name", false: is}[is == ""])
}
