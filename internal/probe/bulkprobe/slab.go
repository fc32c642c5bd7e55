package bulkprobe

const (
	pageBits = 10
	pageSize = 1 << pageBits
)

// slab is an array that grows without moving: an item's address and index stay the same as long as it is in use.
type slab[T any] struct {
	pages [][]T
	used  int32 // items ever in use
}

func (s *slab[T]) at(i int32) *T { return &s.pages[i>>pageBits][i&(pageSize-1)] }

// reach makes room for index i.
func (s *slab[T]) reach(i int32) {
	for int(i) >= len(s.pages)*pageSize {
		s.pages = append(s.pages, make([]T, pageSize))
	}
	s.used = max(s.used, i+1)
}

// keptRoom is how many items a list that is emptied and filled in turns keeps room for: what came at once, as when a
// fleet begins, is not kept for ever.
const keptRoom = 512

// emptied returns the list without its items, for the next turn.
func emptied[T any](list []T) []T {
	if cap(list) > keptRoom {
		return nil
	}
	clear(list)
	return list[:0]
}

// places hands out indexes, those that were given back first.
type places struct {
	free []int32
	next int32
}

func (p *places) get() int32 {
	if n := len(p.free); n > 0 {
		i := p.free[n-1]
		p.free = p.free[:n-1]
		return i
	}
	p.next++
	return p.next - 1
}

func (p *places) put(i int32) { p.free = append(p.free, i) }
