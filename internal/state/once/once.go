// Package once keeps what came of calls that bear a key of their caller's, so that a call which is asked again takes
// effect once.
//
// It promises that of all calls of one caller with one key, one after the other or at once, on whatever server, what
// they write by Commit is written once, with the note of it in the same transaction; that the answer of a call which
// came to its end is there for a day, unless the caller had more than MostOf keys since; and that a key which was used
// for something else is found out. What it means to ask again for a call that ended without an answer is its caller's.
package once

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/inbox"
)

const root = "once/"

// Limits of what is kept.
const (
	KeptFor       = 24 * time.Hour
	MostOf        = 2000 // keys of one caller
	LongestAnswer = 256 << 10
	// elsewhere is for how long a call that another server began, and has not ended, is taken to be under way there.
	elsewhere = time.Minute
	// nameBytes are enough of a hash that no two names are the same.
	nameBytes = 16
)

// Why a call is not made.
var (
	ErrOther    = errors.New("the key was used for another call")
	ErrUnderWay = errors.New("a call with the key is under way")
)

// Call is a call with its key.
type Call struct {
	Who   string // the caller
	Key   string
	Of    string // what is called
	Asked []byte // with what
}

// place is where the call is noted: beside the others of its caller.
func (c Call) place() string { return prefix(c.Who) + name(c.Key) }

func prefix(who string) string { return root + name(who) + "/" }

func name(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:nameBytes])
}

// note is a call as the store has it.
type note struct {
	Who, Key, Of string
	Hash         string // of what was asked
	At           time.Time
	Server       string          // that began it
	Process      string          // of that server
	Stage        json.RawMessage `json:",omitempty"` // what Commit noted
	Answer       json.RawMessage `json:",omitempty"`
}

// Book is one server's side of all calls. It is safe for concurrent use.
type Book struct {
	store           state.Store
	server, process string
	mu              sync.Mutex
	open            map[string]bool // places of the calls that are under way here
}

// New makes the book of a server that was started now.
func New(store state.Store, server string) *Book {
	return &Book{store: store, server: server, process: rand.Text(), open: map[string]bool{}}
}

// Entry is one call that is under way here.
type Entry struct {
	book     *Book
	at       string
	note     note
	revision int64 // of the note; 0: there is none yet
	begun    bool  // before
}

