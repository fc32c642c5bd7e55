package openstack

import (
	"net/http"
	"strings"

	"hale/internal/provider"
)

// abandoned ends the name of a server that Nova could not delete. The name tells people so, and also the next create of
// the machine, for which name and hardware address are free then. That create comes only with the policy
// on_delete_failure: continue. Of a server in ERROR, Nova changes only the name.
const abandoned = " (could not be deleted)"

// abandon gives the server that name.
func (c *call) abandon(s *server) {
	if strings.HasSuffix(s.Name, abandoned) {
		return
	}
	_, err := c.send(c.compute, request{
		method: http.MethodPut,
		url:    c.compute.ServiceURL("servers", s.ID),
		body:   map[string]any{"server": map[string]any{"name": s.Name + abandoned}},
		ok:     []int{http.StatusOK},
	})
	if err != nil {
		c.p.log.Warn("a server that could not be deleted keeps its name: nothing is built in its place",
			"server", s.ID, "err", err)
	}
}

// abandonedBy reports whether the server is one of the order's machine, given up before, and does not run.
func (s *server) abandonedBy(order provider.Blueprint) bool {
	mark, err := s.mark()
	ours := err == nil && mark.Installation == order.Mark.Installation && mark.Machine == order.Mark.Machine &&
		mark.Generation < order.Mark.Generation
	rests := s.Status == statusOff ||
		s.Status == statusError && (s.Power == powerNone || s.Power == powerShutdown || s.Power == powerCrashed)
	return ours && rests && s.Task == "" && s.Name == order.Name+abandoned
}

// vacate deletes the port that is in the way, if it is that of a server which was given up, and reports whether it did.
// Nova binds no port of a server that is there to another one, also when Neutron has it free.
func (c *call) vacate(order provider.Blueprint, p port) (done bool, err error) {
	if p.Device == "" {
		return false, nil
	}
	s, err := c.server(p.Device)
	if err != nil || !s.abandonedBy(order) {
		return false, nil //nolint:nilerr // the port may be in use
	}
	_, err = c.send(c.network, request{
		method: http.MethodDelete,
		url:    c.network.ServiceURL("ports", p.ID),
		ok:     []int{http.StatusNoContent},
		header: p.unchanged(),
	})
	return err == nil, c.portFault(err)
}
