package openstack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"hale/internal/core/policy"
	"hale/internal/provider"
	"hale/internal/provider/providertest"
)

const twinExternal = "6e9d7a3c-0000-4000-8000-000000000003"

// twinFloating is an address of an external network.
type twinFloating struct {
	ID          string  `json:"id"`
	Address     string  `json:"floating_ip_address"`
	Network     string  `json:"floating_network_id"`
	Port        *string `json:"port_id"`
	Description string  `json:"description"`
	Revision    int     `json:"revision_number"`
	Created     string  `json:"created_at"`
}

func (f *twinFloating) leadsTo(port string) bool { return f.Port != nil && *f.Port == port }

func (w *twin) serveFloating() {
	w.handle("GET /network/v2.0/floatingips", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		v := q.URL.Query()
		found := []*twinFloating{}
		for _, f := range w.addrs {
			if v.Has("description") && v.Get("description") != f.Description ||
				v.Has("port_id") && !f.leadsTo(v.Get("port_id")) {
				continue
			}
			found = append(found, f)
		}
		return 200, map[string]any{"floatingips": found}
	})
	w.handle("POST /network/v2.0/floatingips", func(_ http.ResponseWriter, q *http.Request) (int, any) {
		f, refusal := w.readFloating(q, &twinFloating{})
		switch {
		case refusal != nil:
			return 404, refusal
		case f.Network != twinExternal:
			return 400, neutron("BadRequest", "Network "+f.Network+" is not a valid external network")
		case f.Port != nil && w.hasAddress(*f.Port, f.Network):
			return 409, neutron("FloatingIPPortAlreadyAssociated",
				"Cannot associate floating IP with port "+*f.Port+
					", as that fixed IP already has a floating IP on external network "+f.Network)
		case len(w.addrs) >= w.mostAddrs:
			return 409, neutron("OverQuota", "Quota exceeded for resources: ['floatingip'].")
		}
		w.allotted++
		f.ID, f.Address = uuid.NewString(), fmt.Sprintf("172.24.0.%d", w.allotted)
		f.Created = time.Now().UTC().Format(time.RFC3339)
		w.addrs[f.ID] = f
		return 201, map[string]any{"floatingip": f}
	})
	w.handle("PUT /network/v2.0/floatingips/{id}", w.withFloating(func(f *twinFloating, q *http.Request) (int, any) {
		changed, refusal := w.readFloating(q, f)
		if refusal != nil {
			return 404, refusal
		}
		changed.Revision++
		*f = *changed
		return 200, map[string]any{"floatingip": f}
	}))
	w.handle("DELETE /network/v2.0/floatingips/{id}", w.withFloating(func(f *twinFloating, _ *http.Request) (int, any) {
		delete(w.addrs, f.ID)
		return 204, nil
	}))
}

func (w *twin) hasAddress(port, network string) bool {
	for _, f := range w.addrs {
		if f.leadsTo(port) && f.Network == network {
			return true
		}
	}
	return false
}

// readFloating returns the address as the request wants it. Where no router leads from a port to the network, Neutron
// calls that not found.
func (w *twin) readFloating(q *http.Request, was *twinFloating) (*twinFloating, any) {
	var body struct {
		Floating twinFloating `json:"floatingip"`
	}
	body.Floating = *was
	body.Floating.Port = nil
	if err := json.NewDecoder(q.Body).Decode(&body); err != nil {
		return nil, neutron("HTTPBadRequest", err.Error())
	}
	f := &body.Floating
	switch {
	case f.Port != nil && w.ports[*f.Port] == nil:
		return nil, neutron("PortNotFound", "Port "+*f.Port+" could not be found.")
	case f.Port != nil && w.noRouter:
		return nil, neutron("ExternalGatewayForFloatingIPNotFound",
			"External network "+f.Network+" is not reachable from subnet s.")
	}
	return f, nil
}

func (w *twin) withFloating(
	do func(*twinFloating, *http.Request) (int, any),
) func(http.ResponseWriter, *http.Request) (int, any) {
	return func(_ http.ResponseWriter, q *http.Request) (int, any) {
		f := w.addrs[q.PathValue("id")]
		if f == nil {
			return 404, neutron("FloatingIPNotFound", "Floating IP "+q.PathValue("id")+" could not be found")
		}
		if want, ok := strings.CutPrefix(q.Header.Get("If-Match"), "revision_number="); ok &&
			want != strconv.Itoa(f.Revision) {
			return 412, neutron("RevisionNumberConstraintFailed", "Constrained to "+want)
		}
		return do(f, q)
	}
}

// unbind lets the addresses of a port that is gone lead nowhere.
func (w *twin) unbind(port string) {
	for _, f := range w.addrs {
		if f.leadsTo(port) {
			f.Port = nil
			f.Revision++
		}
	}
}

// addressesOf is what Nova shows of the port.
func (w *twin) addressesOf(p *twinPort) []any {
	out := []any{
		map[string]any{"version": 4, "addr": fmt.Sprintf("10.1.%d.%d", p.n/250, p.n%250+1), "OS-EXT-IPS:type": "fixed"},
	}
	for _, f := range w.addrs {
		if f.leadsTo(p.ID) {
			out = append(out, map[string]any{"version": 4, "addr": f.Address, "OS-EXT-IPS:type": "floating"})
		}
	}
	return out
}

func (h harness) Addressed() policy.Template {
	t := h.Template()
	t.Server = &policy.Server{Flavor: "m1.nano", FloatingIP: "public"}
	return t
}

func (h harness) Addresses(_ providertest.T, o provider.Blueprint) []string {
	var found []string
	h.look(func() {
		for _, f := range h.addrs {
			if strings.Contains(f.Description, string(o.Mark.Installation)) &&
				strings.Contains(f.Description, string(o.Mark.Machine)) {
				found = append(found, f.Address)
			}
		}
	})
	slices.Sort(found)
	return found
}
