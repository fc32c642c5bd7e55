package providertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// startsAreNoted asks for the place where starts of hale are noted: what two handles write is seen by both, nothing is
// overwritten, and what was forgotten is gone.
func startsAreNoted(t T, h Harness) {
	e := begin(t, h)
	of := fleet.Installation(Installation + e.tag)
	other := fleet.Installation(Installation + e.tag + "x")
	reader, noter := has[provider.StartReader](e), has[provider.StartNoter](e)
	second, ok := h.New(t).(provider.StartNoter)
	if !ok {
		e.Fatalf("another handle has not what this one has")
	}
	one, two := fleet.NameStart(1, "aaaaaaaaaaaa"), fleet.NameStart(2, "bbbbbbbbbbbb")
	ten := fleet.NameStart(10, "cccccccccccc")
	twin := fleet.NameStart(2, "dddddddddddd") // of a copy of the store
	e.Cleanup(func() {
		for _, name := range []fleet.StartName{one, two, ten, twin} {
			_ = noter.ForgetStart(e.ctx(), of, name)
			_ = noter.ForgetStart(e.ctx(), other, name)
		}
	})
	shows := func(what string, of fleet.Installation, want ...fleet.StartName) {
		e.Helper()
		noted, err := reader.Starts(e.ctx(), of)
		e.do("starts", err)
		if _, whole := noted[""]; !whole && len(noted) != len(h.Hosts()) {
			e.Errorf("%s: of %v only %v answer", what, h.Hosts(), slices.Sorted(maps.Keys(noted)))
		}
		for host, names := range noted {
			slices.SortFunc(names, fleet.StartName.Compare)
			if !slices.Equal(names, want) {
				e.Errorf("%s: on host %q %v are noted, want %v", what, host, names, want)
			}
		}
	}
	shows("at first", of)
	e.do("note", noter.NoteStart(e.ctx(), of, one))
	shows("after the first", of, one)
	e.do("note again", noter.NoteStart(e.ctx(), of, one))
	var both sync.WaitGroup
	both.Go(func() { e.note("note two", noter.NoteStart(e.ctx(), of, two)) })
	both.Go(func() { e.note("note its twin", second.NoteStart(e.ctx(), of, twin)) })
	both.Wait()
	e.do("note ten", second.NoteStart(e.ctx(), of, ten))
	shows("after four", of, one, two, twin, ten)
	shows("of another installation", other)
	e.do("note of another", noter.NoteStart(e.ctx(), other, one))
	e.do("forget", noter.ForgetStart(e.ctx(), of, one))
	e.do("forget again", noter.ForgetStart(e.ctx(), of, one))
	shows("after one was forgotten", of, two, twin, ten)
	shows("another installation's own", other, one)
	claimsAreRead(e, reader, noter, second)
	e.refused("note of what is no start", noter.NoteStart(e.ctx(), of, "../x"), fault.Invalid)
}

// claimsAreRead asks that two installations read each other's claims, which lie under one name for all. Other hales may
// have claims there.
func claimsAreRead(e *exam, reader provider.StartReader, one, two provider.StartNoter) {
	e.Helper()
	var claims []fleet.StartName
	for i, n := range []provider.StartNoter{one, two} {
		c := fleet.Claim{
			By:    fleet.Claimant(fleet.Installation(fmt.Sprint(Installation, e.tag, i))),
			Since: time.Now().Unix(),
		}
		name := fleet.ClaimName(c, fleet.InstanceID("adopted-"+e.tag))
		claims = append(claims, name)
		e.Cleanup(func() { _ = one.ForgetStart(e.ctx(), fleet.ClaimPlace, name) })
		e.do("note a claim", n.NoteStart(e.ctx(), fleet.ClaimPlace, name))
	}
	noted, err := reader.Starts(e.ctx(), fleet.ClaimPlace)
	e.do("claims", err)
	for host, names := range noted {
		for _, c := range claims {
			if !slices.Contains(names, c) {
				e.Errorf("on host %q the claim %s is not noted: %v", host, c, names)
			}
		}
	}
}

