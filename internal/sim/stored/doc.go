// Package stored is what a simulated store holds of a fleet: what hale believes of its machines and of the whole, the
// operator's orders that wait in the inbox, and the starts of hale that it knows. Servers write it, and the judge reads
// it.
//
// It promises that what is read back went through the form in which a real store keeps it, and that a copy shares
// nothing with what it is a copy of. Who may write, it does not know: that is for the lease, in package sim.
package stored
