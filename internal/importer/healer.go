package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// healer is a blueprint under way.
type healer struct {
	mover
	nodes, inputs *value
	fleets        yaml.MapSlice
	made          map[string]bool // the nodes that there is a fleet of
	clouds        map[string]bool // the providers that are needed
}

const (
	healerType     = "cloudify.nodes.Healer"
	healerRelation = "cloudify.relationships.healer_connected_to"
	failurePolicy  = "cloudify.policies.types.host_failure"
)

// Healer reads a Cloudify blueprint: its agentless healers, and its groups with a policy for the failure of a host.
func Healer(source Source) (Result, error) {
	v, err := parse(source)
	if err != nil {
		return Result{}, err
	}
	h := healer{
		nodes: v.get("node_templates"), inputs: v.get("inputs"), clouds: map[string]bool{}, made: map[string]bool{},
	}
	if h.nodes == nil {
		return Result{}, fmt.Errorf("%s: it has no node_templates, so it is no blueprint", source.Name)
	}
	h.watched()
	h.grouped(v.get("groups"))
	if len(h.fleets) == 0 {
		return Result{}, errors.New("no healer of the blueprint is connected to a node, and no group has a policy of " +
			"type " + failurePolicy)
	}
	h.differences()
	for _, p := range h.nodes.pairs {
		if !p.taken {
			p.taken, p.value.read = true, true
			h.note(Lost, p.value,
				"node_templates.%s (%s): hale looks after machines, and not after what is installed on them",
				p.key, p.value.get("type").str())
			for _, q := range p.value.pairs {
				q.taken = true
				q.value.all()
			}
		}
	}
	h.leftovers(v, healerReasons)
	var providers yaml.MapSlice
	if h.clouds["cloud"] {
		providers = append(providers, yaml.MapItem{
			Key:   "cloud",
			Value: mapOf("type", "openstack", "cloud", mapOf("name", "default")),
		})
		h.note(Missing, nil,
			"providers.cloud.cloud.name: the entry of clouds.yaml with the credentials that the plugin had")
	}
	if h.clouds["hosts"] {
		providers = append(providers, yaml.MapItem{
			Key:   "hosts",
			Value: mapOf("type", "libvirt", "uri", "qemu:///system"),
		})
		h.note(Missing, nil, "providers.hosts: the hypervisor of the nodes that no plugin of OpenStack makes")
	}
	return h.write("Cloudify", []Source{source}, mapOf("providers", providers, "fleets", h.fleets))
}

// all marks a value with all that is in it as read.
func (v *value) all() {
	v.read = true
	for _, p := range v.pairs {
		p.taken = true
		p.value.all()
	}
	for _, item := range v.items {
		item.all()
	}
}

var healerReasons = map[string]string{ //nolint:gosec // words of blueprints, and no credentials
	"cfy_creds": "hale needs no credentials of Cloudify",
	"debug":     "hale why says what was probed, and what came of it", "imports": "hale has no plugins",
	"tosca_definitions_version": "the file is no longer a blueprint",
	"interfaces":                "what is run on the machine belongs into user_data, or into a run step",
	"relationships":             "hale knows no relations between machines",
	"workflows":                 "use run steps", "outputs": "hale status --json says the addresses",
	"dsl_definitions": "YAML has anchors, which were followed", "node_types": "hale has no types of machines",
	"policy_types": "hale has its own policies", "policy_triggers": "the ladder is what is triggered",
	"plugins": "hale has no plugins", "service": "metrics of an agent are not carried over: add a check",
	"interval_between_workflows":      "repair.backoff is like it",
	"is_node_started_before_workflow": "hale looks once more before each step", "description": "comments are as good",
	"triggers": "the ladder is what is triggered", "labels": "hale has no labels of fleets",
	"blueprint_labels": "hale has no labels of fleets",
}

func (h *healer) differences() {
	for _, text := range []string{
		"only failures in a row count: Cloudify's healer counted all that there ever were (down_after)",
		"a machine that fails is looked at once more, proved to be off, and only then built anew; Cloudify ran " +
			"uninstall and install",
		"one machine is in repair at a time (limits.in_repair), a brake stops repairs when many fail at once, and " +
			"after three repairs within an hour a machine is left to a person",
		"on_external_stop is heal, as it was: a machine that a person stops is healed. hale's own default holds, and " +
			"tells a person",
		"all probes run in one process, so nothing is left running when a deployment goes",
	} {
		h.note(Differs, nil, "%s", text)
	}
}

