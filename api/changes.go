package api

// Changes are what another configuration changes, and what of it waits for a person's word.
type Changes struct {
	Changes []Change  `json:"changes"`
	Plans   []Waiting `json:"plans"`
	// Withdrawn are plans that waited for a person's word and are not in the configuration any more.
	Withdrawn []Waiting `json:"withdrawn,omitempty"`
	// Unwatched are the machines of fleets that leave: they run on, and nothing watches or repairs them.
	Unwatched []Unwatched `json:"unwatched,omitempty"`
	// Passed are files of the configuration's folder that look like a part of it and are not read.
	Passed []string `json:"passed,omitempty"`
	// Warnings are what does no harm yet, and will one day.
	Warnings []string `json:"warnings,omitempty"`
}

// Unwatched is a fleet that leaves the configuration.
type Unwatched struct {
	Fleet    string   `json:"fleet"`
	Machines []string `json:"machines"`
}

// Change is one thing that differs between two configurations.
type Change struct {
	Subject string `json:"subject"` // as "fleet web"
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	// Destructive says that it waits for a person's word.
	Destructive bool `json:"destructive"`
}

// Waiting is a plan that takes effect only when a person confirms it.
type Waiting struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Text    string `json:"text,omitempty"`
	// From and To are the sizes of a fleet that is to shrink.
	From     int       `json:"from,omitempty"`
	To       int       `json:"to,omitempty"`
	Remove   []Touched `json:"remove"`
	Template bool      `json:"template"` // the template is another one
	Replace  []Touched `json:"replace"`  // by instances of that template
	Doubted  []Touched `json:"doubted"`  // that are taken for gone, should they not be at a provider's new address
	Blocked  Reason    `json:"blocked,omitzero"`
}

// SubjectConfiguration is the subject of a plan of the whole configuration: fleets in it look renamed.
const SubjectConfiguration = "configuration"

// Touched is a machine that a plan would destroy or replace.
type Touched struct {
	Machine  string `json:"machine"`
	Instance string `json:"instance,omitempty"`
	Why      Reason `json:"why,omitzero"` // why it is this one
	// InPlace says of a machine to be replaced that its instance is changed where it is, if its provider can do that.
	InPlace bool `json:"in_place,omitempty"`
}
