// Package round is one round of a fleet, as a chart is one machine in it: the situation that is judged, what was found
// of the whole so far, what was written down, and what follows. The subjects of the judgement (packages ledger,
// proving, inference, orders, telling and others) read and write it in the order that package decide gives them.
//
// It promises that a record of the whole, and what became of an order, is complete. It judges nothing.
package round
