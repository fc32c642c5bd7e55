// Package notification hears from OpenStack's message bus, RabbitMQ, what happens to servers.
//
// It promises that it only listens. Its queue is its own, is bounded, and goes with its connection: it takes nothing
// from other readers, and nothing grows while hale is away. It never declares an exchange, since one of another kind
// than Nova's would break Nova. It reconnects by itself, and then says that everything may have changed. No body stops
// it, however broken, large or foreign. What it hears is a hint, to be confirmed by a look: notifications get lost,
// come late and twice, and a host or a guest that dies sends none. It decides nothing, and no password is in any error
// or line of the log.
package notification

import (
	"time"

	"hale/internal/core/fleet"
)

// Kind is what a notification says.
type Kind string

// The kinds.
const (
	// Everything: the listener was not there, or not all the time; anything may have happened.
	Everything  Kind = "everything"
	Stopped     Kind = "stopped" // powered off or shelved
	Started     Kind = "started" // powered on, unpaused, resumed or unshelved
	Paused      Kind = "paused"  // paused or suspended
	Deleted     Kind = "deleted" // also softly
	Failed      Kind = "failed"  // its state is ERROR, or an action on it failed
	Changed     Kind = "changed" // something else that a listing shows
	HostChanged Kind = "host"    // a compute service was enabled, disabled, forced down or up, or removed
)

// Notice is one notification, read.
type Notice struct {
	Kind     Kind
	Instance fleet.InstanceID // empty with Everything and HostChanged
	Host     string           // the compute host, as far as it is named
	Project  string           // that the instance belongs to; empty: not named
	By       Asker
	At       time.Time // by the cloud's clock; zero: not said
}

// Asker is who asked for what happened. All of it is empty when the cloud acted by itself.
type Asker struct {
	User    string // an id
	Project string // an id
	Request string // the API request's id
}
