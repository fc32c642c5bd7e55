package openstack

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
)

// server is what Nova tells of one, as far as hale reads it.
type server struct {
	ID        string               `json:"id"`
	Name      string               `json:"name"`
	Status    string               `json:"status"`
	Project   string               `json:"tenant_id"`
	Updated   string               `json:"updated"`
	Metadata  map[string]string    `json:"metadata"`
	Tags      []string             `json:"tags"`
	Addresses map[string][]address `json:"addresses"`
	Image     imageRef             `json:"image"`
	Flavor    flavor               `json:"flavor"`
	Volumes   []struct {
		ID   string `json:"id"`
		Goes bool   `json:"delete_on_termination"` // with the server
	} `json:"os-extended-volumes:volumes_attached"`
	Task      string `json:"OS-EXT-STS:task_state"`
	Power     int    `json:"OS-EXT-STS:power_state"`
	Launched  string `json:"OS-SRV-USG:launched_at"`
	Host      string `json:"OS-EXT-SRV-ATTR:host"` // shown to administrators only, as what follows
	HostState string `json:"host_status"`
	Fault     struct {
		Message string `json:"message"`
	} `json:"fault"`
}

// imageRef is the id of the image that a server was made from: Nova gives an object, or, where the server's disk is a
// volume, an empty text.
type imageRef string

// UnmarshalJSON implements json.Unmarshaler.
func (r *imageRef) UnmarshalJSON(data []byte) error {
	var object item
	if len(data) > 0 && data[0] == '{' {
		err := json.Unmarshal(data, &object)
		*r = imageRef(object.ID)
		return err
	}
	return json.Unmarshal(data, (*string)(r))
}

type address struct {
	Address string `json:"addr"`
	Kind    string `json:"OS-EXT-IPS:type"` // fixed or floating
}

// Nova's words.
const (
	statusActive      = "ACTIVE"
	statusBuild       = "BUILD"
	statusDeleted     = "DELETED"
	statusError       = "ERROR"
	statusPaused      = "PAUSED"
	statusRescue      = "RESCUE"
	statusResized     = "VERIFY_RESIZE" // and to be confirmed
	statusSuspended   = "SUSPENDED"
	statusOff         = "SHUTOFF"
	statusSoftDeleted = "SOFT_DELETED"

	taskPoweringOff = "powering-off"
	taskPoweringOn  = "powering-on"

	// Power states, as the hypervisor gave them last.
	powerNone     = 0
	powerShutdown = 4
	powerCrashed  = 6
)

// id returns the id under which hale knows the server: its own where hale made it, else Nova's.
func (s *server) id() fleet.InstanceID {
	if own := s.Metadata[keyID]; own != "" && s.marked() {
		return fleet.InstanceID(own)
	}
	return fleet.InstanceID(s.ID)
}

// gone reports whether the server is deleted. One that is being deleted is still there, and may run.
func (s *server) gone() bool { return s.Status == statusDeleted }

// ended reports whether the server is called active and has ended by itself: Nova heard so from the hypervisor, and is
// about to stop it. It starts nothing until then.
func (s *server) ended() bool {
	return s.Status == statusActive && (s.Power == powerCrashed || s.Power == powerShutdown && s.Task == "")
}

// power translates Nova's status. What is between two states, or is not known, is fleet.PowerUnknown.
func (s *server) power() fleet.Power {
	switch s.Status {
	case statusActive:
		if s.ended() {
			return fleet.PowerUnknown // between two states: what would be done to it meanwhile is not what it needs
		}
		return fleet.PowerRunning
	case "REBOOT", "HARD_REBOOT", "PASSWORD", "MIGRATING":
		return fleet.PowerRunning
	case statusResized:
		if s.Power == powerShutdown { // it is off again once that is confirmed
			return fleet.PowerUnknown
		}
		return fleet.PowerRunning
	case statusOff:
		if s.Task == taskPoweringOn { // it was let run, and is no failure any more
			return fleet.PowerUnknown
		}
		return fleet.PowerOff
	case "SHELVED", "SHELVED_OFFLOADED", statusSoftDeleted:
		return fleet.PowerOff
	case statusPaused, statusSuspended, statusRescue: // a rescued one runs another system in its place
		return fleet.PowerPaused
	case statusError:
		// One that was never launched has nothing that could run.
		if s.Launched == "" && (s.Power == powerNone || s.Power == powerShutdown) {
			return fleet.PowerOff
		}
		return fleet.PowerError
	}
	return fleet.PowerUnknown // BUILD, REBUILD, RESIZE, REVERT_RESIZE, UNKNOWN
}

// networkName returns the name of the first interface's network: the one that the mark names, else the first by name.
func (s *server) networkName() string {
	if n := s.Metadata[keyNetwork]; n != "" && s.marked() {
		return n
	}
	names := make([]string, 0, len(s.Addresses))
	for n := range s.Addresses {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// address returns where the server answers: a floating address before a fixed one, and version 4 before 6.
func (s *server) address() netip.Addr {
	best, rank := netip.Addr{}, 0
	for _, a := range s.Addresses[s.networkName()] {
		addr, err := netip.ParseAddr(a.Address)
		if err != nil {
			continue
		}
		r := 1
		if addr.Is4() {
			r++
		}
		if a.Kind == "floating" {
			r += 2
		}
		if r > rank {
			best, rank = addr, r
		}
	}
	return best
}

// describe translates a server.
func (c *call) describe(s *server) (fleet.Instance, error) {
	i := c.sketch(s)
	var err error
	if stoppable(s, i.Power) {
		i.Stop, err = c.stopOf(s, i.Power)
	}
	return i, err
}

// sketch translates what the server itself says, which is all but who stopped it. A damaged mark proves nothing, so
// such a server is a stranger's.
func (c *call) sketch(s *server) fleet.Instance {
	mark, err := s.mark()
	if err != nil {
		mark = fleet.Mark{}
	}
	i := fleet.Instance{
		ID: s.id(), Name: s.Name, Power: s.power(), Address: s.address(), Network: s.networkName(), Mark: mark,
		Metadata: s.others(), Tags: fleet.TagsOf(s.otherTags()), Size: s.size(),
	}
	if c.p.options.Hypervisors {
		i.Host = fleet.HostName(s.Host)
	}
	return i
}

// otherTags are the tags that are not hale's own.
func (s *server) otherTags() []string {
	return slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool {
		return s.marked() && tag == tagPrefix+string(s.id())
	})
}

// others is the metadata that is not hale's own.
func (s *server) others() fleet.Metadata {
	texts := map[string]string{}
	for key, value := range s.Metadata {
		if !strings.HasPrefix(key, ownKeys) {
			texts[key] = value
		}
	}
	return fleet.MetadataOf(texts)
}

// parseID refuses what cannot be the id of an instance, before it becomes part of an address.
func (c *call) parseID(id fleet.InstanceID) error {
	if id == "" || strings.ContainsFunc(string(id), func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && r != '-'
	}) {
		return c.fault(fault.Invalid, errNoID)
	}
	return nil
}
