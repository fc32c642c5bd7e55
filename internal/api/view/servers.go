package view

import (
	"hale/api"
	"hale/internal/probe/satellite"
	"hale/internal/state/active"
)

// Sharing translates the servers that share the state, and the vantages beside the active one.
func Sharing(is active.Server, standby []active.Server, eyes []satellite.Eye) api.Servers {
	out := api.Servers{Active: sharing(is), Standby: make([]api.SharingServer, len(standby)), Satellites: []api.Eye{}}
	for i, s := range standby {
		out.Standby[i] = sharing(s)
	}
	for _, e := range eyes {
		said := api.Eye{Name: e.Name, Since: e.Since, Heard: e.Heard, Targets: e.Targets, Silent: e.Silent,
			Unfit: e.But}
		if !e.Server {
			out.Satellites = append(out.Satellites, said)
		}
		for i, s := range standby {
			if e.Server && s.Name == e.Name {
				out.Standby[i].Eye = &said
			}
		}
	}
	return out
}

func sharing(s active.Server) api.SharingServer {
	return api.SharingServer{Name: s.Name, Version: s.Version, Since: s.Since, Unfit: s.Unfit}
}
