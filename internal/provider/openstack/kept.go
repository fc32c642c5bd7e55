package openstack

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/provider"
)

// keptDisk is a disk of the order that outlives its instances, with its volume.
type keptDisk struct {
	policy.Disk
	volume
	fresh bool // made for the order, so that it goes if nothing comes of it
}

// keptDisks finds or makes the machine's kept disks, each ready to be attached. It is called with the machine's port
// claimed, so that one order at a time makes any. With an error, those that were made so far are returned with it.
func (c *call) keptDisks(order provider.Blueprint) ([]keptDisk, error) {
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

// choose picks the disk's volume, if there is one: the one that a server had before, else the oldest. A late call may
// have made a further one, which no server used. fault.Invalid: several may be the disk.
func (c *call) choose(k *keptDisk, found []volume) error {
	used, unused := volumesFor(k.Name, found)
	candidates := used
	if len(used) == 0 {
		candidates = unused
	}
	switch {
	case len(candidates) == 0:
		return nil
	case len(candidates) > 1 && (len(used) > 0 || !k.fresh):
		return c.fault(fault.Invalid,
			fmt.Errorf("there are %d volumes for disk %s, such as %s and %s: take %s out of the metadata of those "+
				"that are not",
				len(candidates), k.Name, candidates[0].ID, candidates[1].ID, keyDisk))
	}
	own := k.ID // what this order made; empty: nothing yet
	k.volume = candidates[0]
	k.fresh = k.fresh && k.ID == own
	for _, v := range unused {
		if len(used) > 0 || v.ID == own && !k.fresh {
			c.dropRemnant(v)
		}
	}
	return nil
}

// volumesFor returns the disk's volumes: those that a server had, and those that none had yet; the oldest first.
func volumesFor(disk string, found []volume) (used, unused []volume) {
	for _, v := range slices.SortedFunc(slices.Values(found), older[volume]) {
		switch {
		case v.Metadata[keyDisk] != disk:
		case v.Metadata[keyUsed] != "":
			used = append(used, v)
		default:
			unused = append(unused, v)
		}
	}
	return used, unused
}

// provide makes the disk's volume, empty; not where there should be data on it. Then it looks whether another order was
// faster all the same, as one that was taken for lost may have been: the oldest one counts.
func (c *call) provide(k *keptDisk, order provider.Blueprint) error {
	if slices.Contains(order.Made, k.Name) {
		return c.fault(fault.Invalid,
			fmt.Errorf("the disk %s of %s is missing: no volume has the metadata %s=%s, %s=%s, %s=%s; set it on "+
				"the disk's volume, or build the machine without its data",
				k.Name, order.Mark.Machine, keyInstallation, order.Mark.Installation, keyMachine, order.Mark.Machine,
				keyDisk, k.Name))
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
	if !slices.ContainsFunc(found, func(v volume) bool { return v.ID == k.ID }) {
		found = append(found, k.volume) // it may be shown later than it is there
	}
	return c.choose(k, found)
}

// awaitVolume waits until the volume can be attached. One that a server has is not taken from it.
func (c *call) awaitVolume(k *keptDisk) error {
	var took time.Duration
	for {
		switch s := k.Status; {
		case s == volumeAvailable:
			return nil
		case s == volumeCreating, s == volumeDetaching:
		case strings.HasPrefix(s, volumeError) && k.fresh:
			return c.fault(fault.Permanent, fmt.Errorf("cinder could not make volume %s for disk %s", k.ID, k.Name))
		case strings.HasPrefix(s, volumeError):
			return c.fault(fault.Invalid,
				fmt.Errorf("volume %s, disk %s, has status %s: look at it in Cinder", k.ID, k.Name, s))
		case len(k.Attachments) > 0:
			return c.conflictf("volume %s, disk %s, is attached to server %s", k.ID, k.Name, k.Attachments[0].Server)
		case s == "in-use", s == "reserved", s == "attaching":
			return c.conflictf("volume %s, disk %s, is %s; if no server has it, delete that "+
				"attachment in Cinder", k.ID, k.Name, s)
		default:
			return c.fault(fault.Transient, fmt.Errorf("volume %s, disk %s, is %s", k.ID, k.Name, s))
		}
		if c.wait(lookAgain(took)) != nil {
			return c.fault(fault.Transient, fmt.Errorf("volume %s, disk %s, is still %s", k.ID, k.Name, k.Status))
		}
		began := time.Now()
		v, err := c.volume(k.ID)
		took = time.Since(began)
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

// settleVolumes writes on the volumes that a server was asked for with them, so that a later call takes these and no
// others.
func (c *call) settleVolumes(kept []keptDisk) {
	for _, k := range kept {
		if k.Metadata[keyUsed] != "" {
			continue
		}
		storage, err := c.storage()
		if err == nil {
			_, err = c.send(storage, request{
				method: http.MethodPost,
				url:    storage.ServiceURL("volumes", k.ID, "metadata"),
				body:   map[string]any{"metadata": map[string]string{keyUsed: "true"}},
				ok:     []int{http.StatusOK},
			})
		}
		if err != nil {
			c.p.log.Warn("a volume does not say yet that a server had it; the machine's next order writes it",
				"volume", k.ID, "err", err)
		}
	}
}

// dropFresh removes the volumes that the order made, since it made no server.
func (c *call) dropFresh(kept []keptDisk) {
	for _, k := range kept {
		if k.fresh {
			c.dropVolume(k.volume)
		}
	}
}

// sweepVolumes removes what volumes there are of an order that never got as far as a server.
func (c *call) sweepVolumes(order provider.Blueprint) {
	left, err := c.volumesWith(map[string]string{
		keyInstallation: string(order.Mark.Installation),
		keyOrder:        string(order.ID),
	})
	if err != nil {
		c.p.log.Warn("hale cannot see whether an order left a volume; the machine's next instance would take it",
			"order", order.ID, "err", err)
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
