package openstack

import (
	"fmt"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/utils"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/core/policy"
)

// Microversions of Nova for what is not everywhere.
const (
	typedVolumesMinor = 67 // the type of a volume that Nova makes
	reimageMinor      = 93 // a rebuild gives a server on a volume the image anew
)

// onVolumes adds to the request for a server what disks it has, where these are not the flavor's alone.
func (c *call) onVolumes(wanted map[string]any, t *policy.Template, kept []keptDisk) error {
	boot := t.Server.BootVolume
	disks := []map[string]any{
		{
			"boot_index":            0,
			"source_type":           "image",
			"destination_type":      "local",
			"uuid":                  wanted["imageRef"],
			"delete_on_termination": true,
		},
	}
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
	if typed := slices.ContainsFunc(disks, func(d map[string]any) bool { return d["volume_type"] != nil }); typed &&
		c.minor < typedVolumesMinor {
		return c.fault(fault.Unsupported,
			fmt.Errorf("nova speaks 2.%d, and takes a type of volume from 2.%d on", c.minor, typedVolumesMinor))
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

// rebuildable refuses a rebuild of what is not off or was put aside, and one that would keep the disk's data or break
// the server. An older Nova does not rewrite the volume that a server boots from, and with an older Cinder the server
// ends in ERROR.
func (c *call) rebuildable(s *server) error {
	if err := c.whole(s); err != nil {
		return err
	}
	if power := s.power(); power != fleet.PowerOff {
		return c.conflictf("its status is %s", s.Status)
	}
	if !s.onVolume() {
		return nil
	}
	if c.minor < reimageMinor {
		return c.fault(fault.Unsupported,
			fmt.Errorf("it boots from a volume, which nova rebuilds from 2.%d on; this one speaks 2.%d",
				reimageMinor, c.minor))
	}
	storage, err := c.storage()
	if err != nil {
		return err
	}
	base, err := utils.BaseVersionedEndpoint(storage.Endpoint)
	if err != nil {
		return c.fault(fault.Invalid, err)
	}
	spoken, err := utils.GetSupportedMicroversions(c, &gophercloud.ServiceClient{
		ProviderClient: c.auth,
		Endpoint:       base,
	})
	if err != nil {
		return c.failed(reading, err)
	}
	if ok, err := spoken.IsSupported(reimageMicroversion); !ok || err != nil {
		return c.fault(fault.Unsupported,
			fmt.Errorf("it boots from a volume, which cinder writes anew from %s on; this one speaks %d.%d",
				reimageMicroversion, spoken.MaxMajor, spoken.MaxMinor))
	}
	return nil
}
