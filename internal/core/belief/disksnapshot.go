package belief

import (
	"slices"
	"time"

	"hale/internal/core/fleet"
)

// DiskSnapshot is a copy of an instance's disks that outlives it. It is written down before it is begun, so that
// whatever becomes of it, it is found and removed in the end.
type DiskSnapshot struct {
	ID         fleet.SnapshotID
	Instance   fleet.InstanceID
	Generation fleet.Generation
	Host       fleet.HostName
	Incident   string
	// At is when it was begun, and then when it was whole; Whole says that it is.
	At    time.Time
	Whole bool   `json:",omitempty"`
	Where string `json:",omitempty"` // what a person finds it by, as the provider says
	Bytes uint64 `json:",omitempty"` // that it takes
	// One that is not whole may go when the last call for it cannot take effect any more.
	Leaving
}

// IsWhole reports whether the copy is whole, and lies on the host.
func (m *Machine) IsWhole(id fleet.SnapshotID, host fleet.HostName) bool {
	at := m.SnapshotAt(id)
	return at >= 0 && m.Snapshots[at].Whole && m.Snapshots[at].Host == host
}

// SnapshotAt returns the index of the copy with the id, or -1.
func (m *Machine) SnapshotAt(id fleet.SnapshotID) int {
	return slices.IndexFunc(m.Snapshots, func(d DiskSnapshot) bool { return d.ID == id })
}

// Copied reports whether there is a whole copy of the machine's instance that was made in its incident.
func (m *Machine) Copied() bool {
	return m.Incident != nil && slices.ContainsFunc(m.Snapshots, func(d DiskSnapshot) bool {
		return d.Whole && d.Instance == m.Current.ID && d.Incident == m.Incident.ID
	})
}

// Outdate lets go of the oldest whole copies beyond so many.
func (m *Machine) Outdate(keep int, now fleet.Now) {
	for i := len(m.Snapshots) - 1; i >= 0; i-- { // the youngest first
		d := &m.Snapshots[i]
		if !d.Whole {
			continue
		}
		if keep--; keep < 0 && !now.Reached(d.Until) {
			d.Until, d.Ends = now.Wall, now.Mono
		}
	}
}
