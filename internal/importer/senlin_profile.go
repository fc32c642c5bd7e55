package importer

import (
	"github.com/goccy/go-yaml"
)

// template makes a template of a profile of type os.nova.server.
func (s *senlin) template(name string) yaml.MapSlice {
	p := s.profile.get("properties")
	networks, groups, external := s.networks(p.get("networks"))
	groups = append(groups, p.get("security_groups").strs()...)
	var network string
	if len(networks) > 0 {
		network, networks = networks[0], networks[1:]
	} else {
		network = "private"
		s.note(Missing, p, "fleets.%s.template.network: the profile names none by its name", name)
	}
	image, flavor := p.get("image").str(), p.get("flavor").str()
	if image == "" {
		image = "image"
		s.note(Missing, p, "fleets.%s.template.image: the profile names none", name)
	}
	if flavor == "" {
		flavor = "flavor"
		s.note(Missing, p, "fleets.%s.template.server.flavor: the profile names none", name)
	}
	s.note(Differs, p,
		"disks.root is ephemeral: what is on it is lost in a rebuild or recreate, as it was with Senlin. Write root: "+
			"keep where that must not be")
	var drive any
	if p.get("config_drive").isTrue() {
		drive = true
	}
	return mapOf("image", image, "network", network, "disks", mapOf("root", "ephemeral"), "user_data",
		p.get("user_data").str(), "metadata", s.metadata(p.get("metadata")),
		"server",
		mapOf("flavor", flavor, "networks", networks, "floating_ip", external, "security_groups", groups,
			"server_group", p.get("scheduler_hints", "group").str(),
			"keypair", p.get("key_name").str(), "zone", p.get("availability_zone").str(), "config_drive", drive))
}

// networks returns the networks' names, and what the first one says: its security groups, and where its floating
// address is from.
func (s *senlin) networks(v *value) (names, groups []string, external string) {
	for i, n := range v.list() {
		if name := n.get("network").str(); name != "" {
			names = append(names, name)
		}
		if i == 0 {
			groups, external = n.get("security_groups").strs(), n.get("floating_network").str()
		}
	}
	return names, groups, external
}

// metadata returns texts by key.
func (s *senlin) metadata(v *value) yaml.MapSlice {
	if v == nil {
		return nil
	}
	var out yaml.MapSlice
	for _, p := range v.pairs {
		if text := v.get(p.key).str(); text != "" {
			out = append(out, yaml.MapItem{Key: p.key, Value: text})
		}
	}
	return out
}
