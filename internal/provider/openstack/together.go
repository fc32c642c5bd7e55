package openstack

import (
	"context"
	"errors"
	"sync"
)

// together lets those who ask the same thing at the same time share one answer: when many servers of a fleet are gone, each is believed
// gone only by a list of its own time, and one list does for all. Everybody gets the answer to a question that was put after they asked.
type together[T any] struct {
	turn chan struct{} // a token for whoever puts the question

	mu   sync.Mutex
	next *shared[T] // the question that is about to be put; nil: nobody waits to
}

type shared[T any] struct {
	done   chan struct{} // closed when there is an answer
	answer T
	err    error
}

// errUnanswered is what those get whose question panicked while another one put it.
var errUnanswered = errors.New("the question that was put for several at once has no answer")

func newTogether[T any]() *together[T] { return &together[T]{turn: make(chan struct{}, 1)} }

// ask puts the question, or waits for the answer to one that is about to be put.
func (g *together[T]) ask(ctx context.Context, put func() (T, error)) (T, error) {
	g.mu.Lock()
	q := g.next
	if q != nil {
		g.mu.Unlock()
		select {
		case <-q.done:
			return q.answer, q.err
		case <-ctx.Done():
			return q.answer, ctx.Err()
		}
	}
	q = &shared[T]{done: make(chan struct{})}
	g.next = q
	g.mu.Unlock()
	defer close(q.done)
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
		g.settle()
		q.err = errUnanswered // should it panic: those who wait must not take what is not there for an answer
		q.answer, q.err = put()
	case <-ctx.Done():
		g.settle()
		q.err = ctx.Err()
	}
	return q.answer, q.err
}

// settle: whoever asks from now on needs another answer.
func (g *together[T]) settle() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next = nil
}
