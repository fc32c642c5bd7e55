package importer

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// add makes a fleet of a node.
func (h *healer) add(at *value, checks yaml.MapSlice) {
	node := h.nodes.get(at.str())
	node.read = true
	name := h.usable(&value{text: at.str(), file: at.file, line: at.line}, "machines")
	for slices.ContainsFunc(h.fleets, func(f yaml.MapItem) bool { return f.Key == name }) {
		name += "-too"
	}
	h.made[at.str()] = true
	kind := node.get("type").str()
	size := h.size(node)
	f := yaml.MapSlice{}
	steps := []yaml.MapSlice{{{Key: "start", Value: yaml.MapSlice{}}}}
	if strings.Contains(strings.ToLower(kind), "openstack") {
		h.clouds["cloud"] = true
		template := h.template(name, node.get("properties"))
		f = append(f, mapOf("provider", "cloud", "mode", observe, "size", size, "template", template)...)
		steps = append(steps, mapOf("recreate", yaml.MapSlice{}))
		h.note(Differs, node, "a machine that is off is started first; the heal workflow built it anew at once")
	} else {
		h.clouds["hosts"] = true
		h.note(Missing, node,
			"fleets.%s: of a node of type %s hale knows only the name: it takes machines that exist, by their names "+
				"(select)", name, kind)
		h.note(Missing, node,
			"fleets.%s.template: add one, and adopt: {replaceable: true}, and the ladder may recreate, as the heal "+
				"workflow did", name)
		f = append(f, mapOf("provider", "hosts", "mode", observe, "select", mapOf("name", at.str()+"*"))...)
		steps = append(steps, mapOf("reboot", yaml.MapSlice{}), mapOf("page", yaml.MapSlice{}))
	}
	f = append(f, mapOf("checks", checks, "repair", mapOf("steps", steps), "on_external_stop", "heal")...)
	h.fleets = append(h.fleets, yaml.MapItem{Key: name, Value: f})
}

// size is how many instances the node has.
func (h *healer) size(node *value) int {
	for _, path := range [][]string{
		{"instances", "deploy"},
		{"capabilities", "scalable", "properties", "default_instances"},
	} {
		if v := node.get(path...); v != nil {
			return max(h.number(h.input(v), 1), 1)
		}
	}
	return 1
}

// template makes a template of the properties of a server of the OpenStack plugin, version 2 or 3.
func (h *healer) template(name string, p *value) yaml.MapSlice {
	of := func(keys ...string) *value {
		for _, under := range [][]string{nil, {"server"}, {"resource_config"}, {"args"}} {
			for _, key := range keys {
				if v := p.get(append(under, key)...); v != nil {
					return h.input(v)
				}
			}
		}
		return nil
	}
	need := func(what, otherwise string, v *value) string {
		if s := v.str(); s != "" {
			return s
		}
		h.note(Missing, p, "fleets.%s.template.%s: the node does not say it plainly", name, what)
		return otherwise
	}
	h.note(Differs, p,
		"disks.root is ephemeral: what is on it is lost in a recreate, as it was in the heal workflow. Write root: "+
			"keep where that must not be")
	return mapOf("image", need("image", "image", of("image", "image_id")), "network",
		need("network", "private", of("management_network_name", "network")),
		"disks", mapOf("root", "ephemeral"), "user_data", of("userdata", "user_data").str(),
		"server",
		mapOf("flavor", need("server.flavor", "flavor", of("flavor", "flavor_id")), "security_groups",
			of("security_groups").strs(),
			"keypair", of("key_name").str(), "zone", of("availability_zone").str()))
}
