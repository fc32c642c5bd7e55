// Package notes keeps what hale notes at a provider's, beside the machines and out of the store's reach: the starts of
// its engines (Roll), by which a copy of a store or an old one is found out, and its claims on adopted instances
// (Adopters), by which two installations that select the same machines do.
//
// It promises that a call is permitted only by what was read after it was asked for, or as far as nothing can be read,
// by what was read last (L1). What follows from the notes of others is for package owner and the core.
package notes
