package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	cloud "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/utils"

	"hale/internal/fault"
	"hale/internal/fleet"
	"hale/internal/provider"
)

// volume is what Cinder tells of one, as far as hale reads it. Names are not unique in Cinder: whose disk it is stands in its metadata.
type volume struct {
	ID          string            `json:"id"`
	Status      string            `json:"status"`
	Created     string            `json:"created_at"`
	Project     string            `json:"os-vol-tenant-attr:tenant_id"`
	Metadata    map[string]string `json:"metadata"`
	Attachments []struct {
		Server string `json:"server_id"`
	} `json:"attachments"`
}

const (
	keyDisk  = "hale_disk"  // which of the machine's disks it is
	keyOrder = "hale_order" // the order that it was made for
	keyUsed  = "hale_used"  // a server was ordered with it: there may be data on it
)

// Cinder's words.
const (
	volumeAvailable = "available"
	volumeCreating  = "creating"
	volumeDetaching = "detaching"
	volumeDeleting  = "deleting"
	volumeError     = "error" // and what begins with it
)

// keptDisk is a disk of the order that outlives its instances, with its volume.
type keptDisk struct {
	fleet.Disk
	volume
	fresh bool // made for the order, so that it goes if nothing comes of it
}

// storage returns the way to Cinder, which only they need whose templates have volumes. fault.Unsupported: the cloud has none.
func (c *call) storage() (*gophercloud.ServiceClient, error) {
	c.p.mu.Lock()
	known := c.session.volumes
	c.p.mu.Unlock()
	if known != nil {
		return known, nil
	}
	result, ok := c.auth.GetAuthResult().(tokens.CreateResult)
	if !ok {
		return nil, c.fault(fault.Unauthorised, errors.New("the cloud does not authenticate by Keystone's version 3"))
	}
	catalog, err := result.ExtractServiceCatalog()
	if err != nil {
		return nil, c.failed(reading, err)
	}
	where := gophercloud.EndpointOpts{Region: c.region, Availability: c.reached, Version: 3}
	where.ApplyDefaults("block-storage")
	endpoint, err := cloud.V3Endpoint(c, c.auth, catalog, where)
	if none := (*gophercloud.ErrEndpointNotFound)(nil); errors.As(err, &none) {
		return nil, c.fault(fault.Unsupported, fmt.Errorf("the template has volumes, and the cloud's catalogue has no block storage in region %q", c.region))
	}
	if err != nil {
		return nil, c.failed(reading, err)
	}
	found := &gophercloud.ServiceClient{ProviderClient: c.auth, Endpoint: endpoint, Type: "block-storage"}
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.session.volumes = found
	return found, nil
}

// keptDisks finds or makes the machine's kept disks, each ready to be attached. It is called with the machine's port claimed, so that one order at a time
// makes any. With an error, those that were made so far are returned with it.
func (c *call) keptDisks(order provider.Order) ([]keptDisk, error) {
	if !order.Template.HasAttached() {
		return nil, nil
	}
	found, err := c.volumesOf(order.Mark)
	if err != nil {
		return nil, err
	}
	var kept []keptDisk
	for _, d := range order.Template.Disks {
		if !d.Attached() {
			continue
		}
		k := keptDisk{Disk: d}
		if err = c.choose(&k, found); err == nil && k.ID == "" {
			err = c.provide(&k, order)
		}
		if k.ID != "" {
			kept = append(kept, k)
		}
		if err != nil {
			return kept, err
		}
	}
	for i := range kept {
		if err := c.awaitVolume(&kept[i]); err != nil {
			return kept, err
		}
	}
	return kept, nil
}

// volumesOf lists the machine's volumes. Those that are being deleted are gone.
func (c *call) volumesOf(m fleet.Mark) ([]volume, error) {
	return c.volumesWith(map[string]string{keyInstallation: string(m.Installation), keyMachine: string(m.Machine)})
}

