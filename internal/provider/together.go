package provider

import (
	"context"
	"errors"
	"sync"
)

// Together puts questions to a provider, a limited number at a time. Callers that ask the same thing while it waits for
// its turn share one answer. When many machines are gone, each needs a list from after its own question, and one list
// does for all. Every caller gets the answer to a question that was put after its own.
type Together[K comparable, T any] struct {
	turns chan struct{} // with a token for each question that is being put

	mu   sync.Mutex
	next map[K]*shared[T] // the questions that are about to be put
}

type shared[T any] struct {
	done   chan struct{} // closed when there is an answer
	answer T
	err    error
}

// errUnanswered is what waiting callers get when the shared question panicked.
var errUnanswered = errors.New("the question that several callers share has no answer")

// NewTogether returns one that puts so many questions at the same time. Questions of the same K are the same.
func NewTogether[K comparable, T any](atOnce int) *Together[K, T] {
	return &Together[K, T]{turns: make(chan struct{}, atOnce), next: make(map[K]*shared[T])}
}

// Ask puts the question, or waits for the answer when another caller is about to put the same one. That caller's
// context then counts, and its error where there is no answer. Ask returns ctx's error when that ends before its turn.
func (g *Together[K, T]) Ask(ctx context.Context, what K, put func() (T, error)) (T, error) {
	g.mu.Lock()
	q := g.next[what]
	if q != nil {
		g.mu.Unlock()
		select {
		case <-q.done:
			return q.answer, q.err
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
	q = &shared[T]{done: make(chan struct{})}
	g.next[what] = q
	g.mu.Unlock()
	defer close(q.done)
	select {
	case g.turns <- struct{}{}:
		defer func() { <-g.turns }()
		g.settle(what)
		q.err = errUnanswered // if it panics, the waiting callers must not get an empty answer
		q.answer, q.err = put()
	case <-ctx.Done():
		g.settle(what)
		q.err = ctx.Err()
	}
	return q.answer, q.err
}

// settle lets later callers ask anew.
func (g *Together[K, T]) settle(what K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.next, what)
}
