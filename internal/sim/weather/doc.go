// Package weather makes failures for a simulated fleet: when a machine fails, for how long, and when many fail at once.
//
// # Why not exponential gaps
//
// Machines that fail at a constant rate have exponential gaps between their failures, and failures then come evenly
// spread. Measured machines do not behave like that: in every published fit listed here ([Fits]) the gaps follow a
// Weibull distribution of a shape below 1, which means that a machine that has just failed is the likeliest to fail
// again, and failures come in clusters with long quiet between them. And machines do not fail independently of each
// other. A generator of exponential gaps alone under-tests just what hurts: repeated repairs of one machine, and many
// failures within minutes. So gaps here are Weibull ([Process]), and storms over a part of the fleet ([Season]) come on
// top.
//
// # Promises
//
// Everything is decided by a seed: the same seed gives the same failures, machine by machine, and one machine's
// failures do not depend on how many others there are. Times are whole microseconds and come in order. No clock is read
// and nothing is kept between calls. A processor whose math functions differ in the last bit gives the same times but
// for the rare one that lies on the edge of a microsecond.
//
// The package does not say what a failure is: whether a process, a machine or its host goes is for the caller to
// choose.
package weather
