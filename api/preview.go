package api

// Preview is what a fleet would adopt.
type Preview struct {
	Provider string             `json:"provider"`
	Settled  bool               `json:"settled"` // there was a verdict on every machine in time
	Machines []PreviewedMachine `json:"machines"`
	Others   []string           `json:"others"`           // what else the provider has, by name
	Unseen   string             `json:"unseen,omitempty"` // hosts that did not answer, and why
	// Warnings name what a person should mend first, though nothing is held for it.
	Warnings []string `json:"warnings,omitempty"`
}

// PreviewedMachine is one that is selected.
type PreviewedMachine struct {
	Name     string `json:"name"`
	Instance string `json:"instance"`
	Host     string `json:"host,omitempty"`
	Power    string `json:"power"`
	Address  string `json:"address,omitempty"`
	Verdict  string `json:"verdict,omitempty"`
	Text     string `json:"text,omitempty"` // why the verdict is what it is
	Left     string `json:"left,omitempty"` // why it would not be adopted all the same: one of the Left constants
	With     string `json:"with,omitempty"` // what it belongs to
	// Fleet and Installation are in its mark.
	Fleet        string `json:"fleet,omitempty"`
	Installation string `json:"installation,omitempty"`
}

// Why a selected machine is not adopted (PreviewedMachine.Left).
const (
	LeftMarked    = "marked"    // it bears the mark of With, a machine of hale
	LeftContested = "contested" // the fleet With selects it, too
)
