package fleet

import "slices"

// Proof grades what is known about an old instance before its replacement may start.
type Proof string

// The grades. Each says who can know it, and what it excludes; see Grades.
const (
	ProofNone         Proof = "none"
	ProofAccessCut    Proof = "access-cut"        // its host cannot reach storage or network any more, confirmed
	ProofWord         Proof = "word"              // a person says that it is off; with a name, and for a while
	ProofWatchdog     Proof = "watchdog-expired"  // its host's watchdog expired under a lease that the host honours
	ProofConfirmedOff Proof = "confirmed-off"     // seen off by the provider after the order
	ProofHostOff      Proof = "host-off"          // its whole host is off, confirmed by the host's power controller
	ProofDeleted      Proof = "confirmed-deleted" // confirmed absent by the provider
)

// Grade is what one proof is worth.
type Grade struct {
	Proof Proof
	// Off says that the instance does not run: without that, nothing may take its place (L1), unless the policy demands
	// no more than that it cannot write.
	Off bool
	// Meets are the demands that it satisfies, beside its own.
	Meets []Proof
	// Why it satisfies no more.
	Why string
}

// grades is the order of proofs, weakest first. It is no ladder: a host that is off proves nothing about files, and
// what the provider says of one instance proves nothing about its host.
var grades = []Grade{
	{Proof: ProofNone, Why: "nothing is known"},
	{Proof: ProofAccessCut, Why: "it may run on, and answer whoever still reaches it"},
	{Proof: ProofWord, Off: true, Meets: []Proof{ProofAccessCut}, Why: "nobody but that person can check it"},
	{Proof: ProofWatchdog, Off: true, Meets: []Proof{ProofAccessCut, ProofWord},
		Why: "it rests on a timer, and not on anybody who looked"},
	{Proof: ProofConfirmedOff, Off: true, Meets: []Proof{ProofAccessCut, ProofWord, ProofWatchdog},
		Why: "the host still runs, and could start it"},
	{Proof: ProofHostOff, Off: true, Meets: []Proof{ProofAccessCut, ProofWord, ProofWatchdog, ProofConfirmedOff},
		Why: "the instance is still on the host, and is there again when the host is"},
	{Proof: ProofDeleted, Off: true, Meets: []Proof{ProofAccessCut, ProofWord, ProofWatchdog, ProofConfirmedOff,
		ProofHostOff}},
}

// Grades returns the table of proofs, weakest first.
func Grades() []Grade { return slices.Clone(grades) }

// Grade returns what the proof is worth. An unknown one is worth nothing.
func (p Proof) Grade() Grade {
	for i := range grades {
		if grades[i].Proof == p {
			return grades[i]
		}
	}
	return grades[0]
}

// Meets reports whether the proof satisfies the demand. No demand is always satisfied; an unknown one never is.
func (p Proof) Meets(demanded Proof) bool {
	return demanded == ProofNone || demanded == "" || p.Grade().Proof == demanded ||
		slices.Contains(p.Grade().Meets, demanded)
}

// Off reports whether the proof says that the instance does not run.
func (p Proof) Off() bool { return p.Grade().Off }

// OfHost reports whether the proof says that the instance's whole host is off. What a provider says of an instance
// alone is another thing: the host that it is silent about might start it.
func (p Proof) OfHost() bool { return p == ProofWord || p == ProofWatchdog || p == ProofHostOff }

// Fence is the demand on proof.
type Fence struct {
	Proof Proof // demanded before a replacement: confirmed-off, confirmed-deleted, or no more than access-cut
	// Word says that a person's word is enough, too.
	Word bool `json:",omitempty"`
	// Hosts says that hale may turn a host off when neither it nor a machine on it answers.
	Hosts bool `json:",omitempty"`
}

// Enough reports whether the proof lets a replacement start. Only who demands no more than that lets one start beside
// an instance that may run, and cannot write; and a person's word is another thing than what was asked for and seen.
func (f Fence) Enough(p Proof) bool {
	switch {
	case p == ProofWord && f.Proof == ProofAccessCut:
		return f.Word
	case p == ProofAccessCut:
		return f.Proof == ProofAccessCut
	}
	return p.Off() && (p.Meets(f.Proof) || f.Word && p == ProofWord)
}
