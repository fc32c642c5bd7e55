package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"
	cloud "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// volume is what hale reads of a volume of Cinder's. Names are not unique in Cinder: the metadata says to which machine
// and disk a volume belongs.
type volume struct {
	made
	Status      string            `json:"status"`
	Project     string            `json:"os-vol-tenant-attr:tenant_id"`
	Metadata    map[string]string `json:"metadata"`
	Attachments []struct {
		Server string `json:"server_id"`
	} `json:"attachments"`
}

const (
	keyDisk  = "hale_disk"  // which of the machine's disks it is
	keyOrder = "hale_order" // the order that it was made for
	keyUsed  = "hale_used"  // a server was asked for with it: there may be data on it
)

// Cinder's words.
const (
	volumeAvailable = "available"
	volumeCreating  = "creating"
	volumeDetaching = "detaching"
	volumeInUse     = "in-use"
	volumeDeleting  = "deleting"
	volumeError     = "error" // and what begins with it
)

// storage returns Cinder's client. Only templates with volumes need it. fault.Unsupported: the cloud has no Cinder.
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
	where := gophercloud.EndpointOpts{Region: c.where.Region, Availability: c.where.Availability, Version: 3}
	where.ApplyDefaults("block-storage")
	endpoint, err := cloud.V3Endpoint(c, c.auth, catalog, where)
	if none := (*gophercloud.ErrEndpointNotFound)(nil); errors.As(err, &none) {
		return nil, c.fault(fault.Unsupported,
			fmt.Errorf("the template has volumes, and the cloud's catalogue has no block storage in region %q",
				c.where.Region))
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

// volumesOf lists the machine's volumes. Those that are being deleted are gone.
func (c *call) volumesOf(m fleet.Mark) ([]volume, error) {
	return c.volumesWith(map[string]string{keyInstallation: string(m.Installation), keyMachine: string(m.Machine)})
}

// volumesWith lists the volumes that have this metadata. Some clouds let only administrators filter by metadata, and
// list other volumes, too.
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
	var turned Turning
	for {
		page, err := listOf[volume](c, storage, storage.ServiceURL("volumes", "detail")+"?"+query.Encode(), "volumes")
		if err != nil {
			return nil, c.listFault(err)
		}
		for _, v := range page.all {
			if v.Project != "" && v.Project != c.project {
				return nil, c.fault(fault.Transient,
					fmt.Errorf("%w: it lists volumes of project %s, and the token is for %s",
						provider.ErrDoubtful, v.Project, c.project))
			}
			if v.says(metadata) && v.Status != volumeDeleting {
				all = append(all, v)
			}
		}
		if _, more := page.beside["volumes_links"]; !more || len(page.all) == 0 { // they lead to the next page only
			return all, nil
		}
		marker := page.all[len(page.all)-1].ID
		if err := turned.Over(marker); err != nil {
			return nil, c.fault(fault.Transient, err)
		}
		query.Set("marker", marker)
	}
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

// makeVolume makes an empty one. A volume alone is no instance. makeVolume looks for one that a lost answer may have
// made, and removes it; if it stays, the next order takes it.
func (c *call) makeVolume(d policy.Disk, order provider.Blueprint) (volume, error) {
	storage, err := c.storage()
	if err != nil {
		return volume{}, err
	}
	wanted := map[string]any{
		"name":        string(order.Mark.Machine) + "-" + d.Name,
		"size":        wholeGiB(d.Size),
		"description": "a disk of a machine of hale's, which outlives its servers",
		"metadata": map[string]string{
			keyInstallation: string(order.Mark.Installation),
			keyFleet:        string(order.Mark.Fleet),
			keyMachine:      string(order.Mark.Machine),
			keyDisk:         d.Name,
			keyOrder:        string(order.ID),
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
		method: http.MethodPost,
		url:    storage.ServiceURL("volumes"),
		body:   map[string]any{"volume": wanted},
		into:   &got,
		ok:     []int{http.StatusOK, http.StatusAccepted},
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

// dropVolume removes a volume that is empty, as soon as it is made; Cinder itself refuses one that a server has.
func (c *call) dropVolume(v volume) {
	storage, err := c.storage()
	for err == nil && v.Status == volumeCreating {
		if err = c.wait(lookEvery); err == nil {
			v, err = c.volume(v.ID)
		}
	}
	if err == nil {
		_, err = c.send(storage, request{
			method: http.MethodDelete,
			url:    storage.ServiceURL("volumes", v.ID),
			ok:     []int{http.StatusAccepted, http.StatusNoContent},
		})
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		c.p.log.Warn("an empty volume was not removed; the machine's next instance takes it",
			"volume", v.ID, "err", err)
	}
}

// storageAnswers refuses to delete a server with volumes while Cinder is away: Nova would delete the server all the
// same, and leave the volumes attached to nothing, which only an administrator can undo.
func (c *call) storageAnswers(s *server) error {
	for _, v := range s.Volumes {
		if _, err := c.volume(v.ID); fault.Is(err, fault.Transient) || fault.Is(err, fault.Throttled) {
			return err
		}
	}
	return nil
}
