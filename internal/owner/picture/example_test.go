package picture_test

import (
	"fmt"
	"time"

	"hale/internal/core/fleet"
	"hale/internal/owner/picture"
)

// A check's word is kept with the machine that it is about, and makes that one due. Evidence from before the machine was
// last aimed at, as of an earlier instance, is not heard.
func Example() {
	beliefs, hosts, list := webs()
	p := picture.New(picture.Options{Spec: spec(), Beliefs: beliefs,
		FreshID: func() fleet.InstanceID { return "fresh" }, Aimed: func(int, picture.Aim) {}}, noon(0))
	listing := picture.NewCatalogue()
	listing.Replace(hosts, list, at(time.Second))
	p.See(listing, nil)

	e := picture.Edge{Machine: "web-1", Check: p.View(0).Checks[0].Check, Epoch: p.Aim(0).Epoch, Since: at(2 * time.Second),
		Standing: fleet.StandingDown, Result: fleet.ResultRefused}
	old := e
	old.Epoch, old.Standing = e.Epoch-1, fleet.StandingUp
	p.Hear(e)
	p.Hear(old)
	c := p.View(0).Checks[0]
	fmt.Println(p.View(0).Machine.Name, c.Standing, c.Result)
	// Output: web-1 down refused
}
