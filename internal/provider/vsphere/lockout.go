package vsphere

import (
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// lockout keeps hale from asking again and again with a password that vCenter refused: after a few of those it locks
// the user.
type lockout struct {
	refused [sha256.Size]byte // of the password
	wait    time.Duration     // zero: none was refused
	until   time.Time
}

// How long a refused password is not tried again: first, and at most. vCenter's usual limit is five in three minutes.
const (
	firstLockout = time.Minute
	lastLockout  = 15 * time.Minute
)

// check says why the password is not tried now. Another one is tried at once.
func (l *lockout) check(password string) error {
	if l.wait == 0 || sha256.Sum256([]byte(password)) != l.refused {
		return nil
	}
	if left := time.Until(l.until); left > 0 {
		return fmt.Errorf("vCenter refused user and password; they are tried again in %v, so that it does not lock "+
			"the user", left.Round(time.Second))
	}
	return nil
}

// note takes in how a login ended.
func (l *lockout) note(password string, err error) {
	switch {
	case err == nil:
		*l = lockout{}
	case told[*types.InvalidLogin](err):
		l.refused, l.wait = sha256.Sum256([]byte(password)), min(max(2*l.wait, firstLockout), lastLockout)
		l.until = time.Now().Add(l.wait)
	}
}
