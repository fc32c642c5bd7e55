package state

import "fmt"

// Space is how much room a store has on its disk and in its database.
type Space struct {
	Free, Total uint64 // bytes of the file system; a Total of 0: it is elsewhere, and not known
	Reserve     uint64 // below which the store takes nothing
	Used, Quota int64  // bytes of the database; a Quota of 0 is none
	Alarmed     bool   // the database itself refuses writes for lack of room
}

// Measured is implemented by a store that knows how much room it has.
type Measured interface {
	// Space returns how much room there is. An error says that it cannot be told now.
	Space() (Space, error)
}

const (
	leastRoom = 256 << 20 // above the reserve
	mostRoom  = 1 << 30   // of a tenth of a large disk
	shares    = 10
)

// Low returns why there is soon no room, long before there is none; empty: there is enough.
//
// Of the disk that is less than 256 MiB above the reserve, or less than a tenth of the file system (at most 1 GiB), or
// less than the database needs to be copied once while it is made smaller; of the database, nine tenths of its quota.
func (r Space) Low() string { return r.low(r.want(), r.Quota/shares*(shares-1)) }

// StillLow returns why there is still little room where there was: until there is clearly more.
func (r Space) StillLow() string {
	return r.low(r.want()+r.want()/shares, r.Quota/shares*(shares-2))
}

func (r Space) want() uint64 {
	return r.Reserve + max(leastRoom, min(r.Total/shares, mostRoom), uint64(max(0, r.Used)))
}

func (r Space) low(want uint64, limit int64) string {
	switch {
	case r.Alarmed:
		return "etcd has raised its quota alarm: the database takes nothing more"
	case r.Quota > 0 && r.Used > limit:
		return fmt.Sprintf("the database holds %d MiB; from %d MiB on it takes nothing more", r.Used>>20, r.Quota>>20)
	case r.Total > 0 && r.Free < want:
		return fmt.Sprintf("%d MiB of %d MiB are free; below %d MiB the store takes nothing more",
			r.Free>>20, r.Total>>20, r.Reserve>>20)
	}
	return ""
}
