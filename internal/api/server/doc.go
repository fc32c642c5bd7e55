// Package server answers the calls of package api in a running controller, and opens the socket for them.
//
// It promises a socket that only its owner may open, unless a group of readers is named, who may then read; and that
// the server ends with its context, streams included.
//
// It acts on no machine: it stores an order in the inbox of its fleet, and the fleet's owner decides what follows. It
// names as the giver the user that the kernel reports for the other end of the socket.
package server
