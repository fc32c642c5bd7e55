// Package believing finds that the store does not know the world: it is older than what the provider shows, or another
// installation of hale was here before. It holds the fleet, or its first builds, until a person says what is true, and
// then believes the world.
//
// It promises that no generation that was ever marked is allotted again. It does not say which of the two is right.
package believing
