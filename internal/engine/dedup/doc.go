// Package dedup has people told once of what is the same for several fleets: a provider's outage, a brake that they
// share, what failed together. The owner of the fleet that comes first claims it for all of them.
//
// It promises that a claim is made, and ends, in the transaction that stores the message: of several owners one wins.
package dedup
