// Package explain says why a fleet, or one machine of it, stands as it does now: the evidence behind its verdict, what
// is done about it or why nothing is, how long that still lasts, and what a person can do. It reads what the engine
// publishes; what happened before, record by record, is package prose's to tell.
package explain
