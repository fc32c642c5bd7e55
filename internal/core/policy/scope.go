package policy

// SharedBrake is a brake of several fleets: of all on a provider, or of all that there are.
type SharedBrake struct {
	Scope  ScopeKind // ScopeInstallation or ScopeProvider
	Policy Brake
}

// ScopeKind says what a shared budget is about.
type ScopeKind string

// The scopes that fleets share.
const (
	ScopeInstallation ScopeKind = "installation"
	ScopeProvider     ScopeKind = "provider"
	ScopeHost         ScopeKind = "host" // of the provider, as all below
	ScopeRack         ScopeKind = "rack"
	ScopeRoom         ScopeKind = "room"
	ScopeZone         ScopeKind = "zone"
)

// SharedLimit bounds the machines in repair at once in each scope of a kind.
type SharedLimit struct {
	Scope    ScopeKind
	InRepair int
}

// StartLimits bound how many machines that are off are started at once, of all fleets: when a host or a rack is
// back, its machines are not all to boot in one moment.
func StartLimits() []SharedLimit {
	return []SharedLimit{{ScopeHost, 8}, {ScopeProvider, 40}, {ScopeInstallation, 80}}
}
