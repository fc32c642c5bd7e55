package picture

import "math/bits"

// openSet holds the indices of the machines that are open (situation.View.Open), so that a decision does not have to
// look through all.
type openSet []uint64

func newOpenSet(size int) openSet { return make(openSet, (size+63)/64) }

func (s openSet) put(i int, open bool) {
	if open {
		s[i/64] |= 1 << (i % 64)
	} else {
		s[i/64] &^= 1 << (i % 64)
	}
}

// list appends the indices in ascending order.
func (s openSet) list(out []int) []int {
	for k, word := range s {
		for ; word != 0; word &= word - 1 {
			out = append(out, 64*k+bits.TrailingZeros64(word))
		}
	}
	return out
}

// due asks for a decision about the machine.
func (p *Picture) due(i int) {
	p.views[i].Due = true
	p.open.put(i, true)
}

// Open returns the indices of the machines that are open, ascending. It stands until the picture changes.
func (p *Picture) Open() []int {
	p.opened = p.open.list(p.opened[:0])
	return p.opened
}

// grow makes room for so many machines.
func (s *openSet) grow(size int) {
	for len(*s) < (size+63)/64 {
		*s = append(*s, 0)
	}
}
