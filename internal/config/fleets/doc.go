// Package fleets is what a configuration says of its fleets: the keys under fleets.FLEET, with their defaults and
// documentation, and what they come to, a policy.Spec.
//
// It promises what package config does, which reads the rest and says what is around a fleet (Around): all problems at
// once, each with its place and a way out. The tables say which keys there are; the other files judge them, a subject
// each.
package fleets
