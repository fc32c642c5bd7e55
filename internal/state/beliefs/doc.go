// Package beliefs says where in the store lies what the owners believe of their fleets, under which keys, and reads it
// where no owner runs: for a plan, a change of the configuration, a backup. After a restore it notes that, and has the
// numbers leap that must never come twice.
//
// In the engine an owner alone writes these keys, guarded by its lease.
package beliefs
