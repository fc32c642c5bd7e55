package defects

import (
	"slices"
	"time"

	"hale/internal/core/policy"
	"hale/internal/core/record"
	"hale/internal/defect"
)

// Told has what a fleet's journal says of each place, term after term.
type Told map[defect.Place]told

// told is what the fleet's journal has of a place: the spell, and whether that it is over.
type told struct {
	spell int
	over  bool
}

// Telling is what one term has to say of defects.
type Telling struct {
	told    Told
	waiting []waiting // noted, and not stored yet
}

// waiting is what the records that wait to be stored say of a place.
type waiting struct {
	place defect.Place
	told
}

// Tell begins a term.
func Tell(t Told) Telling { return Telling{told: t} }

// Heed returns a record, and its page, for each place of concern that began to panic, and a record for each that has
// been calm for long: once, however often it panicked. They wait to be stored.
func (t *Telling) Heed(spec *policy.Spec, all []defect.Entry, at time.Time) (news []record.Record) {
	for _, e := range all {
		if !Concerns(spec, e.Place) || slices.ContainsFunc(t.waiting,
			func(w waiting) bool { return w.place == e.Place }) {
			continue
		}
		now := told{e.Spell, e.Over(at)}
		switch was := t.told[e.Place]; {
		case now == was:
			continue
		case now.spell > was.spell && !now.over:
			page := Record(e)
			page.Kind = record.Paged
			news = append(news, Record(e), page)
		case now.spell == was.spell && now.over:
			rec := Record(e)
			rec.Kind, rec.Size, rec.Took, rec.Paged = record.DefectOver, e.Count, e.Last.Sub(e.First), true
			news = append(news, rec)
		default: // it is over already, and the fleet did not see it
			continue
		}
		t.waiting = append(t.waiting, waiting{e.Place, now})
	}
	return news
}

// Stored notes that the records which waited are.
func (t *Telling) Stored() {
	for _, w := range t.waiting {
		t.told[w.place] = w.told
	}
	t.waiting = nil
}
