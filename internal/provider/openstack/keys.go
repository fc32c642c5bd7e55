package openstack

import (
	"context"
	"fmt"
	"strings"

	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/keys"
	"hale/internal/kinds"
	"hale/internal/provider"
	"hale/internal/provider/openstack/notification"
)

// Kind is the provider type openstack.
func Kind() kinds.Provider {
	return kinds.Provider{
		Word: "openstack", Doc: "for a project of an OpenStack cloud",
		Usages: policy.Usages(),
		Remarks: kinds.Remarks{
			"adjust": {Has: "the flavor while it is off, by a resize that is confirmed at once; metadata and tags " +
				"at once"},
			"keep":     {Has: "its port, with the addresses, and its kept volumes go to its successor"},
			"snapshot": {Has: "an image; not of a server that boots from a volume"},
			"revert":   {Has: "by a rebuild from the image of the copy"},
			"rebuild":  {Has: "of one that boots from a volume where Nova speaks 2.93"},
			"migrate": {Has: "live, where Nova can", Lacks: "name the hypervisors in hosts, with an " +
				"administrator's credentials"},
			"evacuate": {Lacks: "name the hypervisors in hosts, with an administrator's credentials"},
		},
		Hosts: true, HostAddresses: true, Central: true, Builds: true, Source: true, Volumes: true, Tags: true,
		Moves: true, MovesIf: "name the hypervisors in hosts of the provider, with credentials that may see them",
		Rescues: true, KeepsNames: true,
		Keys: keys.SectionOf("openstack", providerKeys(), compileKeys),
		Template: keys.Under("server", "openstack only, and needed there: what the cloud is told of a machine, beside "+
			"image, network and user_data. Names may be ids.", serverShape(), templated),
		Without: []string{"kernel", "initrd", "cmdline", "xml", "memory", "cpus", "seed", "accel"},
		Why:     "does not belong to a server of a cloud", Instead: "take it out: the flavor and the image say it",
		Stored: kinds.StoredAs[Settings],
	}
}

// Settings are what the keys come to.
type Settings struct {
	Entry `json:"Cloud"`
	// Events is how the message bus is listened to; nil: it is not.
	Events *notification.Options `json:"-"`
}

// Entry is an entry of clouds.yaml.
type Entry struct {
	Name   string
	File   string // absolute; empty: in one of the usual places
	Region string // empty: that of the entry
}

// SameAddress implements kinds.Settings.
func (s Settings) SameAddress(was kinds.Settings, _ kinds.Hosts) bool {
	o, ok := was.(Settings)
	return ok && s.Entry == o.Entry
}

// Restored implements kinds.Partial.
func (s Settings) Restored(now kinds.Settings) kinds.Settings {
	if n, ok := now.(Settings); ok {
		s.Events = n.Events
	}
	return s
}

// Connect implements kinds.Settings. The adapter logs in with the first call.
func (s Settings) Connect(_ context.Context, c kinds.Connection) (kinds.Connected, error) {
	o := Options{
		Cloud: s.Name, CloudsFile: s.File, Region: s.Region, Hypervisors: len(c.Hosts) > 0, Places: c.Places(),
		Logger: c.Logger, Panics: c.Panics,
	}
	if s.Events != nil {
		events := *s.Events
		events.Name = string(c.Name)
		o.Events = &events
	}
	p, err := New(o)
	if err != nil {
		return kinds.Connected{}, err
	}
	var watcher provider.Watcher
	if s.Events != nil {
		watcher = p
	}
	return c.Real(p, watcher), nil
}

type ownDraft struct {
	cloud  keys.At[CloudDraft]
	events keys.At[eventsDraft]
}

func providerKeys() []keys.Field[ownDraft] {
	return []keys.Field[ownDraft]{
		keys.May("cloud", "openstack only, and needed there: which cloud, as clouds.yaml describes it; the "+
			"credentials are for one project, which is the provider.",
			CloudShape(), func(p *ownDraft) *keys.At[CloudDraft] { return &p.cloud }),
		keys.May("events", "openstack only: the cloud's message bus, on which Nova says at once what happens to "+
			"servers. Without it, hale sees it with the next poll.",
			eventsShape(), func(p *ownDraft) *keys.At[eventsDraft] { return &p.events }).Said("none"),
	}
}

// CloudDraft is which cloud is meant.
type CloudDraft struct {
	name, file, region keys.At[string]
}

// serverDraft is what a cloud is told of a machine, beside image, network and user data.
type serverDraft struct {
	flavor, serverGroup, keyPair, zone keys.At[string]
	floatingIP                         keys.At[string]
	networks, securityGroups, tags     keys.At[[]keys.At[string]]
	keepPort, configDrive              keys.At[bool]
	bootVolume                         keys.At[bootVolumeDraft]
	volumeZone                         keys.At[string]
}

