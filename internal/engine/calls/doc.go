// Package calls asks a provider for what was decided: its calls, commands and fences, and evidence before something is
// done.
//
// It promises that a call is sent only when the notes at the provider permit it and the lease surely covers it (L7),
// and that evidence comes within its time, or its absence with the reason.
package calls
