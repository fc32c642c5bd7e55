package fleet

// SnapshotID names one copy of an instance's disks. It is given before the copy is begun, and never used again for the
// machine.
type SnapshotID string

// SnapshotName is where the provider finds a copy of an instance's disks.
type SnapshotName struct {
	Installation Installation
	Machine      MachineName
	Host         HostName
	ID           SnapshotID
}

// Copy is what the provider says of a copy that is whole.
type Copy struct {
	Where string
	Bytes uint64
}
