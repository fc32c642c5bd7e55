// Package probetest is the exam of every probe engine, and the scripted transport that it uses.
//
// Run takes an engine through stories inside testing/synctest bubbles: time is the bubble's, the network is a Transport
// with scripted answers. It promises to accept every engine that keeps the promises of package probe, whatever its
// inner design. It does not examine real sockets and programs: the packages that bring them test them.
package probetest