// volumesWith lists the volumes whose metadata is so. A cloud may not let everybody filter by that, and lists others, too, then.
func (c *call) volumesWith(metadata map[string]string) ([]volume, error) {
	storage, err := c.storage()
	if err != nil {
		return nil, err
	}
	filter, err := json.Marshal(metadata)
	if err != nil {
		return nil, c.fault(fault.Invalid, err)
	}
	query := url.Values{"metadata": {string(filter)}, "limit": {fmt.Sprint(pageSize)}}
	var all []volume
	for range mostPages {
		var page struct {
			Volumes *[]volume         `json:"volumes"`
			Links   []json.RawMessage `json:"volumes_links"` // only to the next page
		}
		err := c.get(storage, storage.ServiceURL("volumes", "detail")+"?"+query.Encode(), &page)
		switch {
		case err != nil:
			return nil, c.listFault(err)
		case page.Volumes == nil:
			return nil, c.fault(fault.Transient, errors.New("the answer is no list of volumes"))
		}
		for _, v := range *page.Volumes {
			if v.Project != "" && v.Project != c.project {
				return nil, c.fault(fault.Transient, fmt.Errorf("%w: it lists volumes of project %s, and the token is for %s", provider.ErrDoubtful, v.Project, c.project))
			}
			if v.says(metadata) && v.Status != volumeDeleting {
				all = append(all, v)
			}
		}
		if len(page.Links) == 0 || len(*page.Volumes) == 0 {
			return all, nil
		}
		query.Set("marker", (*page.Volumes)[len(*page.Volumes)-1].ID)
	}
	return nil, c.fault(fault.Transient, errors.New("the list does not end"))
}

// says reports whether all of this stands in its metadata.
func (v *volume) says(metadata map[string]string) bool {
	for key, value := range metadata {
		if v.Metadata[key] != value {
			return false
		}
	}
	return true
}

// choose picks the disk's volume, if there is one: that which a server had before, else the oldest. Of a late order there may be another one, which nobody
// used. fault.Invalid: several may be the one.
func (c *call) choose(k *keptDisk, found []volume) error {
	var used, others []volume
	for _, v := range found {
		switch {
		case v.Metadata[keyDisk] != k.Name:
		case v.Metadata[keyUsed] != "":
			used = append(used, v)
		default:
			others = append(others, v)
		}
	}
	candidates := used
	if len(used) == 0 {
		candidates = others
		if own := func(v volume) bool { return v.ID == k.ID }; k.fresh && !slices.ContainsFunc(candidates, own) {
			candidates = append(candidates, k.volume)
		}
	}
	switch {
	case len(candidates) == 0:
		return nil
	case len(used) > 1, len(candidates) > 1 && !k.fresh:
		slices.SortFunc(candidates, olderVolume)
		return c.fault(fault.Invalid, fmt.Errorf("there are %d volumes for disk %s, such as %s and %s: take %s out of the metadata of those that are not",
			len(candidates), k.Name, candidates[0].ID, candidates[1].ID, keyDisk))
	}
	oldest := slices.MinFunc(candidates, olderVolume)
	if k.fresh && oldest.ID != k.ID {
		c.dropVolume(k.volume)
		k.fresh = false
	}
	k.volume = oldest
	for _, v := range others {
		if len(used) > 0 {
			c.dropRemnant(v)
		}
	}
	return nil
}

func olderVolume(a, b volume) int {
	if n := strings.Compare(a.Created, b.Created); n != 0 {
		return n
	}
	return strings.Compare(a.ID, b.ID)
}

// provide makes the disk's volume, empty; not where there should be data on it. Then it looks whether another order was faster all the same, as one that was
// taken for lost may have been: the oldest one counts.
func (c *call) provide(k *keptDisk, order provider.Order) error {
	if slices.Contains(order.Made, k.Name) {
		return c.fault(fault.Invalid, fmt.Errorf("the disk %s of %s is missing: no volume has the metadata %s=%s, %s=%s, %s=%s; give it back to the one that it is, or build the machine without its data",
			k.Name, order.Mark.Machine, keyInstallation, order.Mark.Installation, keyMachine, order.Mark.Machine, keyDisk, k.Name))
	}
	var err error
	if k.volume, err = c.makeVolume(k.Disk, order); err != nil {
		return err
	}
	k.fresh = true
	found, err := c.volumesOf(order.Mark)
	if err != nil {
		return err
	}
	return c.choose(k, found)
}

// makeVolume makes an empty one. A volume alone is no instance: one that may have been made is looked for and taken away, and what stays all the same is
// there for the next order.
func (c *call) makeVolume(d fleet.Disk, order provider.Order) (volume, error) {
	storage, err := c.storage()
	if err != nil {
		return volume{}, err
	}
	wanted := map[string]any{
		"name": string(order.Mark.Machine) + "-" + d.Name, "size": wholeGiB(d.Size), "description": "a disk of a machine of hale's, which outlives its servers",
		"metadata": map[string]string{
			keyInstallation: string(order.Mark.Installation), keyFleet: string(order.Mark.Fleet), keyMachine: string(order.Mark.Machine), keyDisk: d.Name, keyOrder: string(order.ID),
		},
	}
	if d.Type != "" {
		wanted["volume_type"] = d.Type
	}
	if zone := order.Template.Server.VolumeZone; zone != "" {
		wanted["availability_zone"] = zone
	}
	var got struct {
		Volume volume `json:"volume"`
	}
	_, err = c.send(storage, request{
		method: http.MethodPost, url: storage.ServiceURL("volumes"), body: map[string]any{"volume": wanted}, into: &got, ok: []int{http.StatusOK, http.StatusAccepted},
	})
	switch {
	case err == nil && got.Volume.ID == "":
		err = c.fault(fault.UnknownOutcome, errors.New("cinder names no volume"))
	case fault.Is(err, fault.NotFound):
		return volume{}, c.fault(fault.Invalid, err) // the type
	}
	if fault.Is(err, fault.UnknownOutcome) {
		c.afterwards(func(c *call) { c.sweepVolumes(order) })
		return volume{}, c.fault(fault.Transient, err)
	}
	return got.Volume, err
}

