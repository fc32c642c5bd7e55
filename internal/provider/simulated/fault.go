package simulated

import (
	"slices"
	"time"

	"hale/internal/fault"
	"hale/internal/fleet"
)

// Fault is something that goes wrong: with a guest, with calls, or with the provider. The types of this file are all
// there are.
type Fault interface {
	// strike does what happens at once. A fault that lasts adds the injection to w.active or sets its undo.
	strike(w *World, in *injection, now time.Time) error
}

// injection is one fault in force.
type injection struct {
	fault  Fault
	left   int           // calls or builds that it still hits; negative: no limit
	lifted chan struct{} // closed by lift
	undo   func(now time.Time)
}

// Inject makes the fault happen now. The returned function ends a fault that lasts; it may be called more than once.
// fault.NotFound: the fault names an instance that does not exist.
func (w *World) Inject(f Fault) (lift func(), err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	in := &injection{fault: f, left: -1, lifted: make(chan struct{})}
	if err := f.strike(w, in, time.Now()); err != nil {
		return nil, err
	}
	return func() { w.lift(in) }, nil
}

func (w *World) lift(in *injection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-in.lifted:
		return
	default:
	}
	close(in.lifted)
	w.active = slices.DeleteFunc(w.active, func(other *injection) bool { return other == in })
	if in.undo != nil {
		in.undo(time.Now())
	}
}

// inForce returns the newest lasting fault of the type that the condition accepts, and whether there is one.
func inForce[F Fault](w *World, accepts func(F) bool) (F, bool) {
	for _, in := range slices.Backward(w.active) {
		if f, ok := in.fault.(F); ok && accepts(f) {
			return f, true
		}
	}
	var none F
	return none, false
}

func (w *World) find(id fleet.InstanceID) (*guest, error) {
	g, ok := w.guests[id]
	if !ok {
		return nil, fault.New(fault.NotFound, "simulated.inject", string(id), nil)
	}
	return g, nil
}

// keep puts the fault in force for a number of times; 0: until it is lifted.
func (w *World) keep(in *injection, times int) {
	if times > 0 {
		in.left = times
	}
	w.active = append(w.active, in)
}
