package fleet

import "time"

// What is kept of a machine before something is done to it that could destroy the signs of what ailed it.
const (
	// GatherLimit bounds how long a repair waits for it, where the policy says nothing else.
	GatherLimit = 5 * time.Second
	// ConsoleLimit and ScreenshotLimit bound its parts, in bytes; the policy may have another one for the console. Of a
	// console the end is kept, of a screenshot all or nothing.
	ConsoleLimit    = 16 << 10
	ScreenshotLimit = 256 << 10
)

// Evidence says what was kept, part by part.
type Evidence struct {
	Console    EvidencePart
	Screenshot EvidencePart
	Findings   EvidencePart // the checks' last results and the provider's last word
}

// EvidencePart is one part of the evidence.
type EvidencePart struct {
	Bytes  int    `json:",omitempty"`
	Why    Reason `json:",omitempty"` // why it was not kept; empty: it was
	Detail string `json:",omitempty"` // an error's text
}

// Some reports whether anything was kept.
func (e *Evidence) Some() bool {
	return e.Console.Why == "" || e.Screenshot.Why == "" || e.Findings.Why == ""
}

// NoEvidence says that nothing was kept, for one reason.
func NoEvidence(why Reason) Evidence {
	none := EvidencePart{Why: why}
	return Evidence{Console: none, Screenshot: none, Findings: none}
}