// wholeGiB is how Cinder counts; what is begun counts.
func wholeGiB(size uint64) uint64 { return (size + 1<<30 - 1) >> 30 }

// awaitVolume waits until the volume can be attached. One that a server has is not taken from it.
func (c *call) awaitVolume(k *keptDisk) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		switch s := k.Status; {
		case s == volumeAvailable:
			return nil
		case s == volumeCreating, s == volumeDetaching:
		case strings.HasPrefix(s, volumeError) && k.fresh:
			return c.fault(fault.Permanent, fmt.Errorf("cinder could not make volume %s for disk %s", k.ID, k.Name))
		case strings.HasPrefix(s, volumeError):
			return c.fault(fault.Invalid, fmt.Errorf("volume %s, disk %s, is of status %s: somebody must look at it", k.ID, k.Name, s))
		case len(k.Attachments) > 0:
			return c.conflictf("volume %s, disk %s, is attached to server %s", k.ID, k.Name, k.Attachments[0].Server)
		case s == "in-use", s == "reserved", s == "attaching":
			return c.conflictf("volume %s, disk %s, is %s; whoever knows that no server has it, deletes that attachment in Cinder", k.ID, k.Name, s)
		default:
			return c.fault(fault.Transient, fmt.Errorf("volume %s, disk %s, is %s", k.ID, k.Name, s))
		}
		select {
		case <-tick.C:
		case <-c.Done():
			return c.fault(fault.Transient, fmt.Errorf("volume %s, disk %s, is still %s", k.ID, k.Name, k.Status))
		}
		v, err := c.volume(k.ID)
		switch {
		case err == nil:
			k.volume = v
		case fault.Is(err, fault.NotFound): // it was there a moment ago
			return c.fault(fault.Transient, err)
		case !fault.Is(err, fault.Transient):
			return err
		}
	}
}

// volume reads one. fault.NotFound is Cinder's own word.
func (c *call) volume(id string) (volume, error) {
	var got struct {
		Volume volume `json:"volume"`
	}
	storage, err := c.storage()
	if err != nil {
		return volume{}, err
	}
	err = c.get(storage, storage.ServiceURL("volumes", id), &got)
	if err == nil && got.Volume.ID != id {
		err = c.fault(fault.Transient, errors.New("the answer is not the volume that was asked for"))
	}
	return got.Volume, err
}

// settleVolumes writes on the volumes that a server was ordered with them, so that nobody takes another one for the machine's.
func (c *call) settleVolumes(kept []keptDisk) {
	for _, k := range kept {
		if k.Metadata[keyUsed] != "" {
			continue
		}
		storage, err := c.storage()
		if err == nil {
			_, err = c.send(storage, request{
				method: http.MethodPost, url: storage.ServiceURL("volumes", k.ID, "metadata"), body: map[string]any{"metadata": map[string]string{keyUsed: "true"}}, ok: []int{http.StatusOK},
			})
		}
		if err != nil {
			c.p.log.Warn("a volume does not say yet that a server had it; the machine's next order writes it", "volume", k.ID, "err", err)
		}
	}
}

// dropFresh removes the volumes that the order made, of which no server came.
func (c *call) dropFresh(kept []keptDisk) {
	for _, k := range kept {
		if k.fresh {
			c.dropVolume(k.volume)
		}
	}
}

// sweepVolumes removes what volumes there are of an order that never got as far as a server.
func (c *call) sweepVolumes(order provider.Order) {
	left, err := c.volumesWith(map[string]string{keyInstallation: string(order.Mark.Installation), keyOrder: string(order.ID)})
	if err != nil {
		c.p.log.Warn("nobody knows whether an order left a volume; the machine's next instance takes it", "order", order.ID, "err", err)
	}
	for _, v := range left {
		c.dropRemnant(v)
	}
}

