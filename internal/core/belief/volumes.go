package belief

import (
	"slices"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Volumes is where a machine's kept disks lie, from the first call of an instance with them on. They outlive every
// instance.
type Volumes struct {
	// Host has them, and so does every host that shares its Storage, if that has a name.
	Host    fleet.HostName
	Storage string `json:",omitempty"`
	// Made are the names of those that an instance had already, sorted: there is data on them, so that nothing is built
	// without them, and none of them is ever made anew.
	Made []string `json:",omitempty"`
}

// Reaches reports whether an instance on the host could have the machine's kept disks.
func (m *Machine) Reaches(h fleet.Host) bool {
	v := m.Volumes
	return v == nil || h.Name == v.Host || v.Storage != "" && v.Storage == h.Place.Storage
}

// At returns where the volumes are when an instance with them is ordered on the host.
func (v *Volumes) At(h fleet.Host) *Volumes {
	next := Volumes{Host: h.Name, Storage: h.Place.Storage}
	if v != nil {
		next.Made = v.Made
	}
	if v.equal(&next) {
		return v
	}
	return &next
}

// With returns the volumes when an instance of the template stands, which has all of its kept disks.
func (v *Volumes) With(t *policy.Template) *Volumes {
	if v == nil {
		return nil
	}
	made := slices.Clone(v.Made)
	for _, d := range t.Disks {
		if d.Attached() && !slices.Contains(made, d.Name) {
			made = append(made, d.Name)
		}
	}
	slices.Sort(made)
	return &Volumes{Host: v.Host, Storage: v.Storage, Made: made}
}

// Unused reports whether no instance ever had one of them.
func (v *Volumes) Unused() bool { return v != nil && len(v.Made) == 0 }

func (v *Volumes) equal(o *Volumes) bool {
	if v == nil || o == nil {
		return v == o
	}
	return v == o || v.Host == o.Host && v.Storage == o.Storage && slices.Equal(v.Made, o.Made)
}
