package fleets

import (
	"slices"

	"hale/internal/config/sizes"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
)

// selects reports whether the fleet takes machines that exist already.
func (c *compiler) selects() bool { return c.draft.selects.Written() }

// adoption judges what the fleet selects, and what it may do with it.
func (c *compiler) adoption() policy.Adoption {
	d := c.draft
	if !c.selects() {
		if d.adopt.Written() {
			c.Add(d.adopt.Spot, "comes without select", "add select: {name: \"db-*\"}, or take it out")
		}
		return policy.Adoption{}
	}
	replaceable := d.adopt.Value.replaceable.Value
	switch {
	case d.template.Written() && !replaceable:
		c.Add(d.template.Spot, "builds nothing: select takes machines that exist already",
			"take it out, or add adopt: {replaceable: true} to let hale replace them")
	case !d.template.Written() && replaceable:
		c.Add(d.adopt.Value.replaceable.Spot, "needs a template to build the new machine from",
			"add template, or take it out")
	}
	return policy.Adoption{Select: c.selector(), Replaceable: replaceable, Expected: sizes.Asked(d.size).Value}
}

// selector says which machines are meant. Whoever says nothing of names means any, where something else is said.
func (c *compiler) selector() policy.Selector {
	d := c.draft.selects.Value
	s := policy.Selector{Name: d.name.Value,
		Except: slices.Compact(slices.Sorted(slices.Values(keys.Values(d.except))))}
	for _, id := range keys.Values(d.ids) {
		s.IDs = append(s.IDs, fleet.InstanceID(id))
	}
	slices.Sort(s.IDs)
	s.IDs = slices.Compact(s.IDs)
	texts := map[string]string{}
	for _, n := range d.metadata.Value {
		texts[n.Name] = n.Value
		if !fleet.MetadataValue(n.Value) {
			c.Add(n.Spot, "is more than one line, which no machine bears", "write one line")
		}
	}
	s.Metadata = fleet.MetadataOf(texts)
	for _, tag := range d.tags.Value {
		if s.Tags = append(s.Tags, tag.Value); !fleet.TagValue(tag.Value) {
			c.Add(tag.Spot, "is more than one line, which is no tag", "write one line")
		}
	}
	slices.Sort(s.Tags)
	s.Tags = slices.Compact(s.Tags)
	if d.tags.Written() && c.known && !c.kind.Tags {
		c.Add(d.tags.Spot, "are not available: hale sees no tags at this provider", "select by metadata, or by name")
	}
	switch {
	case d.name.How != keys.Absent:
	case s.Metadata != "" || len(s.Tags)+len(s.IDs) > 0:
		s.Name = "*"
	case d.ids.How != keys.Broken && d.metadata.How != keys.Broken && d.tags.How != keys.Broken &&
		c.draft.selects.How != keys.Broken:
		c.Add(c.draft.selects.Spot, "says of no machine that it is meant", "add name: \"db-*\", ids, metadata or tags")
	}
	return s
}

// unreplaceable is what is wrong with a recreate of machines that hale may not destroy.
var unreplaceable = keys.Flawf("add adopt: {replaceable: true} and a template, or take the step out",
	"would destroy machines that existed before hale")
