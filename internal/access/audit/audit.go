// Package audit keeps who did, or tried, what by the API.
//
// It promises that what changes something is in the store before it is done, so that no death of hale leaves an act
// without a record; that a refusal is there, too, one record a minute for what one caller is refused again and again;
// and bounds of age and bytes, those of acts apart from those of refusals, so that nothing that strangers try drives
// out what was done. It keeps no secret: nothing of a request but its operation, and what the call itself says that it
// is about.
//
// It is no part of the journal, which is a fleet's, written by its owner alone, and says why hale did what it did.
package audit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hale/internal/access"
	"hale/internal/core/fault"
	"hale/internal/state"
)

// Result is what became of a call.
type Result string

// The results.
const (
	Begun   Result = "begun"   // hale ended before it was known; the act may have taken effect
	Done    Result = "done"    // or stored, where a fleet's owner does it: the journal says what followed
	Waits   Result = "waits"   // for a second person
	Refused Result = "refused" // the caller may not, or it cannot be as things stand
	Failed  Result = "failed"
)

// Record is one call.
type Record struct {
	At        time.Time
	Request   string      `json:",omitempty"` // as the answer and the log name it
	Kind      access.Kind `json:",omitempty"`
	Name      string      `json:",omitempty"` // of the caller
	ID        string      `json:",omitempty"`
	From      string      `json:",omitempty"` // its address; empty: this machine
	Operation string      // as the API's document names it, or the method where there is none
	About     []string    `json:",omitempty"` // what it is about: fleets, machines, hosts, orders, tokens
	Result    Result
	Status    int    `json:",omitempty"` // of the answer
	Why       string `json:",omitempty"`
	Count     int    `json:",omitempty"` // how many calls it stands for; 0: one
}

// Of begins a record of the caller.
func Of(p access.Principal, operation string) Record {
	return Record{Kind: p.Kind, Name: p.Name, ID: p.ID, From: p.From, Operation: operation}
}

const (
	actsRoot     = "access/audit/acts/"
	refusalsRoot = "access/audit/refusals/"
)

// shelf is one kind of records, with its bounds.
type shelf struct {
	root  string
	age   time.Duration
	bytes int
}

var shelves = []shelf{
	{actsRoot, 400 * 24 * time.Hour, 32 << 20},
	{refusalsRoot, 90 * 24 * time.Hour, 4 << 20},
}

// Limits of one record, and of what is written.
const (
	mostAbout   = 50
	longestText = 500 // bytes of each text
	trimEvery   = time.Minute
	trimAfter   = 2000 // records, if that is sooner
	mostCallers = 512  // who are refused in a minute and have a record of their own
	overhead    = 256  // bytes of an entry in the store, beside its value
	storeWithin = 5 * time.Second
)

// Book is where calls are noted. It is safe for concurrent use.
type Book struct {
	store state.Store
	log   *slog.Logger
	trim  chan struct{}

	mu      sync.Mutex
	written int             // since the last trim
	told    map[key]*Record // what was refused in this minute: the count is of those not stored yet
}

// key is what one refusal has in common with another.
type key struct {
	kind         access.Kind
	id, from, op string
	status       int
}

// New makes a book.
func New(store state.Store, log *slog.Logger) *Book {
	return &Book{store: store, log: log, trim: make(chan struct{}, 1), told: map[key]*Record{}}
}

// Entry is an act that began.
type Entry struct {
	key    string
	record Record
}

// Begin notes an act before it is done. After an error nothing is noted, or it is not known.
func (b *Book) Begin(ctx context.Context, r Record) (Entry, error) {
	r.Result = Begun
	e := Entry{key: newKey(actsRoot, &r), record: r}
	return e, b.put(ctx, e.key, &e.record)
}

// End notes what became of an act. That it did not is in the log.
func (b *Book) End(ctx context.Context, e Entry, about []string, result Result, status int, why string) {
	e.record.About, e.record.Result, e.record.Status, e.record.Why = about, result, status, why
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin) // who called may have gone
	defer cancel()
	err := b.put(ctx, e.key, &e.record)
	if err != nil {
		b.log.Error("what became of an act is not in the audit", "request", e.record.Request, "err", err)
	}
	level := slog.LevelInfo
	if result == Failed || result == Refused {
		level = slog.LevelWarn
	}
	b.say(ctx, level, &e.record)
}

