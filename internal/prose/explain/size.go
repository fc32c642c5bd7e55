package explain

import (
	"fmt"
	"slices"
	"time"

	"hale/internal/core/belief"
	"hale/internal/core/leaving"
	"hale/internal/core/ledger"
	"hale/internal/core/policy"
	"hale/internal/core/sizing"
	"hale/internal/owner/published"
	"hale/internal/prose"
	"hale/internal/prose/words"
)

// Sized is how a fleet's size stands, as its owner would judge it now.
type Sized struct {
	Answer
	// Asked is how many machines are asked for, and Word is the last word on it; nil: the configuration says it.
	Asked int
	Word  *belief.OrderedSize
	// Case and Verdict are of a size that moves, as its owner follows them: then Policy is what moves it.
	Policy  *policy.Sizing
	Case    sizing.Case
	Verdict sizing.Verdict
	// Next is the machine that would go if there were to be one less.
	Next *leaving.Leaver
}

// Size says how many machines the fleet has, how many are wanted, and why it has no others.
func Size(f published.Fleet) (s Sized) {
	l := f.Whole.Ledger
	s = Sized{Asked: l.Asked(&f.Wanted), Word: l.LastWord(&f.Wanted)}
	e := explainerOf(f)
	defer func() { s.Answer = e.Answer }()
	if f.Wanted.Adopt.Selects() {
		e.Now = append(e.Now, "it takes machines that exist already, as many as there are")
		return s
	}
	e.Now = append(e.Now, word(&f, &s))
	e.explainSpares(f)
	if p := f.Pending(); p.From != p.To {
		e.Now = append(e.Now, fmt.Sprintf("from %d to %s is a plan that waits for a person's word (%s)", p.From,
			prose.Machines(p.To), p.ID))
		e.advise("have it done: hale apply --confirm " + p.ID)
	}
	if f.Wanted.Sizing == nil {
		e.Now = append(e.Now, "nothing but its configuration and people moves it")
		return s
	}
	s.Policy = f.Wanted.Sizing
	s.Case, s.Verdict = ledger.Opine(&f.State, &f.Wanted, f.Machines)
	e.explainMoves(&f, &s)
	if l != nil {
		e.explainNext(&f, &s)
	}
	return s
}

// explainNext finds the machine that would go if there were to be one less.
func (e *explainer) explainNext(f *published.Fleet, s *Sized) {
	l := f.Whole.Ledger
	if l.Serving() <= s.Policy.Min {
		return
	}
	out := leaving.Choose(ledger.Scene(&f.State, l, f.Machines), 1)
	if len(out) == 0 {
		e.Now = append(e.Now,
			"no machine may go now, should one less be wanted: each is held, is to stay, was just built, "+
				"or is among the last that are healthy")
		return
	}
	s.Next = &out[0]
}

// word says what asks for the size, and the bounds.
func word(f *published.Fleet, s *Sized) string {
	said := prose.Machines(s.Asked) + ", as the file says"
	switch {
	case s.Word != nil:
		said = prose.OrderedSize(s.Word, s.Asked, f.Now.Wall)
	case f.Wanted.Said() == 0:
		said = prose.Machines(s.Asked) + ": nothing asked for another size within the bounds"
	}
	if z := f.Wanted.Sizing; z != nil {
		said += fmt.Sprintf("; at least %d, at most %d", z.Min, z.Max)
	}
	if s.Word != nil && s.Word.Pinned(f.Now) {
		said += "; pinned until " + moment(s.Word.Pin.Until)
	}
	return said
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// explainMoves says what the opinions come to, and what they do not move.
func (e *explainer) explainMoves(f *published.Fleet, s *Sized) {
	v := &s.Verdict
	if sizing.Watched(&f.Wanted) {
		e.Now = append(e.Now, fmt.Sprintf("it is only watched: by its opinions it would have %s",
			prose.Machines(s.Policy.Bound(v.Size))))
	}
	why, until := v.Why, time.Time{}
	if v.Until != 0 {
		until = f.Now.When(v.Until)
	}
	switch {
	case len(s.Policy.Opinions) == 0:
		e.Now = append(e.Now, "it has no opinions: people and programs move it (hale scale)")
	case why != "":
		said := fmt.Sprintf("opinions want %s, and %d stay: %s", prose.Machines(v.Wants), s.Case.Size,
			words.Reason(why))
		if !until.IsZero() {
			said += ", until " + moment(until)
		}
		e.Now = append(e.Now, said)
		e.advise(words.Advice(why))
	case v.By < 0 && slices.ContainsFunc(v.Said, func(o sizing.Said) bool { return o.Missing() }):
		e.Now = append(e.Now, "no opinion has a number to go by, so it stays as it is")
	case v.By < 0:
		e.Now = append(e.Now, "no opinion has a say now")
	case v.Size == s.Case.Size:
		e.Now = append(e.Now, "opinions want no other size")
	default:
		e.Now = append(e.Now, fmt.Sprintf("opinions want %s; it moves to %d", prose.Machines(v.Wants), v.Size))
	}
}
