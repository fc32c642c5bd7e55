package api

import "time"

// Readiness is whether hale can do all its work, and what it lacks for that.
type Readiness struct {
	Ready   bool      `json:"ready"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"`
	// Lacks are what is not ready, of what the caller may see; empty: everything is.
	Lacks []Lack `json:"lacks"`
}

// Lack is one part that is not ready.
type Lack struct {
	Part   string    `json:"part"`         // one of the Lack constants
	Of     string    `json:"of,omitempty"` // the fleet's or the provider's name
	Since  time.Time `json:"since,omitzero"`
	Reason string    `json:"reason"`           // a word of hale's
	Text   string    `json:"text"`             // the same for people
	Advice string    `json:"advice,omitempty"` // what a person can do
}

// What a Lack is about.
const (
	LackStore         = "store"         // it takes nothing
	LackFleet         = "fleet"         // hale does not act in it: it has no lease of it, or something keeps hale from it
	LackProvider      = "provider"      // it does not answer, or is not believed
	LackConfiguration = "configuration" // the one in the file was refused, and an older one runs
)
