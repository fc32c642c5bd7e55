package change_test

import (
	"fmt"
	"testing"

	"hale/internal/core/belief"
	"hale/internal/core/change"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
)

// S39: a plan names the machines that serve beyond the size while others are changed, as many as there are to be
// changed at most.
func TestAPlanNamesWhatServesMeanwhile(t *testing.T) {
	t.Parallel()
	for surge, want := range map[int]string{0: "[]", 1: "[web-4]", 2: "[web-4 web-5]", 9: "[web-4 web-5 web-6]"} {
		is := web()
		l := belief.Ledger{Size: is.Size, Template: is.Template, Edition: 1}
		var views []situation.View
		for i := range is.Size {
			views = append(views, situation.View{Machine: belief.Machine{Name: is.Name.Machine(i + 1),
				Current: belief.Incarnation{ID: fleet.InstanceID(fmt.Sprint("vm-", i)), Edition: 1, Certified: true}}})
		}
		wanted := is
		wanted.Template.Image += "-2"
		wanted.Update = policy.Update{Surge: surge}
		p := change.Pending(&wanted, &l, views, nil)
		if len(p.Replace) != is.Size || fmt.Sprint(p.Beyond) != want {
			t.Errorf("with %d beyond the size, the plan replaces %d and names %v, not %s", surge, len(p.Replace),
				p.Beyond, want)
		}
	}
}
