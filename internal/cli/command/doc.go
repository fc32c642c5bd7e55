// Package command is what the commands of hale share: the program that they speak for, where its state and its socket
// are, how the configuration is found and read, what a shell completes, and the errors by which hale's exit code is
// chosen.
package command
