// Package spares says which machines of a fleet serve, and which stand by: a spare is a machine of the fleet like any
// other, and who serves is a role that the ledger keeps.
//
// It promises that a place goes only from a machine that cannot serve to one that is known to be well; that as many
// machines serve as are asked for, where there are so many; and that no machine changes its role without need. It
// destroys nothing: whoever gave its place away is repaired, or built, as before.
package spares
