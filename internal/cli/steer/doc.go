// Package steer has the commands of hale by which a person gives a running controller a word: orders about machines and
// fleets, changes of the configuration, fences, and messages that were not taken. Each says what became of it.
package steer
