package owner

import (
	"hale/internal/core/fleet"
	"hale/internal/core/record"
)

// mailbox is what an owner knows of its fleet's inbox.
type mailbox struct {
	known map[fleet.OrderID]bool // told to the picture, or taken up in this term: the watch may still tell of them
	void  []void
}

// void is a letter that is no order.
type void struct {
	id  fleet.OrderID
	why string
}

func newMailbox() mailbox { return mailbox{known: map[fleet.OrderID]bool{}} }

// TellOrder takes an order in, once; again it reports false.
func (o *Owner) TellOrder(order fleet.Order) bool {
	first := o.mail.first(order.ID)
	if first {
		o.Picture.TellOrder(order)
	}
	return first
}

// TellVoid takes in that a letter in the inbox is no order, once; again it reports false. It is refused with the next
// decision.
func (o *Owner) TellVoid(id fleet.OrderID, why string) bool {
	first := o.mail.first(id)
	if first {
		o.mail.void = append(o.mail.void, void{id, why})
		o.Stir()
	}
	return first
}

func (m *mailbox) first(id fleet.OrderID) bool {
	known := m.known[id]
	m.known[id] = true
	return !known
}

// voidsAtOnce is how many letters that are no orders are put aside together, in one transaction.
const voidsAtOnce = 16

// voids returns the rulings on letters that are no orders, and the records that say so.
func (o *Owner) voids(now fleet.Now) (rulings []fleet.Ruling, records []record.Record) {
	for _, v := range o.mail.void[:min(len(o.mail.void), voidsAtOnce)] {
		rulings = append(rulings, fleet.Ruling{Order: v.id, Refused: fleet.ReasonMalformed})
		r := record.Record{Kind: record.Order, Reason: fleet.ReasonMalformed, Detail: v.why}
		records = append(records, o.About(now, r))
	}
	return rulings, records
}

// settle forgets orders that left the inbox.
func (m *mailbox) settle(rulings []fleet.Ruling, gone func(fleet.OrderID)) {
	for _, r := range rulings {
		if n := len(m.void); n > 0 && r.Order == m.void[0].id { // they are put aside in their order
			m.void = m.void[1:]
		}
		gone(r.Order)
	}
}
