package guest

import "slices"

// Hears is what a probe from the vantage to the address hears now.
type Hears struct {
	Ping Answer
	TCP  Answer
	HTTP Answer
	// Status is the code of a page, where the answer is Status5.
	Status int
	// Loss is the share of probes that hear nothing in spite of the answers above.
	Loss float64
	ills []*illness
}

// Fails reports whether the check with the name fails although the others do not.
func (h Hears) Fails(check string) bool {
	return slices.ContainsFunc(h.ills, func(i *illness) bool { return i.Symptom == CheckFails && i.Check == check })
}

// Answer is what one probe hears.
type Answer string

// The answers.
const (
	Well    Answer = "ok"
	Silence Answer = "timeout"
	Refused Answer = "refused"
	Unheard Answer = "unheard" // unknown: the way to it is not the machine's
	Status5 Answer = "status"
	// WrongPage is a page as usual, apart from what it says; Critical is what a program says of a machine that it does
	// not like.
	WrongPage Answer = "wrong-page"
	Critical  Answer = "critical"
)
