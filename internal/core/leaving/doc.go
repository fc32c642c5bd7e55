// Package leaving chooses which machines of a fleet go when it is to have fewer.
//
// It promises to take first what is lost least: a machine without an instance, and then by the fleet's rules in their
// order; to keep the numbers of machines in domains even where that is asked for; within bounds, never to leave fewer
// healthy machines than the fleet is to have at least, nor to take the last one of a domain while another domain has
// more; and to say of each why it is that one. It does not say how many go, nor whether any may go now.
package leaving
