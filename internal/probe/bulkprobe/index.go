package bulkprobe

import "hale/internal/probe"

// index finds records by ID. It is a hash table of record numbers, which takes an eighth of what a map of IDs would.
type index struct {
	records *slab[record]
	checks  *checkNames
	table   []int32 // record+1; 0 is free, and gone was used
	used    int     // places of the table that are not free
	live    int
}

const gone = int32(-1)

func (x *index) find(id probe.ID) int32 {
	if len(x.table) == 0 {
		return none
	}
	mask := x.mask()
	for h := share(id); ; h++ {
		switch at := x.table[h&mask]; {
		case at == 0:
			return none
		case at != gone && x.idOf(at-1) == id:
			return at - 1
		}
	}
}

// add enters a record with an ID that the index does not have.
func (x *index) add(i int32) {
	if (x.used+1)*8 > len(x.table)*7 {
		x.rebuild()
	}
	x.live++
	x.place(i)
}

func (x *index) place(i int32) {
	mask := x.mask()
	for h := share(x.idOf(i)); ; h++ {
		if x.table[h&mask] == 0 {
			x.table[h&mask] = i + 1
			x.used++
			return
		}
	}
}

func (x *index) rebuild() {
	size := 64
	for size*3 < (x.live+1)*4 {
		size *= 2
	}
	old := x.table
	x.table, x.used = make([]int32, size), 0
	for _, at := range old {
		if at > 0 {
			x.place(at - 1)
		}
	}
}

// remove forgets a record that is in it.
func (x *index) remove(i int32) {
	mask := x.mask()
	for h := share(x.idOf(i)); ; h++ {
		if x.table[h&mask] == i+1 {
			x.table[h&mask] = gone
			x.live--
			return
		}
	}
}

func (x *index) idOf(i int32) probe.ID { return x.checks.idOf(x.records.at(i)) }

func (x *index) mask() uint64 { return uint64(len(x.table) - 1) } //nolint:gosec // never empty here
