// Package chronicle is what is kept of a run in the simulated world for those who read of it later: the trace, a line
// for each event and each record in the order in which they came, and the history, the same with every outage and every
// call that took effect, from which reports are made.
//
// It promises: equal runs give byte-identical traces; instances have short names in the order in which they are heard
// of. It judges nothing: what an outage came to, and what was wrong with a call, the judge says.
package chronicle
