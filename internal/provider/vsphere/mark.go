package vsphere

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"hale/internal/core/fleet"
)

// markKey is the entry of a virtual machine's extra configuration that holds the mark. The guest can neither read nor
// write it.
const markKey = "hale.mark"

// markText is the mark as it is written.
type markText struct {
	// ID is the instance that the mark was written for: a person's clone has it too, and is not hale's.
	ID           string `json:"id"`
	Installation string `json:"installation"`
	Fleet        string `json:"fleet"`
	Machine      string `json:"machine"`
	Generation   string `json:"generation"`
	Certified    bool   `json:"certified"`
	Built        string `json:"built"`
	Kept         bool   `json:"kept,omitempty"`
	// Shelf are the disks that an instance which was put aside gave up.
	Shelf []string `json:"shelf,omitempty"`
}

// encodeMark returns the entry for an instance.
func encodeMark(id fleet.InstanceID, m fleet.Mark, shelf []string) (types.BaseOptionValue, error) {
	text, err := json.Marshal(markText{
		ID: string(id), Installation: string(m.Installation), Fleet: string(m.Fleet), Machine: string(m.Machine),
		Generation: strconv.FormatUint(uint64(m.Generation), 10), Certified: m.Certified,
		Built: m.Built.UTC().Format(time.RFC3339Nano), Kept: m.Kept, Shelf: shelf,
	})
	return &types.OptionValue{Key: markKey, Value: string(text)}, err
}

// metaPrefix begins the entries that hold an instance's metadata. vCenter's administrators may write them, also on
// machines that hale did not build.
const metaPrefix = "hale.meta."

// signed is what the extra configuration says of hale.
type signed struct {
	metadata fleet.Metadata
	mark     fleet.Mark // zero: not hale's
	shelf    []string
	// torn: there is something under the key that is no mark.
	torn bool
}

// decodeMark reads the instance's mark among the entries. One that is damaged proves nothing.
func decodeMark(id fleet.InstanceID, extra []types.BaseOptionValue) signed {
	var s signed
	texts := map[string]string{}
	for _, e := range extra {
		o := e.GetOptionValue()
		text, ok := o.Value.(string)
		if !ok || text == "" {
			continue
		}
		if o.Key == markKey {
			s = parseMark(id, text)
		}
		if key, ok := strings.CutPrefix(o.Key, metaPrefix); ok {
			texts[key] = text
		}
	}
	s.metadata = fleet.MetadataOf(texts)
	return s
}

func parseMark(id fleet.InstanceID, text string) signed {
	var m markText
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return signed{torn: true}
	}
	if m.ID != string(id) {
		return signed{} // a person cloned a machine of hale's; the clone is theirs
	}
	mark, err := m.mark()
	if err != nil {
		return signed{torn: true}
	}
	mark.Instance = id
	return signed{mark: mark, shelf: m.Shelf}
}

func (m markText) mark() (fleet.Mark, error) {
	generation, gerr := strconv.ParseUint(m.Generation, 10, 64)
	built, berr := time.Parse(time.RFC3339Nano, m.Built)
	return fleet.Mark{
		Installation: fleet.Installation(m.Installation),
		Fleet:        fleet.Name(m.Fleet),
		Machine:      fleet.MachineName(m.Machine),
		Generation:   fleet.Generation(generation),
		Certified:    m.Certified,
		Built:        built.UTC(),
		Kept:         m.Kept,
	}, errors.Join(gerr, berr)
}

// sameMark reports why an instance with mark has may not be touched by a caller who believes in want.
func sameMark(want, has fleet.Mark, only fleet.Installation) error {
	switch {
	case has.Installation == "":
		return errors.New("it bears no mark")
	case only != "" && has.Installation != only:
		return fmt.Errorf("its mark names another installation, %s", has.Installation)
	case want.Installation != has.Installation || want.Machine != has.Machine || want.Generation != has.Generation:
		return fmt.Errorf("its mark names %s generation %d of installation %s",
			has.Machine, has.Generation, has.Installation)
	}
	return nil
}

// marks remembers marks by the version of the configuration that they were read in: vCenter changes it with every
// change, and a whole extra configuration is long.
type marks struct {
	mu sync.Mutex
	of map[types.ManagedObjectReference]remembered
}

type remembered struct {
	version string
	signed  signed
}

func newMarks() *marks { return &marks{of: map[types.ManagedObjectReference]remembered{}} }

func (m *marks) get(ref types.ManagedObjectReference, version string) (signed, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.of[ref]
	return r.signed, ok && version != "" && r.version == version
}

func (m *marks) put(ref types.ManagedObjectReference, version string, s signed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[ref] = remembered{version, s}
}

// keep forgets all others.
func (m *marks) keep(there map[types.ManagedObjectReference]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ref := range m.of {
		if !there[ref] {
			delete(m.of, ref)
		}
	}
}
