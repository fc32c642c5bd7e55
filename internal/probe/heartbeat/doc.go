// Package heartbeat is where machines report by themselves, for heartbeat checks: Receiver takes the reports in by
// HTTP, and Register keeps, for one fleet's probe engine, when each target was heard last.
//
// It promises (L4) that only a silence in which hale listened is a machine's failure. Receiver tests itself all the
// time, over the network as the machines do. While it does not hear itself, or was held up, no silence counts as a
// failure, and neither does an interval that began before it heard itself again. A machine that was never heard is
// unknown for as long as would make it down, and begins anew with each instance and epoch.
//
// However many strangers come, from however many addresses, the places of machines are not theirs. Where each machine
// has a token of its own, none can report another; where they share one, what a machine reports is only as true as all
// machines of its fleet are honest, and the judgement knows that.
//
// It does not count, and does not decide what a silence means: that is the probe engine's affair. It keeps no token,
// and no beat but the last.
package heartbeat
