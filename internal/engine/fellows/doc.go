// Package fellows is what the fleets that one engine looks after learn of each other: who is heard near a silent
// machine, how the machines fare that lie in one place, and how many fail for the brakes that fleets share. Fleets that
// another server looks after are not in it.
//
// It promises that what an owner shows counts for no more than is certain once the owner has not looked at its probes
// of late (Late).
package fellows
