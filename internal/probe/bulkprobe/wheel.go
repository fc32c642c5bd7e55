package bulkprobe

import "math/bits"

const (
	// wheelSlots is the number of slots, a power of two. What is due beyond them waits in the last one, and is put off
	// from there.
	wheelSlots = 4096
	none       = int32(-1)
)

// link chains a target into a slot: prev and next are the numbers of targets, plus one. A target that is first in its
// slot has the slot's place there, negative and less one; the zero link is that of a target that is in no slot.
type link struct{ prev, next int32 }

// wheel holds targets by when something is to be done about them, in slots of one width. It has neither clock nor
// targets: time is an argument, and the links lie side by side, so that few of them have to be fetched where many
// targets lie between.
type wheel struct {
	width int64 // of a slot, in nanoseconds
	done  int64 // the number of the last slot that was begun
	first [wheelSlots]int32
	taken [wheelSlots / 64]uint64 // a bit for each slot with something in it
	links slab[link]
}

func newWheel(width int64) *wheel {
	w := &wheel{width: width}
	for i := range w.first {
		w.first[i] = none
	}
	return w
}

// put enters target i, which is in no slot, for the first slot that begins at or after at and was not begun yet.
func (w *wheel) put(i int32, at int64) {
	slot := (at + w.width - 1) / w.width
	slot = min(max(slot, w.done+1), w.done+wheelSlots-1)
	place := int32(slot & (wheelSlots - 1))
	head := w.first[place]
	w.links.reach(i)
	*w.links.at(i) = link{prev: -1 - place, next: head + 1}
	if head != none {
		w.links.at(head).prev = i + 1
	}
	w.first[place] = i
	w.taken[place/64] |= 1 << (place % 64)
}

// take removes the target from its slot, if it is in one.
func (w *wheel) take(i int32) {
	if i >= w.links.used {
		return
	}
	l := w.links.at(i)
	if l.prev == 0 {
		return
	}
	if l.next != 0 {
		w.links.at(l.next - 1).prev = l.prev
	}
	if l.prev > 0 {
		w.links.at(l.prev - 1).next = l.next
	} else {
		place := -1 - l.prev
		w.first[place] = l.next - 1
		if l.next == 0 {
			w.taken[place/64] &^= 1 << (place % 64)
		}
	}
	*l = link{}
}

// pop removes and returns a target from the slots that have begun at now; none when they are empty. What a caller puts
// in meanwhile lies in later ones.
func (w *wheel) pop(now int64) int32 {
	last := now / w.width
	for {
		if i := w.first[w.done&(wheelSlots-1)]; i != none {
			w.take(i)
			return i
		}
		next := w.following()
		if next > last {
			w.done = max(w.done, last)
			return none
		}
		w.done = next
	}
}

// next returns when the next slot with something in it begins, in nanoseconds. It is far away when there is none.
func (w *wheel) next() int64 {
	slot := w.following()
	if slot == never {
		return never
	}
	return slot * w.width
}

// never is an instant that does not come.
const never = int64(1) << 62

// following returns the number of the first slot after done that has something in it.
func (w *wheel) following() int64 {
	const words = int64(len(w.taken))
	from := w.done + 1
	for k := int64(0); k <= words; k++ {
		word := (from/64 + k) & (words - 1)
		b := w.taken[word]
		switch k {
		case 0:
			b &= ^uint64(0) << (from % 64)
		case words:
			b &= 1<<(from%64) - 1
		}
		if b != 0 {
			slot := (from/64+k)*64 + int64(bits.TrailingZeros64(b))
			return slot
		}
	}
	return never
}