// Refuse notes a call that was refused before it began. The first one of its kind in a minute is stored at once; the
// others are counted, and stored by Run.
func (b *Book) Refuse(ctx context.Context, r Record) {
	r.Result = Refused
	if !b.first(&r) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	if err := b.put(ctx, newKey(refusalsRoot, &r), &r); err != nil {
		b.log.Warn("a refusal is not in the audit", "request", r.Request, "err", err)
	}
	b.say(ctx, slog.LevelWarn, &r)
}

// first counts a refusal, and reports whether it is the first of its kind in this minute.
func (b *Book) first(r *Record) bool {
	k := key{r.Kind, r.ID, r.From, r.Operation, r.Status}
	b.mu.Lock()
	defer b.mu.Unlock()
	if seen := b.told[k]; seen != nil {
		seen.Count++
		return false
	}
	if len(b.told) >= mostCallers {
		rest := key{status: r.Status}
		if b.told[rest] == nil {
			b.told[rest] = &Record{Operation: "many", Result: Refused, Status: r.Status,
				Why: "more callers than are told apart"}
		}
		b.told[rest].Count++
		return false
	}
	kept := *r
	b.told[k] = &kept
	return true
}

func (b *Book) say(ctx context.Context, level slog.Level, r *Record) {
	b.log.Log(ctx, level, "api", "request", r.Request, "who", r.Name, "kind", r.Kind, "id", r.ID, "from", r.From,
		"operation", r.Operation, "about", strings.Join(r.About, " "), "result", r.Result, "status", r.Status,
		"why", r.Why, "count", max(1, r.Count))
}

func newKey(root string, r *Record) string {
	if r.At.IsZero() {
		r.At = time.Now().UTC()
	}
	return fmt.Sprintf("%s%020d-%s", root, r.At.UnixNano(), rand.Text()[:8])
}

func (b *Book) put(ctx context.Context, key string, r *Record) error {
	r.bound()
	data, err := json.Marshal(r)
	if err != nil {
		return fault.New(fault.Invalid, "audit.write", key, err)
	}
	if _, err = b.store.Commit(ctx, state.Txn{Then: []state.Write{state.Put(key, data)}}); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.written++; b.written == trimAfter {
		select {
		case b.trim <- struct{}{}:
		default: // it is told already
		}
	}
	return nil
}

// bound cuts what is too long: callers choose some of it.
func (r *Record) bound() {
	if len(r.About) > mostAbout {
		r.About = append(slices.Clip(r.About[:mostAbout-1]), fmt.Sprintf("and %d more", len(r.About)-mostAbout+1))
	}
	for i := range r.About {
		r.About[i] = cut(r.About[i])
	}
	for _, text := range []*string{&r.Name, &r.ID, &r.Operation, &r.Why, &r.Request, &r.From} {
		*text = cut(*text)
	}
}

func cut(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.ToValidUTF8(text[:longestText], "") + "…"
}

// Run stores the counts of refusals, and removes what is too old or too much, until ctx ends.
func (b *Book) Run(ctx context.Context) {
	tick := time.NewTicker(trimEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			b.close(ctx)
			return
		case <-tick.C:
		case <-b.trim:
		}
		b.flush(ctx)
		if err := b.prune(ctx, time.Now()); err != nil && ctx.Err() == nil {
			b.log.Warn("the audit keeps more than it should", "err", err)
		}
	}
}

// close stores what was counted until the end.
func (b *Book) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	b.flush(ctx)
}

// flush stores what was counted, and begins to count anew.
func (b *Book) flush(ctx context.Context) {
	b.mu.Lock()
	told := b.told
	b.told, b.written = map[key]*Record{}, 0
	b.mu.Unlock()
	for r := range maps.Values(told) {
		if r.Count == 0 {
			continue // it stands alone, and is stored
		}
		r.At, r.Request = time.Now().UTC(), ""
		if err := b.put(ctx, newKey(refusalsRoot, r), r); err != nil {
			b.log.Warn("refusals are not in the audit", "count", r.Count, "err", err)
		}
		b.say(ctx, slog.LevelWarn, r)
	}
}

