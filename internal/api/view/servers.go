package view

import (
	"hale/api"
	"hale/internal/state/active"
)

// SharingServer translates a server of those that share the state.
func SharingServer(s active.Server) api.SharingServer {
	return api.SharingServer{Name: s.Name, Version: s.Version, Since: s.Since, Unfit: s.Unfit}
}
