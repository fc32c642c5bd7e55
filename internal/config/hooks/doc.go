// Package hooks reads what a fleet's hooks are, and what its new machines are provisioned with.
//
// It promises that each hook is one thing, done in one way, with a limit in time and a written answer to its failure.
package hooks
