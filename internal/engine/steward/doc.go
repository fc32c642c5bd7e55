// Package steward watches the store that everything else relies on, and tells people of it without it: what cannot be
// written down waits in no outbox. It goes by how the engine's own writes end, and by the room that there is.
//
// It keeps in memory what it told, so that a restart in the middle of an outage tells once more.
package steward
