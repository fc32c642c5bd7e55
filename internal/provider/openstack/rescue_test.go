package openstack_test

import (
	"net/http"
	"strings"
	"testing"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// TestARescueHasHappenedWhenNovaSaysSo: a rescue that Nova gives up has failed. One that Nova took has an unknown
// outcome while Nova is silent.
func TestARescueHasHappenedWhenNovaSaysSo(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		ends   string // the server's status in the end
		answer int    // to the order; 0: Nova's own
		silent bool   // Nova answers no look after the order
		kind   fault.Kind
	}{
		"it works":          {ends: "RESCUE"},
		"it is given up":    {ends: "ERROR", kind: fault.Permanent},
		"it is left":        {ends: "ACTIVE", kind: fault.Permanent},
		"its end is unseen": {ends: "RESCUE", silent: true, kind: fault.UnknownOutcome},
		"it is refused":     {ends: "RESCUE", answer: http.StatusBadRequest, kind: fault.Permanent},
		"it is too late":    {ends: "RESCUE", answer: http.StatusConflict, kind: fault.Conflict},
	} {
		play(t, 1, func(s *scene) {
			s.look(func() { s.rescued = c.ends })
			ordered := false
			s.makeTrouble(func(q *http.Request) effect {
				order := strings.HasSuffix(q.URL.Path, "/action")
				ordered = ordered || order
				e := effect{hang: c.silent && ordered && !order}
				if order && c.answer != 0 {
					e.status, e.body = c.answer, `{"refused": {"message": "because"}}`
				}
				return e
			})
			err := s.p.(provider.Rescuer).Rescue(s.Context(), s.orders[0].Ref)
			if fault.KindOf(err) != c.kind {
				s.Errorf("%s: %v, want %q", what, err, c.kind)
			}
		})
	}
}
