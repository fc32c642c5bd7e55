package door

import (
	"time"
)

// JoinRequest is what a server says that has an invitation.
type JoinRequest struct {
	Name, Secret string
	// Address is where the others will reach it.
	Address string
	Version string
	// Format is the newest format of the state that it reads.
	Format int
}

// JoinAnswer is what lets it be one of the cluster.
type JoinAnswer struct {
	ID, Cluster    string
	Authority, Key []byte // in PEM form
	Others         []string
	Format         int // of the state
}

// InviteRequest asks for an invitation.
type InviteRequest struct {
	Name string
	For  time.Duration
}

// Invited is the text of one, and until when it is good.
type Invited struct {
	Text    string
	Expires time.Time
}

// DismissRequest asks that the cluster lets the server go.
type DismissRequest struct{ Name, ID string }

// Standing is how a server finds itself.
type Standing struct {
	Name      string
	Version   string
	Format    int    // the newest that it reads
	Led       bool   // it hears a leader
	Applied   uint64 // entries of the log
	Committed uint64
	Free      uint64 // bytes of its disk
	Trouble   string `json:",omitempty"`
	Now       time.Time
	// Eyes are the vantages beside it, if it is the active one.
	Eyes []Eye `json:",omitempty"`
}

// Eye is a vantage beside the active server, as that one has it.
type Eye struct {
	Name   string    `json:"name"`
	Since  time.Time `json:"since,omitzero"` // since when it reports; zero: it never did
	Heard  time.Time `json:"heard"`
	Silent bool      `json:"silent,omitempty"` // it has no vote
	But    string    `json:"but,omitempty"`    // why it has none, whatever it says
}

// Servers are those of the cluster.
type Servers struct {
	Cluster  string   `json:"cluster"`
	Servers  []Server `json:"servers"`
	Majority bool     `json:"majority"` // it is in touch
	// May is how many of those that vote may be lost now, for the others to go on.
	May     int       `json:"may_be_lost"`
	Invited []Pending `json:"invited,omitempty"`
	// Unknown says why it is not known which one is active.
	Unknown string `json:"unknown,omitempty"`
}

// Server is one of the cluster.
type Server struct {
	Name    string    `json:"name"`
	Address string    `json:"address"`
	Role    string    `json:"role"`  // active, standby; empty: not known
	Vote    string    `json:"vote"`  // leader, voter, learner
	State   string    `json:"state"` // up, away, behind
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	But     string    `json:"but,omitempty"`
	Here    bool      `json:"here,omitempty"`
	// Eye is it as a vantage beside the active server; nil: it is none.
	Eye *Eye `json:"eye,omitempty"`
}

// Pending is an invitation that was not used.
type Pending struct {
	Name    string    `json:"name"`
	Expires time.Time `json:"expires"`
}
