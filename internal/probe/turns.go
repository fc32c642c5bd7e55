package probe

import (
	"context"
	"sync/atomic"
)

// Turns let other goroutines work on what an engine's Run owns, one after the other: Run takes each turn when it comes.
type Turns[T any] struct {
	begun   atomic.Bool
	waiting chan Turn[T]
	over    chan struct{}
}

// Turn is work that waits for Run.
type Turn[T any] struct {
	do   func(T)
	done chan struct{}
}

// NewTurns returns them for an engine that does not run yet.
func NewTurns[T any]() *Turns[T] {
	return &Turns[T]{waiting: make(chan Turn[T]), over: make(chan struct{})}
}

// Begin says that Run runs. False: it was called before.
func (t *Turns[T]) Begin() bool { return t.begun.CompareAndSwap(false, true) }

// End says that Run has ended: whoever waits goes on.
func (t *Turns[T]) End() { close(t.over) }

// Next delivers the turns to Run.
func (t *Turns[T]) Next() <-chan Turn[T] { return t.waiting }

// Take does the work on what Run owns. When it panics, the caller that waits is released.
func (t Turn[T]) Take(of T) {
	defer close(t.done)
	t.do(of)
}

// Do has Run do the work, and returns when it is done. False: Run has ended.
func (t *Turns[T]) Do(work func(T)) bool { return t.do(nil, work) }

// DoWithin is Do, for who waits no longer than until ctx ends. False: the work was not taken up.
func (t *Turns[T]) DoWithin(ctx context.Context, work func(T)) bool { return t.do(ctx.Done(), work) }

func (t *Turns[T]) do(giveUp <-chan struct{}, work func(T)) bool {
	turn := Turn[T]{work, make(chan struct{})}
	select {
	case t.waiting <- turn:
		<-turn.done
		return true
	case <-giveUp:
	case <-t.over:
	}
	return false
}
