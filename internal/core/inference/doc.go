// Package inference asks which failures have one cause, and whether that is hale's own sight: all machines and domains,
// and those of other fleets, are explained together.
//
// It promises that a domain is blamed only beyond chance (package correlation does the arithmetic), that nothing is
// blamed while hale doubts its own sight, and that a person is told of one cause once. It opens and closes parent
// incidents and doubts, and marks the machines that may share a fate; what follows for a machine is for package decide.
package inference