// bootVolumeDraft is the volume that a server boots from.
type bootVolumeDraft struct {
	size keys.At[uint64]
	made keys.At[string] // its type
}

// Entry is the entry of clouds.yaml.
func (c CloudDraft) Entry() Entry {
	return Entry{Name: c.name.Value, File: keys.Path(c.file), Region: c.region.Value}
}

// CloudShape reads the name of a cloud in clouds.yaml, or a mapping with more.
func CloudShape() keys.Shorthand[CloudDraft, string] {
	return keys.Shorthand[CloudDraft, string]{
		Short: keys.Text("a name in clouds.yaml", "production"),
		Long: keys.Object[CloudDraft]{Fields: []keys.Field[CloudDraft]{
			keys.Must("name", "production", "The entry of clouds.yaml.", keys.Text("a name in clouds.yaml",
				"production"), func(c *CloudDraft) *keys.At[string] { return &c.name }),
			keys.May("file", "The file, where it is not in one of the usual places (`OS_CLIENT_CONFIG_FILE`, the "+
				"working folder, `~/.config/openstack`, `/etc/openstack`). Relative paths begin at the folder of "+
				"this file.",
				keys.Text("a path", "clouds.yaml"), func(c *CloudDraft) *keys.At[string] { return &c.file }),
			keys.May("region", "The region, where it is not that of the entry.", keys.Text("a region",
				"RegionOne"), func(c *CloudDraft) *keys.At[string] { return &c.region }),
		}},
		Take: func(name keys.At[string]) CloudDraft { return CloudDraft{name: name} },
	}
}

func serverShape() keys.Object[serverDraft] {
	return keys.Object[serverDraft]{
		Fields: []keys.Field[serverDraft]{
			keys.Must("flavor", "m1.small", "The flavor: processors, memory and disk.", keys.Text("a flavor",
				"m1.small"), func(s *serverDraft) *keys.At[string] { return &s.flavor }),
			keys.May("networks", "Further networks, beside the template's. Their ports go with the instance.",
				keys.List[string]{Noun: "one network", Each: keys.Text("a network",
					"storage")},
				func(s *serverDraft) *keys.At[[]keys.At[string]] { return &s.networks }).Said("none"),
			keys.Or("keep_port", false, "The machine's port, and with it its address, hardware address and floating "+
				"address, goes from instance to instance.", keys.Boolean(),
				func(s *serverDraft) *keys.At[bool] { return &s.keepPort }),
			keys.May("floating_ip", "The external network that gives the machine a floating address of its own. It "+
				"is allocated with the machine's first instance, goes from instance to instance, also without "+
				"`keep_port`, and is released when the machine is removed from its fleet.",
				keys.Text("an external network", "public"),
				func(s *serverDraft) *keys.At[string] { return &s.floatingIP }).Said("none"),
			keys.May("security_groups", "The security groups of the machine's port. A port that goes "+
				"from instance to instance gets them with the next one; without the key it keeps those that it has.",
				keys.List[string]{Noun: "one security group", Each: keys.Text("a security group",
					"web")},
				func(s *serverDraft) *keys.At[[]keys.At[string]] { return &s.securityGroups }).Said(
				"the project's default"),
			keys.May("server_group", "The server group. Its policy (affinity or anti-affinity) Nova's scheduler "+
				"follows.",
				keys.Text("a server group", "web-apart"),
				func(s *serverDraft) *keys.At[string] { return &s.serverGroup }),
			keys.May("tags", "The server's tags, beside hale's own.",
				keys.List[string]{Noun: "one tag", Each: keys.Text("a tag", "blue")},
				func(s *serverDraft) *keys.At[[]keys.At[string]] { return &s.tags }).Said("none"),
			keys.May("keypair", "The key pair that cloud-init lets in.", keys.Text("a key pair", "operators"),
				func(s *serverDraft) *keys.At[string] { return &s.keyPair }),
			keys.May("zone", "The availability zone.", keys.Text("an availability zone", "nova"),
				func(s *serverDraft) *keys.At[string] { return &s.zone }),
			keys.May("boot_volume", "Boot from a volume of this size with the image on it, not from a disk of the "+
				"flavor's. It goes with the instance.", bootVolumeShape(),
				func(s *serverDraft) *keys.At[bootVolumeDraft] { return &s.bootVolume }).Said("the flavor's disk"),
			keys.May("volume_zone", "The availability zone of the volumes that are kept (`disks` with a size), where "+
				"Cinder has zones of its own.",
				keys.Text("an availability zone", "nova"),
				func(s *serverDraft) *keys.At[string] { return &s.volumeZone }).Said("Cinder's choice"),
			keys.Or("config_drive", false, "Give user data and metadata by a drive, too.", keys.Boolean(),
				func(s *serverDraft) *keys.At[bool] { return &s.configDrive }),
		},
		Later: map[string]string{
			"volume": "write boot_volume: 20GiB", "volumes": "write template.disks: {data: {size: 20GiB}}",
		},
	}
}

