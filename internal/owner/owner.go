package owner

import (
	"hale/internal/core/change"
	"hale/internal/core/decide"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/core/round"
	"hale/internal/owner/picture"
)

// Options are what a term begins with.
type Options struct {
	picture.Options
	// Together returns how many of the beliefs, from the first on, fit into one transaction; nil: each has its own.
	Together func([]round.Decided) int
	// Claimed says that people were told before this term that the provider fails.
	Claimed bool
}

// Owner looks after one fleet for one term. What is heard of machines is told to its Picture. It is not safe for
// concurrent use.
type Owner struct {
	*picture.Picture

	options Options
	decider decide.Decider
	pending []record.Record // about the fleet, to be stored with the next decision
	claimed bool
	mail    mailbox
	round   writing
	asks    []int         // who is to be asked on demand
	next    fleet.Instant // when to decide again without news; 0: not before there is some
	tryAt   fleet.Instant // when to try a full store again
	meters  map[fleet.InstanceID]*metered
}

// New begins a term.
func New(o Options, now fleet.Now) *Owner {
	p := picture.New(o.Options, now)
	o.Beliefs = nil // the picture has its own
	return &Owner{
		Picture: p, options: o, claimed: o.Claimed, mail: newMailbox(), meters: map[fleet.InstanceID]*metered{},
	}
}

// Note keeps a record about the fleet for the next decision's write.
func (o *Owner) Note(now fleet.Now, r record.Record) { o.pending = append(o.pending, o.About(now, r)) }

// Noted returns the records that wait to be stored.
func (o *Owner) Noted() []record.Record { return o.pending }

// About completes a record about the fleet.
func (o *Owner) About(now fleet.Now, r record.Record) record.Record {
	r.At, r.Fleet, r.Provider = now.Wall, o.Wanted().Name, o.Wanted().Provider
	return r
}

// ClockSet forgets what was seen, as at a take-over (L9).
func (o *Owner) ClockSet(now fleet.Now) {
	o.Note(now, record.Record{Kind: record.Owner, Reason: fleet.ReasonClockStep})
	o.Picture.ClockSet(now)
}

// Edit takes in an edited spec, as Picture.Want does, and notes what is new in it and what of it waits.
func (o *Owner) Edit(spec policy.Spec, now fleet.Now) (changes []change.Difference, dropped []fleet.CheckName) {
	was, waited := *o.Wanted(), o.Pending()
	dropped = o.Want(spec, now)
	changes = change.Specs(&was, &spec)
	for _, d := range changes {
		o.Note(now, change.Record(d))
	}
	if o.NotePlan(now).Empty() && !waited.Empty() {
		o.Note(now, record.Record{
			Kind: record.Change, Reason: fleet.ReasonTakenBack, Detail: waited.ID, Size: waited.To,
			Limit: waited.From,
		})
	}
	return changes, dropped
}

// NotePlan notes what waits for a person's word, and returns it.
func (o *Owner) NotePlan(now fleet.Now) change.Plan {
	p := o.Pending()
	if !p.Empty() {
		o.Note(now, record.Record{
			Kind: record.Change, Reason: fleet.ReasonAwaitsWord, Detail: p.ID, Size: p.To, Limit: p.From,
		})
	}
	return p
}

// SetProvider takes in how the provider stands, and notes what there is to say of it: a term that begins with one that
// answers says so where people were told before that it does not.
func (o *Owner) SetProvider(s fleet.ProviderState, now fleet.Now) {
	was := o.Picture.SetProvider(s)
	for _, r := range o.ProviderRecords(was, s) {
		o.Note(now, r)
	}
	if !o.claimed || s.Standing != fleet.ProviderUp {
		return
	}
	o.claimed = false
	if was.Standing == fleet.ProviderUnknown {
		o.Note(now, record.Record{Kind: record.Provider, Reason: fleet.ReasonUp, Paged: true})
	}
}

// See takes in a listing, as Picture.See does.
func (o *Owner) See(c *picture.Catalogue, indices []int, now fleet.Now) []picture.Doubt {
	doubts := o.Picture.See(c, indices)
	o.hearNews(now)
	return doubts
}

// hearNews notes what the picture has to say.
func (o *Owner) hearNews(now fleet.Now) {
	for _, r := range o.News() {
		o.Note(now, r)
	}
}

// Said says that the noted records are stored.
func (o *Owner) Said() { o.pending = nil }
