package owner_test

import (
	"fmt"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner"
	"hale/internal/owner/picture"
)

// What was heard goes in. The owner decides, says what to store, and begins nothing before that is stored. Here the
// provider answers, and the only machine of the fleet was never built.
func Example() {
	now := fleet.Now{Mono: fleet.Instant(time.Hour), Wall: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	one := spec()
	one.Size = 1
	o := owner.New(owner.Options{Options: picture.Options{
		Spec: one, Installation: "here",
		FreshID: func() fleet.InstanceID { return "id-1" },
		Aimed:   func(int, picture.Aim) {},
	}}, now)

	now.Mono, now.Wall = now.Mono.Add(time.Minute), now.Wall.Add(time.Minute) // the amnesty is over
	listing := picture.NewCatalogue()
	listing.Replace([]fleet.Host{{Up: true}}, nil, now.Mono)
	o.SetProvider(fleet.ProviderState{Standing: fleet.ProviderUp}, now)
	o.See(listing, nil, now)
	o.Decide(now)
	for w, more := o.Ready(now); more; w, more = o.Ready(now) {
		for _, r := range w.Records {
			fmt.Println("store", r.Machine, r.Kind)
		}
		for _, b := range o.Stored(now) {
			fmt.Println("begin", b.Action.Kind)
		}
	}
	// Output:
	// store web-1 verdict
	// store web-1 repair-started
	// store web-1 intent
	// begin call
}
