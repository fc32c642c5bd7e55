package importer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hale/internal/core/fleet"

	"github.com/goccy/go-yaml"
)

// senlin is what the files say, as far as they are there.
type senlin struct {
	mover
	policy, profile, cluster *value
	scaleOut, scaleIn        *value
	deletion                 *value
	files                    []*value // as they begin
}

// Senlin reads a health policy, and, in any order, policies of scaling and of deletion, a server profile and a cluster,
// each recognised by what is in it.
func Senlin(sources []Source) (Result, error) {
	s := senlin{}
	for _, source := range sources {
		v, err := parse(source)
		if err != nil {
			return Result{}, err
		}
		s.files = append(s.files, v)
		into := &s.cluster
		switch kind := v.get("type").str(); {
		case strings.HasPrefix(kind, "senlin.policy.health"):
			into = &s.policy
		case strings.HasPrefix(kind, "senlin.policy.scaling"):
			into = s.scaling(v)
		case strings.HasPrefix(kind, "senlin.policy.deletion"):
			into = &s.deletion
		case strings.HasPrefix(kind, "os.nova.server"):
			into = &s.profile
		case kind != "":
			return Result{}, fmt.Errorf("%s:%d: type %s is none of senlin.policy.health, senlin.policy.scaling, "+
				"senlin.policy.deletion and os.nova.server", source.Name, v.get("type").line, kind)
		case v.has("cluster"):
			v = v.get("cluster")
		}
		if *into != nil {
			return Result{}, fmt.Errorf("%s is a second file of what %s is", source.Name, (*into).file)
		}
		*into = v
	}
	if s.policy == nil {
		return Result{}, errors.New("none of the files is a health policy (type: senlin.policy.health)")
	}
	config := s.config()
	for _, v := range s.files {
		s.leftovers(v, senlinReasons)
	}
	return s.write("Senlin", sources, config)
}

// sayVolumes is why a mapping of volumes is not carried over: which of them are to be kept, it does not say.
const sayVolumes = "write server.boot_volume for the one that is booted from, and disks with a size for others: " +
	"those are made once and kept"

// senlinReasons says why some keys are not carried over.
var senlinReasons = map[string]string{
	"admin_pass":  "a password is not written into a configuration; use a key pair, or user_data",
	"personality": "use user_data", "block_device_mapping": sayVolumes, "block_device_mapping_v2": sayVolumes,
	"floating_ip": "hale allocates the machine's floating address itself: server.floating_ip names the external " +
		"network; or give the kept port this one once, and set server.keep_port",
	"floating_network": "a machine has one floating address, at its first network",
	"port":             "hale makes the machine's port itself; server.keep_port keeps it",
	"fixed_ip":         "server.keep_port keeps the address that the machine gets first",
	"workflow_name":    "use a run step with a program of your own",
	"inputs":           "use a run step with a program of your own",
	"timeout":          "each step of the ladder has its own", "profile_id": "the profile is the file that was given",
	"destroy_after_deletion":  "hale removes what it has too many of; machines that must stay are put under stay",
	"reduce_desired_capacity": "a machine that is deleted by name lowers the size in any case",
	"hooks":                   "use down.grace, and have your program look at hale events",
	"dependents":              "hale has no fleets that depend on others", "STORAGE": "hale fences by power alone",
	"NETWORK": "hale fences by power alone", "metadata": "hale keeps none of a fleet itself",
	"name": "hale names machines after their fleet", "status": "what was once is not carried over",
	"status_reason": "what was once is not carried over", "nodes": "the servers are found by their metadata",
}

func (s *senlin) config() yaml.MapSlice {
	name := s.fleetName()
	s.version(s.policy, "1.0", "1.1", "1.2")
	s.version(s.profile, "1.0")
	s.version(s.scaleOut, "1.0")
	s.version(s.scaleIn, "1.0")
	s.version(s.deletion, "1.0", "1.1")
	interval, checks, condition := s.detection()
	steps, fence := s.recovery()
	provider := mapOf("type", "openstack", "cloud",
		mapOf("name", "default", "region", s.profile.get("properties", "context", "region_name").str()),
		"poll", interval)
	s.note(Missing, nil,
		"providers.cloud.cloud.name: the entry of clouds.yaml with the credentials of the cluster's project")
	built := s.population(name)
	f := append(mapOf("provider", "cloud", "mode", observe), built...)
	f = append(f,
		mapOf("checks", checks, "unhealthy_when", condition, "repair", mapOf("steps", steps, "fence", fence),
			"on_external_stop", "heal",
			"grace", seconds(s.number(s.policy.get("properties", "detection", "node_update_timeout"), 300)))...)
	s.differences()
	return mapOf("providers", mapOf("cloud", provider), "fleets", mapOf(name, f))
}

