// Package tracing weaves the journal's records into traces: one for each incident, from the first failed probe to the
// verified machine, with every call to the provider.
//
// It promises that the same records make the same spans, with the same ids, whichever process weaves them: the ids are
// hashes of what the records say, and all times are theirs. It makes up nothing: what no record says has no span. It
// sends nothing, and knows no clock.
package tracing
