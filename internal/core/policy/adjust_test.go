package policy_test

import (
	"slices"
	"testing"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

func texts(of map[string]string) fleet.Metadata { return fleet.MetadataOf(of) }

func TestSomePartsOfATemplateAreChangedOnTheInstanceItself(t *testing.T) {
	t.Parallel()
	old := policy.Template{Image: "web.qcow2", Memory: 256 << 20, CPUs: 1, Network: "default",
		Metadata: texts(map[string]string{"role": "web", "tier": "gold"}), Tags: fleet.TagsOf([]string{"blue"}),
		Disks: []policy.Disk{{Name: "root", Ephemeral: true}}}
	cloud := policy.Template{Image: "web", Network: "private",
		Server: &policy.Server{Flavor: "m1.nano", KeepPort: true}}
	for what, c := range map[string]struct {
		older  policy.Template
		change func(*policy.Template)
		parts  []policy.Part
		whole  bool
	}{
		"nothing": {old, func(*policy.Template) {}, nil, false},
		"memory":  {old, func(n *policy.Template) { n.Memory *= 2 }, []policy.Part{policy.PartMemory}, true},
		"memory and processors": {old, func(n *policy.Template) { n.Memory, n.CPUs = n.Memory*2, 2 },
			[]policy.Part{policy.PartMemory, policy.PartCPUs}, true},
		"a size that is left open": {old, func(n *policy.Template) { n.Memory, n.CPUs = 0, 2 },
			[]policy.Part{policy.PartCPUs}, false},
		"another text": {old, func(n *policy.Template) {
			n.Metadata = texts(map[string]string{"role": "db", "tier": "gold", "x": "y"})
		}, []policy.Part{policy.PartMetadata}, true},
		"a text less": {old, func(n *policy.Template) { n.Metadata = texts(map[string]string{"role": "db"}) },
			[]policy.Part{policy.PartMetadata}, false},
		"a tag more": {old, func(n *policy.Template) { n.Tags = fleet.TagsOf([]string{"blue", "new"}) },
			[]policy.Part{policy.PartTags}, true},
		"another tag": {old, func(n *policy.Template) { n.Tags = fleet.TagsOf([]string{"green"}) },
			[]policy.Part{policy.PartTags}, false},
		"an image, too": {old, func(n *policy.Template) { n.Memory, n.Image = n.Memory*2, "new.qcow2" },
			[]policy.Part{policy.PartMemory}, false},
		"what a disk is kept for": {old, func(n *policy.Template) {
			n.CPUs, n.Disks = 2, []policy.Disk{{Name: "root"}}
		}, []policy.Part{policy.PartCPUs}, true},
		"a flavor": {cloud, func(n *policy.Template) { n.Server = &policy.Server{Flavor: "m1.micro", KeepPort: true} },
			[]policy.Part{policy.PartFlavor}, true},
		"a flavor and the port": {cloud, func(n *policy.Template) { n.Server = &policy.Server{Flavor: "m1.micro"} },
			[]policy.Part{policy.PartFlavor}, false},
		"memory, where a domain's own XML says it": {policy.Template{XML: "<domain/>", Memory: 1 << 20},
			func(n *policy.Template) { n.Memory = 2 << 20 }, []policy.Part{policy.PartMemory}, false},
	} {
		is := c.older
		c.change(&is)
		parts, whole := is.Parts(&c.older)
		if !slices.Equal(parts, c.parts) || whole != c.whole {
			t.Errorf("%s: %v, whole %t; want %v, %t", what, parts, whole, c.parts, c.whole)
		}
		if rest := policy.NeedRest(parts); rest != slices.ContainsFunc(c.parts, func(p policy.Part) bool {
			return p == policy.PartMemory || p == policy.PartCPUs || p == policy.PartFlavor
		}) {
			t.Errorf("%s: it is to be off: %t", what, rest)
		}
	}
}

func TestDriftIsWhatIsKnownToBeOtherwise(t *testing.T) {
	t.Parallel()
	wanted := policy.Template{Memory: 256 << 20, CPUs: 2, Metadata: texts(map[string]string{"role": "web"}),
		Tags: fleet.TagsOf([]string{"blue"}), Server: &policy.Server{Flavor: "m1.nano"}}
	as := fleet.Instance{Size: fleet.Size{Memory: 256 << 20, CPUs: 2, Flavor: "m1.nano"},
		Metadata: texts(map[string]string{"role": "web", "by": "another"}), Tags: fleet.TagsOf([]string{"blue", "x"})}
	for what, c := range map[string]struct {
		change func(*fleet.Instance)
		want   []policy.Part
	}{
		"none":               {func(*fleet.Instance) {}, nil},
		"a size is not told": {func(i *fleet.Instance) { i.Size = fleet.Size{} }, nil},
		"more memory":        {func(i *fleet.Instance) { i.Memory *= 2 }, []policy.Part{policy.PartMemory}},
		"another flavor":     {func(i *fleet.Instance) { i.Flavor = "m1.big" }, []policy.Part{policy.PartFlavor}},
		"a text was removed": {func(i *fleet.Instance) { i.Metadata = "" }, []policy.Part{policy.PartMetadata}},
		"a tag, and processor": {func(i *fleet.Instance) { i.Tags, i.CPUs = "", 1 },
			[]policy.Part{policy.PartCPUs, policy.PartTags}},
	} {
		is := as
		c.change(&is)
		if got := wanted.Drift(&is); !slices.Equal(got, c.want) {
			t.Errorf("%s: it drifts in %v, want %v", what, got, c.want)
		}
	}
}
