package sim

import (
	"slices"

	"hale/internal/core/budget"
)

// beginSlots makes the book of slots agree with what the server believes. There is no other fleet in the simulator:
// what several owners do at once is the bubble's, and the engine's stories tell it. False: the store does not take it.
func (c *server) beginSlots(book budget.Slots) bool {
	c.own.SetSlots(book)
	claims := c.own.Claims()
	if slices.Equal(claims, book) {
		return true
	}
	c.own.SetSlots(claims)
	return c.commit(func() { c.s.store.Overall.Slots = claims }) == nil
}
