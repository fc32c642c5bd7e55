// Package updates is what a configuration says of how another template goes through a fleet (fleets.FLEET.update), with
// what that comes to, a policy.Update. It promises what package config does.
package updates
