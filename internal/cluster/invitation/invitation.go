// Package invitation is what a person carries to a server that is to join a cluster: where the cluster is, how it is
// known, and a secret that lets one server in, once, for a while.
//
// It promises that what is stored of an invitation lets nobody in, and that a text that was cut or mixed up on the way
// is told from one that has ended.
package invitation

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"
)

// Prefix begins the text of every invitation.
const Prefix = "hale-invitation-"

// Invitation lets a server of one name join one cluster.
type Invitation struct {
	Name      string    `json:"name"`      // of the server that may join
	Cluster   string    `json:"cluster"`   // its id
	At        []string  `json:"at"`        // where its servers are reached
	Authority string    `json:"authority"` // the fingerprint of who signs its certificates
	Secret    string    `json:"secret"`
	Expires   time.Time `json:"expires"` // by the clock of who invites
}

// Kept is what the cluster keeps of an invitation.
type Kept struct {
	Hash    string
	Expires time.Time
}

// NewSecret makes the secret of an invitation.
func NewSecret() string { return rand.Text() + rand.Text() }

// Keep is what is stored of it.
func (i Invitation) Keep() Kept { return Kept{Hash: hashOf(i.Secret), Expires: i.Expires} }

// ErrUnknown is why a server is not let in: the cluster has no such invitation, or no more.
var ErrUnknown = errors.New("the cluster knows of no such invitation: it was used, another one for the same name " +
	"took its place, or the server was never invited; make a new one with hale server invite")

// Opens is nil if the secret is the kept invitation's, and it has not ended.
func (k Kept) Opens(secret string, now time.Time) error {
	if subtle.ConstantTimeCompare([]byte(hashOf(secret)), []byte(k.Hash)) != 1 {
		return ErrUnknown
	}
	if !now.Before(k.Expires) {
		return ended(k.Expires, now)
	}
	return nil
}

func ended(at, now time.Time) error {
	return fmt.Errorf("the invitation ended at %s, and it is %s here: make a new one with hale server invite; if this "+
		"clock is wrong, set it right first", at.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// String is the text that a person carries. It is a secret.
func (i Invitation) String() string {
	data, _ := json.Marshal(i) //nolint:gosec // of strings and a time; the secret is what it is about
	sum := crc32.ChecksumIEEE(data)
	return fmt.Sprintf("%s%s-%08x", Prefix, base64.RawURLEncoding.EncodeToString(data), sum)
}

// errCut is what a text is that is no invitation any more.
var errCut = errors.New("the invitation is not whole: copy it again, from hale-invitation- to its end")

// Parse reads the text. Its errors do not repeat it.
func Parse(text string) (Invitation, error) {
	body, is := strings.CutPrefix(strings.TrimSpace(text), Prefix)
	if !is {
		return Invitation{}, errors.New("this is no invitation: hale server invite, on a server of the cluster, " +
			"makes one")
	}
	at := strings.LastIndexByte(body, '-')
	if at < 0 {
		return Invitation{}, errCut
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(body[:at])
	if err != nil || fmt.Sprintf("%08x", crc32.ChecksumIEEE(data)) != body[at+1:] {
		return Invitation{}, errCut
	}
	var i Invitation
	if err := json.Unmarshal(data, &i); err != nil {
		return Invitation{}, errCut
	}
	if i.Name == "" || i.Secret == "" || i.Authority == "" || len(i.At) == 0 {
		return Invitation{}, errCut
	}
	return i, nil
}
