package fleet

import "time"

// What is kept of a machine before something is done to it that could destroy the signs of what ailed it.
const (
	// GatherLimit bounds how long a repair waits for it.
	GatherLimit = 5 * time.Second
	// ConsoleLimit and ScreenshotLimit bound its parts, in bytes. Of a console the end is kept, of a screenshot all or nothing.
	ConsoleLimit    = 16 << 10
	ScreenshotLimit = 256 << 10
)

// Gathered is how a gathering of evidence ended.
type Gathered struct {
	ID string
	Evidence
}

// Evidence says what was kept, part by part.
type Evidence struct {
	Console    Kept
	Screenshot Kept
	Findings   Kept // the checks' last results and the provider's last word
}

// Kept is one part of the evidence.
type Kept struct {
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
	none := Kept{Why: why}
	return Evidence{Console: none, Screenshot: none, Findings: none}
}

// Destroys reports whether the step may destroy the signs of what ails the machine.
func (k StepKind) Destroys() bool {
	switch k {
	case StepReboot, StepRebuild, StepRecreate:
		return true
	case StepStart, StepResume, StepRun, StepPage, StepQuarantine, StepSnapshot:
	}
	return false
}