func bootVolumeShape() keys.Shorthand[bootVolumeDraft, uint64] {
	return keys.Shorthand[bootVolumeDraft, uint64]{
		Short: keys.Size(1<<30, 1<<50),
		Long: keys.Object[bootVolumeDraft]{Fields: []keys.Field[bootVolumeDraft]{
			keys.Must("size", "20GiB", "Its size.", keys.Size(1<<30, 1<<50),
				func(b *bootVolumeDraft) *keys.At[uint64] { return &b.size }),
			keys.May("type", "The type of volume.", keys.Text("a type of volume", "ssd"),
				func(b *bootVolumeDraft) *keys.At[string] { return &b.made }).Said("Cinder's default"),
		}},
		Take: func(size keys.At[uint64]) bootVolumeDraft { return bootVolumeDraft{size: size} },
	}
}

func compileKeys(e kinds.Entry, d *ownDraft) kinds.Made {
	s := Settings{Events: events(e.Finder, d.events)}
	if c := d.cloud.Value; d.cloud.Written() {
		s.Entry = c.Entry()
	} else {
		e.Add(e.Spot.Under("cloud"), "is missing", "add cloud: with the name of an entry of clouds.yaml")
	}
	return kinds.Made{Settings: s}
}

// templated returns the template with what the cloud is told: the image by its name, and what the flavor does not say.
func templated(m kinds.Machine, server keys.At[serverDraft]) policy.Template {
	d, t := m.Draft, m.Common
	t.Image, t.Memory, t.CPUs, t.Accel = d.Image.Value, 0, 0, ""
	for _, n := range d.Disks.Value {
		judgeSize(m.Finder, n.Value.Size)
	}
	judgeSize(m.Finder, server.Value.bootVolume.Value.size)
	switch {
	case !m.Needed:
		return t
	case !d.Image.Written():
		m.Add(m.Spot, "does not say what to build from", "add image, and server: {flavor: …}")
	case !server.Written():
		m.Add(m.Spot, "does not say what server to build", "add server: {flavor: m1.small}")
	case !d.Network.Given():
		m.Add(m.Spot, "does not say on which network", "add network")
	}
	for _, n := range d.Metadata.Value {
		if strings.HasPrefix(n.Name, "hale_") {
			m.Add(n.Spot, "is a key of hale's own", "choose another one")
		}
	}
	judgeTags(m.Finder, server.Value.tags)
	t.Server, t.Tags = serverOf(server.Value), fleet.TagsOf(keys.Values(server.Value.tags))
	return t
}

// longestTag is how long a tag of Nova's is at most, and mostTags how many a server has, hale's own among them.
const (
	longestTag = 60
	mostTags   = 50
)

// judgeTags reports tags that no server has, or that are hale's.
func judgeTags(f *keys.Finder, tags keys.At[[]keys.At[string]]) {
	if len(tags.Value) >= mostTags {
		f.Add(tags.Spot, fmt.Sprintf("has %d tags, and a server has at most %d with hale's own", len(tags.Value),
			mostTags), "write fewer")
	}
	for _, tag := range tags.Value {
		switch word := tag.Value; {
		case !tag.Known():
		case strings.HasPrefix(word, tagPrefix):
			f.Add(tag.Spot, "begins as hale's own do", "choose another one")
		case !fleet.TagValue(word) || len(word) > longestTag || strings.ContainsAny(word, "/,"):
			f.Add(tag.Spot, "cannot be a tag of Nova's", fmt.Sprintf("write up to %d letters, without / and ,",
				longestTag))
		}
	}
}

// judgeSize reports a size that no volume has.
func judgeSize(f *keys.Finder, size keys.At[uint64]) {
	if size.Known() && size.Value%(1<<30) != 0 {
		f.Add(size.Spot, "is no whole number of GiB, in which Cinder counts",
			fmt.Sprintf("write %dGiB", size.Value>>30+1))
	}
}

func serverOf(d serverDraft) *policy.Server {
	return &policy.Server{
		Flavor: d.flavor.Value, Networks: keys.Values(d.networks), SecurityGroups: keys.Values(d.securityGroups),
		KeepPort:    d.keepPort.Value,
		FloatingIP:  d.floatingIP.Value,
		ServerGroup: d.serverGroup.Value, KeyPair: d.keyPair.Value, Zone: d.zone.Value,
		ConfigDrive: d.configDrive.Value,
		BootVolume:  policy.BootVolume{Size: d.bootVolume.Value.size.Value, Type: d.bootVolume.Value.made.Value},
		VolumeZone:  d.volumeZone.Value,
	}
}
