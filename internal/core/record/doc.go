// Package record is the journal's vocabulary: what can happen, and for which reasons it can. Its prose is in package
// prose.
package record
