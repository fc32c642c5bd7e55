package state

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"hale/internal/core/fault"
)

// The limits of one transaction: etcd's own, less what one compare more takes (Guarded).
const (
	MaxOps   = 127                       // of compares, and of writes
	MaxBytes = 3*1024*1024/2 - guardsMay // of keys and values, each operation counted with overheadBytes more
)

const guardsMay = 256 // bytes of a guard, at most

// overheadBytes is more than what encoding adds to any single operation.
const overheadBytes = 64

// Txn is a transaction: if all compares hold, all writes are done. Without compares it is
// always done; without writes it only compares.
type Txn struct {
	If   []Compare
	Then []Write

	guard []Compare // at most one
}

// Guarded returns the transaction with one compare more, which has a lease and no revision, and counts against none of
// the limits.
func (t Txn) Guarded(by Compare) Txn {
	t.guard = []Compare{by}
	return t
}

// Compares returns all that must hold.
func (t Txn) Compares() []Compare { return slices.Concat(t.If, t.guard) }

// Compare is a condition on one key. Without a lease, it holds if the key's revision is
// Revision, where 0 means that the key does not exist. With a lease, it holds if the key
// exists under that lease, and at Revision unless that is 0.
type Compare struct {
	Key      string
	Revision int64
	Lease    LeaseID
}

// Absent holds if the key does not exist.
func Absent(key string) Compare { return Compare{Key: key} }

// At holds if the key was last changed at the revision.
func At(key string, revision int64) Compare { return Compare{Key: key, Revision: revision} }

// Held holds if the key exists under the lease and was last changed at the revision: the
// check that an owner still owns what it is about to write to.
func Held(key string, revision int64, lease LeaseID) Compare {
	return Compare{Key: key, Revision: revision, Lease: lease}
}

// Action is what a Write does.
type Action int

// The actions.
const (
	ActionPut         Action = iota + 1 // set Key to Value under Lease
	ActionDelete                        // delete Key; no error if there is none
	ActionDeleteRange                   // delete all keys from Key on, up to but not including End
)

// Write is one change. Make it by one of the functions below.
type Write struct {
	Action Action
	Key    string
	End    string  // ActionDeleteRange only
	Value  []byte  // ActionPut only
	Lease  LeaseID // ActionPut only
}

// Put sets the key to the value; a lease that the key had is dropped.
func Put(key string, value []byte) Write {
	return Write{Action: ActionPut, Key: key, Value: value}
}

// PutLeased sets the key to the value, to be deleted with the lease.
func PutLeased(key string, value []byte, lease LeaseID) Write {
	return Write{Action: ActionPut, Key: key, Value: value, Lease: lease}
}

// Delete deletes the key if it exists.
func Delete(key string) Write { return Write{Action: ActionDelete, Key: key} }

// DeleteRange deletes all keys in [from, end).
func DeleteRange(from, end string) Write {
	return Write{Action: ActionDeleteRange, Key: from, End: end}
}

// DeletePrefix deletes all keys that begin with the prefix.
func DeletePrefix(prefix string) Write { return DeleteRange(prefix, PrefixEnd(prefix)) }

// PrefixEnd returns the end of the range of keys that begin with the prefix. Keys are valid
// UTF-8, in which the byte 0xff does not occur.
func PrefixEnd(prefix string) string { return prefix + "\xff" }

// Validate tells everything that is wrong with the transaction in one error of kind
// fault.Invalid: too many operations or bytes, a key that is empty or not UTF-8, an empty
// range, an unknown action, or two writes that touch the same key.
func (t Txn) Validate() error {
	var problems []error
	if n := t.compares(); n > MaxOps {
		problems = append(problems, fmt.Errorf("%d compares, limit %d", n, MaxOps))
	}
	if n := len(t.Then); n > MaxOps {
		problems = append(problems, fmt.Errorf("%d writes, limit %d", n, MaxOps))
	}
	if n := t.Size(); n > MaxBytes {
		problems = append(problems, fmt.Errorf("%d bytes, limit %d", n, MaxBytes))
	}
	for _, c := range t.If {
		problems = append(problems, checkKey(c.Key))
	}
	for _, w := range t.Then {
		problems = append(problems, w.check())
	}
	problems = append(problems, overlaps(t.Then))
	if err := errors.Join(problems...); err != nil {
		return fault.New(fault.Invalid, "state.commit", t.Subject(), err)
	}
	return nil
}

// Size returns what the transaction counts against MaxBytes.
func (t Txn) Size() int {
	n := (len(t.If) + len(t.Then)) * overheadBytes
	for _, c := range t.If {
		n += len(c.Key)
	}
	for _, w := range t.Then {
		n += len(w.Key) + len(w.End) + len(w.Value)
	}
	return n
}

// Subject names the transaction in errors: the first key that it writes, or else compares.
func (t Txn) Subject() string {
	switch {
	case len(t.Then) > 0:
		return t.Then[0].Key
	case len(t.If) > 0:
		return t.If[0].Key
	}
	return ""
}

// compares counts as the store does: a compare with lease and revision is two.
func (t Txn) compares() int {
	n := len(t.If)
	for _, c := range t.If {
		if c.Lease != 0 && c.Revision != 0 {
			n++
		}
	}
	return n
}

func (w Write) check() error {
	switch w.Action {
	case ActionPut, ActionDelete:
		return checkKey(w.Key)
	case ActionDeleteRange:
		if w.End <= w.Key {
			return fmt.Errorf("range from %q to %q is empty", w.Key, w.End)
		}
		return nil
	}
	return fmt.Errorf("write to %q has no action", w.Key)
}

// CheckKey tells whether the key may be used at all: fault.Invalid if it is empty or not UTF-8.
func CheckKey(op, key string) error {
	if err := checkKey(key); err != nil {
		return fault.New(fault.Invalid, op, key, err)
	}
	return nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return errors.New("key is empty")
	case !utf8.ValidString(key):
		return fmt.Errorf("key %q is not UTF-8", key)
	}
	return nil
}

// overlaps finds two writes that touch the same key: their order would decide, and the
// real store refuses them.
func overlaps(writes []Write) error {
	sorted := slices.SortedFunc(slices.Values(writes), func(a, b Write) int { return cmp.Compare(a.Key, b.Key) })
	reach := "" // the exclusive end of all ranges so far
	for i, w := range sorted {
		if i > 0 && (w.Key == sorted[i-1].Key || w.Key < reach) {
			return fmt.Errorf("two writes touch key %q", w.Key)
		}
		if w.Action == ActionDeleteRange {
			reach = max(reach, w.End)
		}
	}
	return nil
}