// prune removes what is beyond the bounds.
func (b *Book) prune(ctx context.Context, now time.Time) error {
	for _, s := range shelves {
		entries, _, err := b.store.List(ctx, s.root)
		if err != nil {
			return err
		}
		left := 0
		for _, e := range entries {
			left += size(e)
		}
		oldest, first := fmt.Sprintf("%s%020d", s.root, now.Add(-s.age).UnixNano()), 0
		for first < len(entries) && (left > s.bytes || entries[first].Key < oldest) {
			left -= size(entries[first])
			first++
		}
		if first == 0 {
			continue
		}
		end := state.PrefixEnd(s.root)
		if first < len(entries) {
			end = entries[first].Key
		}
		_, err = b.store.Commit(ctx, state.Txn{Then: []state.Write{state.DeleteRange(entries[0].Key, end)}})
		if err != nil {
			return err
		}
	}
	return nil
}

func size(e state.Entry) int { return overhead + len(e.Key) + len(e.Value) }

// Query chooses records. The zero value chooses all.
type Query struct {
	Since time.Time
	Who   string // of the name, or the id
	Only  Choice
	Limit int // the newest so many; 0: all
}

// Choice says which kinds of record are wanted.
type Choice string

// The choices.
const (
	Both         Choice = ""
	OnlyActs     Choice = "acts"
	OnlyRefusals Choice = "refusals"
)

// Read returns records, oldest first. One that cannot be read is shown with its time alone.
func Read(ctx context.Context, s state.Store, q Query) ([]Record, error) {
	var out []Record
	for _, of := range shelves {
		if q.Only == OnlyActs && of.root == refusalsRoot || q.Only == OnlyRefusals && of.root == actsRoot {
			continue
		}
		entries, _, err := s.List(ctx, of.root)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if r := read(e); q.wants(&r) {
				out = append(out, r)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Record) int { return a.At.Compare(b.At) })
	if q.Limit > 0 && len(out) > q.Limit {
		out = out[len(out)-q.Limit:]
	}
	return out, nil
}

func (q Query) wants(r *Record) bool {
	return !r.At.Before(q.Since) && (q.Who == "" || r.ID == q.Who || strings.Contains(r.Name, q.Who))
}

func read(e state.Entry) Record {
	var r Record
	if err := json.Unmarshal(e.Value, &r); err == nil {
		return r
	}
	r = Record{Operation: "unknown", Result: Begun, Why: "what is kept of it cannot be read"}
	var nanos int64
	if _, err := fmt.Sscanf(e.Key[strings.LastIndexByte(e.Key, '/')+1:], "%020d", &nanos); err == nil {
		r.At = time.Unix(0, nanos).UTC()
	}
	return r
}

// Note is what a call says of itself while it is under way.
type Note struct {
	mu    sync.Mutex
	about []string
	why   string
	held  bool
}

type noteKey struct{}

// WithNote returns a context in which About adds to the note.
func WithNote(ctx context.Context) (context.Context, *Note) {
	n := &Note{}
	return context.WithValue(ctx, noteKey{}, n), n
}

// About says what the call is about, in names: of fleets, machines, hosts, orders, tokens. No secret is one.
func About(ctx context.Context, names ...string) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, name := range names {
			if name != "" && !slices.Contains(n.about, name) {
				n.about = append(n.about, name)
			}
		}
	}
}

// Why says why a call comes to nothing, as its caller is told.
func Why(ctx context.Context, why string) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.why = why
	}
}

// Why returns what the call said of why it comes to nothing.
func (n *Note) Why() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.why
}

// Hold says that a call waits for a second person.
func Hold(ctx context.Context) {
	if n, ok := ctx.Value(noteKey{}).(*Note); ok {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.held = true
	}
}

// Held reports whether the call waits for a second person.
func (n *Note) Held() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}

// About returns what the call said.
func (n *Note) About() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.about)
}
