package api

import (
	"context"
	"net/url"
	"time"
)

// Evidence is what was kept of a machine before something was done to it.
type Evidence struct {
	Machine string `json:"machine"`
	// Incidents are those with evidence, oldest first. Incident is the one that Exhibits belong to; empty: there is
	// none.
	Incidents []string  `json:"incidents"`
	Incident  string    `json:"incident,omitempty"`
	Exhibits  []Exhibit `json:"exhibits"` // oldest first
	// Copies are those of disks that the machine's instances had, whatever the incident, oldest first.
	Copies []DiskCopy `json:"copies"`
}

// DiskCopy is a copy of an instance's disks, made by the step snapshot.
type DiskCopy struct {
	ID         string    `json:"id"`
	Incident   string    `json:"incident,omitempty"`
	Instance   string    `json:"instance"`
	Generation uint64    `json:"generation,omitempty"`
	Host       string    `json:"host,omitempty"`
	At         time.Time `json:"at"`
	// Whole says that it can be used. Until is when it goes, Where is what it is found by at the provider, and Bytes
	// what it takes.
	Whole bool      `json:"whole"`
	Until time.Time `json:"until"`
	Where string    `json:"where,omitempty"`
	Bytes uint64    `json:"bytes,omitempty"`
}

// Exhibit is the evidence on one instance.
type Exhibit struct {
	At         time.Time      `json:"at"`
	Instance   string         `json:"instance"`
	Generation uint64         `json:"generation,omitempty"`
	Host       string         `json:"host,omitempty"`
	Found      []string       `json:"found"` // what the provider and the checks said last
	Parts      []EvidencePart `json:"parts"`
	// Console is as the guest wrote it, control characters included.
	Console    []byte `json:"console,omitempty"`
	Screenshot []byte `json:"screenshot,omitempty"`
	Format     string `json:"format,omitempty"` // the screenshot's media type
}

// EvidencePart says of one part whether it is kept.
type EvidencePart struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes,omitempty"`
	// Lacks says why it is not kept, where it is not.
	Lacks Reason `json:"lacks,omitzero"`
}

// Evidence returns what is kept of a machine's incident; of the last one where incident is empty.
func (c *Client) Evidence(ctx context.Context, machine, incident string) (Evidence, error) {
	path := "/v1/machines/" + url.PathEscape(machine) + "/evidence"
	if incident != "" {
		path += "?incident=" + url.QueryEscape(incident)
	}
	return get[Evidence](ctx, c, path)
}
