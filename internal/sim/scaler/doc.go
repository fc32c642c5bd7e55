// Package scaler has the rules by which other systems choose a fleet's size, each as it is documented, to be compared
// with hale's in the same world, under the same load. None is anybody's program.
//
// It promises that a rule sees no more than its own system shows it: the mean use of the machines that serve, how many
// those are, and how many are asked for. Machines are built, healed and removed by hale whatever the rule is, so that
// only the rules differ.
package scaler