// noteDeeds are the calls of the port that change notes, by its methods.
func noteDeeds() map[string]func(provider.StartNoter, context.Context, fleet.Installation, fleet.StartName) error {
	return map[string]func(provider.StartNoter, context.Context, fleet.Installation, fleet.StartName) error{
		"NoteStart":   provider.StartNoter.NoteStart,
		"ForgetStart": provider.StartNoter.ForgetStart,
	}
}

// unheardNotes: the answer to one order of a note is lost. Written or removed again it is as it should be, and another
// start's note still stands.
func unheardNotes(t T, h Harness) {
	e := begin(t, h)
	of := fleet.Installation(Installation + e.tag)
	one, two := fleet.NameStart(1, "aaaaaaaaaaaa"), fleet.NameStart(2, "bbbbbbbbbbbb")
	reader, noter := has[provider.StartReader](e), has[provider.StartNoter](e)
	e.Cleanup(func() {
		_ = noter.ForgetStart(e.ctx(), of, one)
		_ = noter.ForgetStart(e.ctx(), of, two)
	})
	e.do("note", noter.NoteStart(e.ctx(), of, one))
	wanted := map[string][]fleet.StartName{"NoteStart": {one, two}, "ForgetStart": {one}}
	for _, method := range []string{"NoteStart", "ForgetStart"} {
		change := noteDeeds()[method]
		for after := range mostOrders {
			err := e.unheard(after, func(ctx context.Context) error { return change(noter, ctx, of, two) })
			if err == nil && after == 0 && len(h.Hosts()) == 1 {
				e.Errorf("%s: no answer was lost", method)
			}
			e.await(method+" again", func() (string, bool) {
				err := change(noter, e.ctx(), of, two)
				return fmt.Sprint(err), err == nil
			})
			e.await("the notes after "+method, func() (string, bool) {
				noted, err := reader.Starts(e.ctx(), of)
				as := err == nil && (len(noted) == len(h.Hosts()) || slices.Contains(slices.Collect(maps.Keys(noted)),
					""))
				for _, names := range noted {
					slices.SortFunc(names, fleet.StartName.Compare)
					as = as && slices.Equal(names, wanted[method])
				}
				return fmt.Sprint(noted, err), as
			})
			if err == nil || able[OneOrder](e.h) {
				break
			}
		}
	}
}

// note fails the test when the call did, and lets the case go on: for goroutines.
func (e *exam) note(call string, err error) {
	if err != nil {
		e.Errorf("%s: %v", call, err)
	}
}

// unseenStarts asks a provider that cannot be reached.
func unseenStarts(t T, h Harness) {
	e := begin(t, h)
	of, one := fleet.Installation(Installation+e.tag), fleet.NameStart(1, "aaaaaaaaaaaa")
	reader, noter := has[provider.StartReader](e), has[provider.StartNoter](e)
	e.do("note", noter.NoteStart(e.ctx(), of, one))
	cut := ability[Disconnecter](t, h)
	cut.Disconnect(t)
	if noted, err := reader.Starts(e.ctx(), of); err == nil {
		e.Errorf("the provider does not answer, and %v are noted", noted)
	}
	if err := noter.NoteStart(e.ctx(), of, fleet.NameStart(2, "bbbbbbbbbbbb")); err == nil {
		e.Error("the provider does not answer, and the start was noted")
	}
	cut.Reconnect(t)
	e.await("the notes", func() (string, bool) {
		noted, err := reader.Starts(e.ctx(), of)
		for _, names := range noted {
			if !slices.Equal(names, []fleet.StartName{one}) {
				return string(names[len(names)-1]), false
			}
		}
		return "", err == nil && len(noted) > 0
	})
	e.do("forget", noter.ForgetStart(e.ctx(), of, one))
}
