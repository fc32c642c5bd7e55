// Package proving keeps the book of what each check was ever seen to do: one that succeeded on no machine of the fleet
// since it was made or edited proves nothing, and its failures count for nothing. It may be the check that is wrong.
//
// It promises that a person is told of such a check once, when hale had the time to see it succeed (L8).
package proving
