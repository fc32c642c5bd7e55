package prose

import (
	"fmt"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/record"
	"hale/internal/prose/words"
)

// evidence says what was kept, and of what was not, why.
func evidence(r record.Record) string {
	if r.Evidence == nil {
		return atStep(r) + ": evidence: " + words.Reason(r.Reason)
	}
	var kept, lacks []string
	for _, part := range EvidenceParts(*r.Evidence) {
		if part.Why == "" {
			kept = append(kept, part.Name+part.size())
		} else {
			lacks = append(lacks, Because("no "+part.Name, Aside(words.Reason(part.Why), part.Detail)))
		}
	}
	said := atStep(r) + ": no evidence is kept"
	if len(kept) > 0 {
		said = atStep(r) + ": evidence is kept: " + strings.Join(kept, ", ")
	}
	return strings.Join(append([]string{said}, lacks...), "; ")
}

// EvidencePart is one part of the evidence with its name.
type EvidencePart struct {
	Name string
	fleet.EvidencePart
}

// EvidenceParts names the parts of the evidence, in the order in which people ask for them.
func EvidenceParts(e fleet.Evidence) []EvidencePart {
	return []EvidencePart{{"last results", e.Findings}, {"console", e.Console}, {"screenshot", e.Screenshot}}
}

func (p EvidencePart) size() string {
	if p.Bytes == 0 {
		return ""
	}
	return " (" + Size(p.Bytes) + ")"
}

// Size renders a number of bytes: 812 bytes, 16 KiB.
func Size(bytes int) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.0f KiB", float64(bytes)/(1<<10))
}

// Volume renders a number of bytes on a disk: 812 bytes, 16 KiB, 1.5 GiB.
func Volume(bytes uint64) string {
	switch {
	case bytes < 1<<20:
		return Size(int(bytes))
	case bytes < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// Said is the provider's word on an instance.
func Said(p fleet.Power, s fleet.Stop) string {
	switch p {
	case "":
		return "the provider said nothing of the instance"
	case fleet.PowerRunning:
		return "the provider says the instance is " + words.Power(p)
	default:
		return Aside("the provider says the instance is "+words.Power(p), words.Stop(s))
	}
}

// Stands says how a check stands.
func Stands(c fleet.CheckState) string {
	c.Since = 0
	return StandsSince(c, fleet.Now{})
}

// StandsSince says how a check stands, and since when.
func StandsSince(c fleet.CheckState, now fleet.Now) string {
	said := fmt.Sprintf("check %s is %s", c.Check, words.Standing(c.Standing))
	if c.Since != 0 && c.Standing != fleet.StandingUnknown {
		said += " for " + Span(now.Mono.Sub(c.Since))
	}
	switch {
	case c.Standing == fleet.StandingUp && c.Result == fleet.ResultElsewhere:
		return Because(said, c.Detail)
	case c.Standing == fleet.StandingUp:
		return said
	}
	return Because(said, Aside(words.Result(c.Result), c.Detail))
}