// watched makes a fleet of each node that a healer is connected to, with a check for each of its healers.
func (h *healer) watched() {
	checks := map[string]yaml.MapSlice{}
	var targets []*value
	for _, p := range h.nodes.pairs {
		if !p.value.has("type") || p.value.has("type") && typeOf(p.value) != healerType {
			continue
		}
		p.taken = true
		p.value.get("type").str()
		name, check := h.check(p.key, p.value.get("properties"))
		for _, r := range p.value.get("relationships").list() {
			if r.get("type").str() != healerRelation {
				continue
			}
			to := r.get("target")
			if !h.nodes.has(to.str()) {
				h.note(Lost, to, "there is no node %q", to.str())
				continue
			}
			if checks[to.str()] == nil {
				targets = append(targets, to)
			}
			if check != nil {
				checks[to.str()] = append(checks[to.str()], yaml.MapItem{Key: name, Value: check})
			}
		}
	}
	for _, to := range targets {
		h.add(to, checks[to.str()])
	}
}

func typeOf(v *value) string {
	for _, p := range v.pairs {
		if p.key == "type" {
			return p.value.text
		}
	}
	return ""
}

// grouped makes a fleet of each member of a group that heals the failure of a host.
func (h *healer) grouped(groups *value) {
	if groups == nil {
		return
	}
	groups.read = true
	for _, g := range groups.pairs {
		if !g.value.has("policies") {
			continue
		}
		group := groups.get(g.key)
		policies := group.get("policies")
		policies.read = true
		for _, p := range policies.pairs {
			if !p.value.has("type") {
				continue
			}
			policy := policies.get(p.key)
			kind := policy.get("type")
			if kind.str() != failurePolicy {
				h.note(Lost, kind, "the policy %s (%s)", p.key, kind.str())
				continue
			}
			policy.get("properties")
			h.note(Differs, kind,
				"host_failure: what the provider says of a machine counts, and the checks that you add; no agent is "+
					"asked")
			for _, member := range group.get("members").list() {
				if h.nodes.has(member.str()) && !h.made[member.str()] {
					h.add(member, nil)
				}
			}
		}
	}
}

// check makes a check of a healer's properties.
func (h *healer) check(name string, p *value) (string, yaml.MapSlice) {
	kind := p.get("type")
	config := p.get("config")
	of := func(key string) *value {
		if v := config.get(key); v != nil {
			return h.input(v)
		}
		return h.input(p.get(key))
	}
	every, count := max(h.number(of("frequency"), 5), 1), max(h.number(of("count"), 3), 1)
	var probe yaml.MapSlice
	switch h.input(kind).str() {
	case "ping":
		probe = mapOf("ping", yaml.MapSlice{})
	case "http":
		http := yaml.MapSlice{}
		if of("secure").isTrue() {
			http = append(http, yaml.MapItem{Key: "scheme", Value: "https"})
		}
		if port := h.number(of("port"), 0); port > 0 {
			http = append(http, yaml.MapItem{Key: "port", Value: port})
		}
		if path := of("path").str(); path != "" {
			http = append(http, yaml.MapItem{Key: "path", Value: "/" + strings.TrimPrefix(path, "/")})
		}
		probe = mapOf("http", http)
	case "port":
		port := h.number(of("port"), 0)
		if port == 0 {
			port = 22
			h.note(Missing, kind, "the port of healer %s: 22 is taken", name)
		}
		probe = mapOf("tcp", mapOf("port", port))
	default:
		h.note(Lost, kind, "the healer %s of type %q: use an exec check with a program of your own", name, kind.str())
		return "", nil
	}
	name = h.usable(&value{text: name, read: true, file: p.file, line: p.line}, "check")
	return name, append(probe, mapOf("every", seconds(every), "down_after", count)...)
}

// input returns the default of an input that is asked for.
func (h *healer) input(v *value) *value {
	if v == nil || !v.has("get_input") {
		return v
	}
	asked := v.get("get_input")
	found := h.inputs.get(asked.str(), "default")
	if found == nil {
		h.note(Missing, v, "%s: the input %s has no default", v.path, asked.str())
	}
	return found
}
