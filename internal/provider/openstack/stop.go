package openstack

import (
	"errors"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

var errNoID = errors.New("this is no instance id")

var (
	errRebuild = errors.New("nova could not rebuild it")
	errDelete  = errors.New("nova could not delete it")
)

// stopSeen is who stopped a server, as found out for one version of it.
type stopSeen struct {
	updated, status string
	by              fleet.Stop
}

// mostStops bounds what is remembered; it is found out again when it is needed.
const mostStops = 10000

// stoppable reports whether the server's state allows that it was stopped.
func stoppable(s *server, power fleet.Power) bool {
	return power == fleet.PowerOff || power == fleet.PowerPaused || s.Status == statusSoftDeleted
}

// stopOf says who turned the server off or paused it. Nova keeps a list of requests and their users: an entry "stop"
// without a user is Nova's own, after the machine had ended by itself. Nova does not know whether the guest powered it
// off or its process died.
func (c *call) stopOf(s *server, power fleet.Power) (fleet.Stop, error) {
	switch {
	case s.Status == statusError && power == fleet.PowerOff:
		return fleet.StopCrash, nil // it never stood
	case s.Status == statusRescue:
		return fleet.StopRescue, nil
	case s.Status == statusSuspended, s.Status == "SHELVED", s.Status == "SHELVED_OFFLOADED",
		s.Status == statusSoftDeleted:
		return fleet.StopExternal, nil // nothing but a request leads there
	case power != fleet.PowerOff && power != fleet.PowerPaused:
		return fleet.StopUnknown, nil
	}
	c.p.mu.Lock()
	seen, ok := c.p.stops[s.ID]
	c.p.mu.Unlock()
	// While Nova is at work on it, as in a delete, it changes without being stopped anew.
	if ok && seen.status == s.Status && (seen.updated == s.Updated || s.Task != "") {
		return seen.by, nil
	}
	by, err := c.askStop(s)
	if err != nil {
		return fleet.StopUnknown, err
	}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if len(c.p.stops) >= mostStops {
		clear(c.p.stops)
	}
	c.p.stops[s.ID] = stopSeen{s.Updated, s.Status, by}
	return by, nil
}

// action is something that was done to a server.
type action struct {
	Action string `json:"action"`
	User   string `json:"user_id"`
}

// askStop reads the newest of the server's actions that decides what it does now. They come newest first.
func (c *call) askStop(s *server) (fleet.Stop, error) {
	var got struct {
		Actions *rows[action] `json:"instanceActions"`
	}
	err := c.get(c.compute, c.compute.ServiceURL("servers", s.ID, "os-instance-actions"), &got)
	switch {
	case fault.Is(err, fault.NotFound), fault.Is(err, fault.Unauthorised):
		return fleet.StopUnknown, nil // it went while we asked, or the cloud keeps it to itself
	case err != nil:
		return fleet.StopUnknown, err
	case got.Actions == nil:
		return fleet.StopUnknown, c.fault(fault.Transient, errors.New("nova's answer has no actions"))
	}
	for _, a := range *got.Actions {
		switch a.Action {
		case "stop", "pause", "suspend":
			if a.User == "" {
				return fleet.StopCrash, nil
			}
			return fleet.StopExternal, nil
		case "create", "start", "reboot", "unpause", "resume", "unshelve", "unrescue", "restore":
			if s.Status == statusPaused {
				return fleet.StopUnknown, nil
			}
			return fleet.StopCrash, nil // it ran, and no request turned it off
		}
	}
	return fleet.StopUnknown, nil
}