// version notes a spec that is of another version than those that are known.
func (s *senlin) version(v *value, known ...string) {
	if of := v.get("version"); of != nil && !slices.Contains(known, of.str()) {
		s.note(Lost, of, "version %s is none of %s: what is new in it may be missing",
			of.str(), strings.Join(known, ", "))
	}
}

func (s *senlin) differences() {
	for _, text := range []string{
		"a machine that fails is looked at once more before anything is done to it, and the old instance is proved " +
			"to be off before another one is built",
		"when more machines fail at once than limits.brake allows, hale stops and tells a person; Senlin went on",
		"after three repairs within an hour (repair.attempts) a machine is left to a person; Senlin went on for ever",
		"one machine is in repair at a time (limits.in_repair); Senlin recovered all at once",
		"what the cloud says counts only when the whole list is believable: an API that answers 404 to everything " +
			"recovers nothing",
		"on_external_stop is heal, as it was with Senlin: a server that a person stops is started again. hale's own " +
			"default holds, and tells a person",
	} {
		s.note(Differs, nil, "%s", text)
	}
}

// fleetName is the cluster's name, as far as hale can use it.
func (s *senlin) fleetName() string {
	v := s.cluster.get("name")
	if v == nil {
		s.note(Missing, nil, "the fleet's name: there is none of a cluster, so it is called senlin")
		return "senlin"
	}
	return s.usable(v, "senlin")
}

// usable makes a name of hale's out of any other.
func (m *mover) usable(v *value, otherwise string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '-'
	}, strings.ToLower(v.str())), "-0123456789")
	parsed, err := fleet.ParseName(name)
	if err != nil {
		parsed = otherwise
	}
	if parsed != v.text {
		m.note(Lost, v, "the name %q is none that machines can have; the fleet is called %s", v.text, parsed)
	}
	return parsed
}

// population says which machines there are: built from the profile, or those that exist already.
func (s *senlin) population(name string) yaml.MapSlice {
	if s.profile == nil {
		return s.existing(name)
	}
	theirs := "{name: …}"
	if id := s.cluster.get("id").str(); id != "" {
		theirs = fmt.Sprintf("{metadata: {%s: %s}}", senlinCluster, id)
	}
	s.note(Differs, nil,
		"hale builds the machines of fleet %s anew, and leaves Senlin's servers alone. To take those over as they "+
			"are, replace size by select: %s, and add adopt: {replaceable: true}", name, theirs)
	return mapOf("size", s.size(name), "template", s.template(name))
}

// senlinCluster is the key of the metadata by which Senlin names a server's cluster.
const senlinCluster = "cluster_id"

// existing selects the cluster's servers: by what Senlin wrote on each, where the cluster's id is known.
func (s *senlin) existing(name string) yaml.MapSlice {
	s.note(Missing, nil,
		"fleets.%s.template: add one, and adopt: {replaceable: true}, and the ladder may rebuild and recreate", name)
	size := s.cluster.get("desired_capacity")
	s.unsized()
	id := s.cluster.get("id").str()
	if id == "" {
		s.note(Missing, nil,
			"fleets.%s.select.name: without a profile hale cannot build, so it takes servers that exist, by their "+
				"names. Better by what Senlin wrote on them: give a file of the cluster with its id, as openstack "+
				"cluster show prints it", name)
		return mapOf("select", mapOf("name", "node-*"))
	}
	s.note(Differs, nil,
		"without a profile hale cannot build, so it takes the cluster's servers as they are, by the %s that Senlin "+
			"wrote in their metadata; one that is gone is told to a person",
		senlinCluster)
	out := mapOf("select", mapOf("metadata", mapOf(senlinCluster, id)))
	if size != nil {
		out = append(mapOf("size", max(s.number(size, 1), 1)), out...)
	}
	return out
}
