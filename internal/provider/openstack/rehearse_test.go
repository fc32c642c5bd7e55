package openstack_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"hale/internal/core/fault"
	"hale/internal/provider"
)

// single answers for what is asked for by its id.
func (w *twin) single() {
	known := map[string][]string{
		"image/v2/images": {twinImage}, "network/v2.0/networks": {twinNetwork},
		"compute/v2.1/os-keypairs": {"ops"},
	}
	for path, ids := range known {
		w.handle("GET /"+path+"/{id}", func(_ http.ResponseWriter, q *http.Request) (int, any) {
			for _, id := range ids {
				if q.PathValue("id") == id {
					return 200, map[string]any{"id": id}
				}
			}
			return 404, mistake("itemNotFound", 404, "not found")
		})
	}
}

// Whatever a build would lack is said at once, and no request of a rehearsal changes anything.
func TestARehearsalFindsWhatABuildWouldLack(t *testing.T) {
	t.Parallel()
	play(t, 0, func(s *scene) {
		s.makeTrouble(func(q *http.Request) effect {
			if q.Method != http.MethodGet && !strings.Contains(q.URL.Path, "/identity/") {
				s.Errorf("a rehearsal asked for %s %s", q.Method, q.URL.Path)
			}
			return effect{}
		})
		good := s.order(1)
		if err := s.p.(provider.Rehearser).Rehearse(s.Context(), good); err != nil {
			s.Errorf("what can be built: %v", err)
		}
		byID := s.order(1)
		byID.Template.Image, byID.Template.Network = twinImage, twinNetwork
		server := *byID.Template.Server
		server.Flavor, server.KeyPair = "42", "ops"
		byID.Template.Server = &server
		if err := s.p.(provider.Rehearser).Rehearse(s.Context(), byID); err != nil {
			s.Errorf("what can be built, by ids: %v", err)
		}

		bad := s.order(1)
		lost := uuid.NewString()
		bad.Template.Image, bad.Template.Network = "no-such-image", lost
		server.Flavor, server.KeyPair = "m1.vast", "lost-key"
		bad.Template.Server = &server
		err := s.p.(provider.Rehearser).Rehearse(s.Context(), bad)
		if !fault.Is(err, fault.Invalid) {
			s.Fatalf("it ended with %v", err)
		}
		for _, want := range []string{
			`there is no image "no-such-image"`,
			`there is no network "` + lost + `"`,
			`there is no flavor "m1.vast"`,
			`there is no key pair "lost-key"`,
		} {
			if !strings.Contains(err.Error(), want) {
				s.Errorf("%v does not say %s", err, want)
			}
		}
	})
}
