package libvirt

import (
	"cmp"
	"encoding/xml"
	"strings"
	"sync"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fleet"
)

// facts are what a listing needs of a domain's definition: they change only when a client defines or undefines the
// domain.
type facts struct {
	mark    fleet.Mark
	bears   fleet.Metadata
	nics    []nic
	network string // of the first interface; empty: it has none, or its other end has no name
	storage string // of the first disk that lies on a network; empty: none does
	// transient: the daemon keeps no definition of it.
	transient bool
	size      fleet.Size
}

// nic is one interface on a libvirt network.
type nic struct {
	mac     string // lower case
	network string
}

// parseFacts reads a domain's XML. A damaged mark is no mark, nor is one of another domain.
func parseFacts(text string) (facts, error) {
	var x struct {
		sizeXML
		UUID     string `xml:"uuid"`
		Metadata struct {
			Mark  *markXML     `xml:"urn:hale:mark:1 mark"`
			Texts *metadataXML `xml:"urn:hale:metadata:1 metadata"`
		} `xml:"metadata"`
		Interfaces []struct {
			MAC struct {
				Address string `xml:"address,attr"`
			} `xml:"mac"`
			Source struct {
				Network string `xml:"network,attr"`
				Bridge  string `xml:"bridge,attr"`
			} `xml:"source"`
		} `xml:"devices>interface"`
		Disks []struct {
			Source diskSource `xml:"source"`
		} `xml:"devices>disk"`
	}
	if err := xml.Unmarshal([]byte(text), &x); err != nil {
		return facts{}, err
	}
	f := facts{bears: x.Metadata.Texts.metadata(), size: x.size()}
	if x.Metadata.Mark != nil {
		if mark, err := x.Metadata.Mark.mark(); err == nil {
			f.mark = mark.Of(fleet.InstanceID(x.UUID))
		}
	}
	for _, i := range x.Interfaces {
		if i.Source.Network != "" && i.MAC.Address != "" {
			f.nics = append(f.nics, nic{mac: strings.ToLower(i.MAC.Address), network: i.Source.Network})
		}
		f.network = cmp.Or(f.network, i.Source.Network, i.Source.Bridge)
	}
	for _, d := range x.Disks {
		f.storage = cmp.Or(f.storage, d.Source.storage())
	}
	return f, nil
}

// diskSource is where a disk lies.
type diskSource struct {
	Protocol string `xml:"protocol,attr"`
	Name     string `xml:"name,attr"`
	Hosts    []struct {
		Name string `xml:"name,attr"`
	} `xml:"host"`
}

// storage names what disks of several machines lie on: protocol, first server and pool. Empty for a file on the host:
// whether others share its folder, only the operator knows.
func (s diskSource) storage() string {
	if s.Protocol == "" {
		return ""
	}
	server := ""
	if len(s.Hosts) > 0 {
		server = s.Hosts[0].Name
	}
	pool := s.Name[:max(0, strings.LastIndexByte(s.Name, '/'))]
	return s.Protocol + "://" + server + "/" + pool
}

// factCache keeps facts while at least one watch listens on the host: without its events nothing would tell that they
// are stale, so nothing is kept then.
type factCache struct {
	mu       sync.Mutex
	watches  int
	changes  uint64 // counts what may have made a fact stale while it was being read
	byDomain map[golibvirt.UUID]facts
}

// attach says that a watch listens from now on, detach that it does not any more.
func (c *factCache) attach() { c.listen(+1) }
func (c *factCache) detach() { c.listen(-1) }

func (c *factCache) listen(delta int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches += delta
	c.changes++
	c.byDomain = map[golibvirt.UUID]facts{}
}

// forget drops what is known of the domain.
func (c *factCache) forget(id golibvirt.UUID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.byDomain, id)
}

// get returns what is known of the domain, and the count to give to put.
func (c *factCache) get(id golibvirt.UUID) (f facts, changes uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, ok = c.byDomain[id]
	return f, c.changes, ok
}

// put keeps facts that were read after get, unless something changed since.
func (c *factCache) put(id golibvirt.UUID, f facts, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches > 0 && c.changes == changes {
		c.byDomain[id] = f
	}
}