// dropRemnant removes a volume that an order of hale's made, and that no server ever had.
func (c *call) dropRemnant(v volume) {
	if v.Metadata[keyOrder] != "" && v.Metadata[keyUsed] == "" && len(v.Attachments) == 0 {
		c.dropVolume(v)
	}
}

// dropVolume removes a volume that is empty, as soon as it is made; Cinder itself refuses one that a server has.
func (c *call) dropVolume(v volume) {
	storage, err := c.storage()
	for err == nil && v.Status == volumeCreating {
		if err = c.wait(lookEvery); err == nil {
			v, err = c.volume(v.ID)
		}
	}
	if err == nil {
		_, err = c.send(storage, request{method: http.MethodDelete, url: storage.ServiceURL("volumes", v.ID), ok: []int{http.StatusAccepted, http.StatusNoContent}})
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		c.p.log.Warn("an empty volume was not removed; the machine's next instance takes it", "volume", v.ID, "err", err)
	}
}

// Microversions of Nova for what is not everywhere.
const (
	typedVolumesMinor = 67 // the type of a volume that Nova makes
	reimageMinor      = 93 // a rebuild gives a server on a volume the image anew
)

// onVolumes adds to the request for a server what disks it has, where these are not the flavor's alone.
func (c *call) onVolumes(wanted map[string]any, t *fleet.Template, kept []keptDisk) error {
	boot := t.Server.BootVolume
	disks := []map[string]any{{"boot_index": 0, "source_type": "image", "destination_type": "local", "uuid": wanted["imageRef"], "delete_on_termination": true}}
	if boot.Size > 0 {
		disks[0]["destination_type"] = "volume"
		c.sized(disks[0], boot.Size, boot.Type)
		delete(wanted, "imageRef")
	}
	for _, d := range t.Disks {
		if d.Size == 0 {
			continue
		}
		disk := map[string]any{"boot_index": -1, "destination_type": "volume", "delete_on_termination": d.Ephemeral}
		if i := slices.IndexFunc(kept, func(k keptDisk) bool { return k.Name == d.Name }); i >= 0 {
			disk["source_type"], disk["uuid"] = "volume", kept[i].ID
		} else {
			disk["source_type"] = "blank"
			c.sized(disk, d.Size, d.Type)
		}
		disks = append(disks, disk)
	}
	if typed := slices.ContainsFunc(disks, func(d map[string]any) bool { return d["volume_type"] != nil }); typed && c.minor < typedVolumesMinor {
		return c.fault(fault.Unsupported, fmt.Errorf("nova speaks 2.%d, and takes a type of volume from 2.%d on", c.minor, typedVolumesMinor))
	}
	if len(disks) > 1 || boot.Size > 0 {
		wanted["block_device_mapping_v2"] = disks
	}
	return nil
}

// sized describes a volume that Nova makes.
func (c *call) sized(disk map[string]any, size uint64, kind string) {
	disk["volume_size"] = wholeGiB(size)
	if kind != "" {
		disk["volume_type"] = kind
	}
}

// onVolume reports whether the server boots from a volume: then it has no image.
func (s *server) onVolume() bool { return s.Image == "" }

// losesVolumes reports whether some of its volumes go with the server.
func (s *server) losesVolumes() bool {
	for _, v := range s.Volumes {
		if v.Goes {
			return true
		}
	}
	return false
}

// reimageMicroversion is Cinder's, for writing an image on a volume that is there.
const reimageMicroversion = "3.68"

// rebuildable refuses a rebuild that would leave the server what it has on its disk, or break it: an older Nova leaves the volume of a server that
// boots from one as it is, and with an older Cinder it ends in ERROR.
func (c *call) rebuildable(s *server) error {
	if !s.onVolume() {
		return nil
	}
	if c.minor < reimageMinor {
		return c.fault(fault.Unsupported, fmt.Errorf("it boots from a volume, which nova rebuilds from 2.%d on; this one speaks 2.%d", reimageMinor, c.minor))
	}
	storage, err := c.storage()
	if err != nil {
		return err
	}
	base, err := utils.BaseVersionedEndpoint(storage.Endpoint)
	if err != nil {
		return c.fault(fault.Invalid, err)
	}
	spoken, err := utils.GetSupportedMicroversions(c, &gophercloud.ServiceClient{ProviderClient: c.auth, Endpoint: base})
	if err != nil {
		return c.failed(reading, err)
	}
	if ok, err := spoken.IsSupported(reimageMicroversion); !ok || err != nil {
		return c.fault(fault.Unsupported, fmt.Errorf("it boots from a volume, which cinder writes anew from %s on; this one speaks %d.%d",
			reimageMicroversion, spoken.MaxMajor, spoken.MaxMinor))
	}
	return nil
}
