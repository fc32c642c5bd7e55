// Package verbs is the table of what can happen in the simulated world: each verb as scenario files write it, what it
// happens to, what it takes, what it does, and what ends it. A new one costs a row.
package verbs
