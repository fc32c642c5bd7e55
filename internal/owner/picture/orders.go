package picture

import (
	"cmp"
	"slices"

	"hale/internal/core/fleet"
)

// ordersAtOnce is how many orders one decision takes up: what follows from them fits into one transaction.
const ordersAtOnce = 16

// TellOrder takes in an order from the inbox. One that waits already is not taken in again.
func (p *Picture) TellOrder(o fleet.Order) {
	at, waits := slices.BinarySearchFunc(p.orders, o, func(a, b fleet.Order) int { return cmp.Compare(a.ID, b.ID) })
	if waits {
		return
	}
	p.orders = slices.Insert(p.orders, at, o)
	p.dirty = true
}

// offered returns the orders that may be taken up now: one to believe the world waits until the provider was asked
// what that is like.
func (p *Picture) offered() []fleet.Order {
	if p.is.Provider.Standing != fleet.ProviderUnknown || !slices.ContainsFunc(p.orders, believes) {
		return p.orders
	}
	return slices.DeleteFunc(slices.Clone(p.orders), believes)
}

func believes(o fleet.Order) bool { return o.Believe }

// OrderSettled says that what follows from the order is stored, and the order gone.
func (p *Picture) OrderSettled(id fleet.OrderID) {
	p.orders = slices.DeleteFunc(p.orders, func(o fleet.Order) bool { return o.ID == id })
}

// Stir asks for a decision although nothing was heard.
func (p *Picture) Stir() { p.dirty = true }