// Open begins a call, or goes on with it. The caller closes the entry. Its error is ErrOther, ErrUnderWay, or the
// store's.
func (b *Book) Open(ctx context.Context, c Call, now time.Time) (*Entry, error) {
	sum := sha256.Sum256(append([]byte(c.Of+"\n"), c.Asked...))
	e := &Entry{book: b, at: c.place(), note: note{
		Who: c.Who, Key: c.Key, Of: c.Of, Hash: hex.EncodeToString(sum[:]), At: now.UTC(), Server: b.server,
		Process: b.process,
	}}
	if !b.enter(e.at) {
		return nil, ErrUnderWay
	}
	if err := e.read(ctx, now); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (b *Book) enter(place string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open[place] {
		return false
	}
	b.open[place] = true
	return true
}

// read takes over what is noted of the call.
func (e *Entry) read(ctx context.Context, now time.Time) error {
	kept, err := e.book.store.Get(ctx, e.at)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var n note
	if err := json.Unmarshal(kept.Value, &n); err != nil {
		return fault.New(fault.Permanent, "once.open", e.at, err)
	}
	e.revision = kept.Revision
	age := now.Sub(n.At)
	switch {
	case age >= KeptFor: // its time is over, and it is not swept yet
		return nil
	case n.Of != e.note.Of || n.Hash != e.note.Hash:
		return ErrOther
	case n.Answer == nil && n.Server != e.book.server && age < elsewhere:
		return ErrUnderWay
	}
	e.note, e.begun = n, true
	return nil
}

// Close says that the call is not under way here any more.
func (e *Entry) Close() {
	e.book.mu.Lock()
	defer e.book.mu.Unlock()
	delete(e.book.open, e.at)
}

// Answer is what the call answered when it was made before; nil: it is not known.
func (e *Entry) Answer() []byte { return e.note.Answer }

// Begun is when the call began that ended without an answer. False: none did.
func (e *Entry) Begun() (time.Time, bool) {
	return e.note.At, e.begun && e.note.Answer == nil
}

// Begin notes that the call begins, for what is no transaction.
func (e *Entry) Begin(ctx context.Context) error {
	e.note.Server, e.note.Process = e.book.server, e.book.process
	return e.put(ctx)
}

// Done notes the answer. One that is too long is not kept: then it is as if the call had ended without one.
func (e *Entry) Done(ctx context.Context, answer []byte) error {
	if len(answer) > LongestAnswer {
		return nil
	}
	e.note.Answer = answer
	return e.put(ctx)
}

// Forget deletes the note, since nothing was done.
func (e *Entry) Forget(ctx context.Context) error {
	if e.revision == 0 || e.note.Stage != nil {
		return nil
	}
	_, err := e.book.store.Commit(ctx, state.Txn{
		If: []state.Compare{state.At(e.at, e.revision)}, Then: []state.Write{state.Delete(e.at)},
	})
	return err
}

func (e *Entry) put(ctx context.Context) error {
	_, err := e.commit(ctx, state.Txn{})
	return err
}

// commit does the transaction with the note in it, if nothing was noted elsewhere meanwhile.
func (e *Entry) commit(ctx context.Context, txn state.Txn) (int64, error) {
	data, err := json.Marshal(e.note)
	if err != nil {
		return 0, fault.New(fault.Invalid, "once.commit", e.at, err)
	}
	txn.If = append(slices.Clone(txn.If), state.At(e.at, e.revision))
	txn.Then = append(slices.Clone(txn.Then), state.Put(e.at, data))
	revision, err := e.book.store.Commit(ctx, txn)
	switch {
	case err == nil:
		e.revision = revision
	case fault.Is(err, fault.Conflict) && e.overtaken(ctx):
		err = ErrUnderWay
	}
	return revision, err
}

// overtaken reports whether the call was made elsewhere meanwhile.
func (e *Entry) overtaken(ctx context.Context) bool {
	kept, err := e.book.store.Get(ctx, e.at)
	return err == nil && kept.Revision != e.revision || fault.Is(err, fault.NotFound) && e.revision != 0
}

type entryKey struct{}

// With returns a context that carries the call, for Commit and what is beside it.
func With(ctx context.Context, e *Entry) context.Context {
	return context.WithValue(ctx, entryKey{}, e)
}

func of(ctx context.Context) *Entry {
	e, _ := ctx.Value(entryKey{}).(*Entry)
	return e
}

// Commit does a transaction that is a call's whole effect, or its first. The call of the context notes in it that it was
// done, with the stage: what the call must know of it when it is asked again.
func Commit(ctx context.Context, s state.Store, txn state.Txn, stage any) (int64, error) {
	e := of(ctx)
	if e == nil {
		return s.Commit(ctx, txn)
	}
	data, err := json.Marshal(stage)
	if err != nil {
		return 0, fault.New(fault.Invalid, "once.commit", e.at, err)
	}
	before := e.note.Stage
	e.note.Stage = data
	revision, err := e.commit(ctx, txn)
	if err != nil {
		e.note.Stage = before
	}
	return revision, err
}

// Stage reads what Commit noted when the call was made before, and returns the revision of that. 0: it was not made.
func Stage(ctx context.Context, into any) (int64, error) {
	e := of(ctx)
	if e == nil || e.note.Stage == nil {
		return 0, nil
	}
	if err := json.Unmarshal(e.note.Stage, into); err != nil {
		return 0, fault.New(fault.Permanent, "once.stage", e.at, err)
	}
	return e.revision, nil
}

// Began is when a call began with the key of this one, and ended without an answer. False: none did.
func Began(ctx context.Context) (time.Time, bool) {
	if e := of(ctx); e != nil {
		return e.Begun()
	}
	return time.Time{}, false
}

// OrderID returns the id of the call's order of that name. It follows from the key, so that one key never orders twice.
func OrderID(ctx context.Context, name string) (fleet.OrderID, error) {
	e := of(ctx)
	if e == nil {
		return inbox.NewID()
	}
	return inbox.IDOf(e.note.At, e.at+"/"+name), nil
}

// Sweep deletes the notes whose time is over, and the oldest of callers who have too many.
func Sweep(ctx context.Context, s state.Store, now time.Time) error {
	entries, _, err := s.List(ctx, root)
	if err != nil {
		return err
	}
	type kept struct {
		state.Entry
		at time.Time
	}
	by := map[string][]kept{}
	var gone []state.Entry
	for _, e := range entries {
		var n note
		if json.Unmarshal(e.Value, &n) != nil || now.Sub(n.At) >= KeptFor {
			gone = append(gone, e)
			continue
		}
		by[n.Who] = append(by[n.Who], kept{e, n.At})
	}
	for _, of := range by {
		slices.SortFunc(of, func(a, b kept) int { return a.at.Compare(b.at) })
		for _, k := range of[:max(0, len(of)-MostOf)] {
			gone = append(gone, k.Entry)
		}
	}
	for some := range slices.Chunk(gone, state.MaxOps) {
		var txn state.Txn
		for _, e := range some {
			txn.If = append(txn.If, state.At(e.Key, e.Revision))
			txn.Then = append(txn.Then, state.Delete(e.Key))
		}
		// a key that is used again just now stays, and its neighbours are swept the next time
		if _, err := s.Commit(ctx, txn); err != nil && !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return nil
}
