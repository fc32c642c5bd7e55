// Package belief is what hale believes: of a machine with its repair, incident and remains, and of the fleet as a whole
// with ledger, brake and holds. It is stored. A new owner goes on from it (Restart), and Machine.Check refuses what
// breaks a law.
package belief
