// Package sizes is what a configuration says of how many machines a fleet has: a number, or bounds, and what moves the
// size between them (fleets.FLEET.size), with what that comes to, a policy.Sizing. It promises what package config
// does.
package sizes
