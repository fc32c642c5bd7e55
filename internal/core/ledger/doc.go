// Package ledger follows what people want the fleet to be: how many machines it has, from which template they are
// built, and which of them are to go.
//
// It promises that what destroys nothing is in force at once, and that the rest waits for a person's word on exactly
// what it would destroy (package change says what that is); that a new template is tried by as few machines as the
// policy says before the others follow; and that the last word counts, the file's or a person's. It touches no machine:
// those that are to change are opened, and package decide begins the work.
package ledger
