package policy

import (
	"slices"

	"hale/internal/core/fleet"
)

// Part is a part of a template that a provider may be able to change on an instance where it is (fleet.OpAdjust).
type Part string

// The parts.
const (
	PartMemory   Part = "memory"
	PartCPUs     Part = "cpus"
	PartFlavor   Part = "flavor"
	PartMetadata Part = "metadata"
	PartTags     Part = "tags"
)

// AtRest reports whether the part is changed only while the instance is off.
func (p Part) AtRest() bool { return p != PartMetadata && p != PartTags }

// NeedRest reports whether one of the parts is changed only while the instance is off.
func NeedRest(parts []Part) bool { return slices.ContainsFunc(parts, Part.AtRest) }

// Size is what an instance of the template has of its host. What is zero, the template leaves open.
func (t *Template) Size() fleet.Size {
	s := fleet.Size{Memory: t.Memory, CPUs: t.CPUs}
	if t.Server != nil {
		s.Flavor = t.Server.Flavor
	}
	return s
}

// sized returns the template with another size; what that leaves open stays.
func (t Template) sized(s fleet.Size) Template {
	if s.Memory != 0 {
		t.Memory = s.Memory
	}
	if s.CPUs != 0 {
		t.CPUs = s.CPUs
	}
	if s.Flavor != "" && t.Server != nil {
		server := *t.Server
		server.Flavor, t.Server = s.Flavor, &server
	}
	return t
}

// Drift returns the parts in which the instance is known to be otherwise than the template says. Texts and tags that it
// bears besides, and a size that its provider does not tell, are none.
func (t *Template) Drift(i *fleet.Instance) []Part {
	want, has := t.Size(), i.Size
	return partsThat(map[Part]bool{
		PartMemory:   want.Memory != 0 && has.Memory != 0 && want.Memory != has.Memory,
		PartCPUs:     want.CPUs != 0 && has.CPUs != 0 && want.CPUs != has.CPUs,
		PartFlavor:   want.Flavor != "" && has.Flavor != "" && want.Flavor != has.Flavor,
		PartMetadata: !i.Metadata.Covers(t.Metadata),
		PartTags:     !i.Tags.Covers(t.Tags),
	})
}

// Parts returns the parts in which an instance of the older template has to be adjusted to be as one of this template,
// and whether that is all that it takes. It is not where they differ in anything else, where a domain's own XML says
// what the instance has, or where this one leaves open what the older one says, a text or a tag included: that stays on
// an instance.
func (t *Template) Parts(older *Template) (parts []Part, whole bool) {
	want, was := t.Size(), older.Size()
	parts = partsThat(map[Part]bool{
		PartMemory:   want.Memory != 0 && want.Memory != was.Memory,
		PartCPUs:     want.CPUs != 0 && want.CPUs != was.CPUs,
		PartFlavor:   want.Flavor != "" && want.Flavor != was.Flavor,
		PartMetadata: !older.Metadata.Covers(t.Metadata),
		PartTags:     !older.Tags.Covers(t.Tags),
	})
	adjusted := *older
	if t.XML == "" {
		adjusted = older.sized(want)
	}
	if t.Metadata.HasKeys(older.Metadata) {
		adjusted.Metadata = t.Metadata
	}
	if t.Tags.Covers(older.Tags) {
		adjusted.Tags = t.Tags
	}
	return parts, len(parts) > 0 && t.Builds(adjusted)
}

// partsThat returns those of the parts that are so, in order.
func partsThat(are map[Part]bool) []Part {
	var out []Part
	for _, p := range []Part{PartMemory, PartCPUs, PartFlavor, PartMetadata, PartTags} {
		if are[p] {
			out = append(out, p)
		}
	}
	return out
}
