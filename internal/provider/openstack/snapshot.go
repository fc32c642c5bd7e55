package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// image is what Glance tells of a copy. Glance's names are not unique: a copy is known by its name together with what
// hale had Nova write on it.
type image struct {
	made
	Name         string             `json:"name"`
	Status       string             `json:"status"`
	Size         uint64             `json:"size"`          // bytes
	Server       string             `json:"instance_uuid"` // as Nova writes it: what it is a copy of
	Installation fleet.Installation `json:"hale_installation"`
	Machine      fleet.MachineName  `json:"hale_machine"`
	Snapshot     fleet.SnapshotID   `json:"hale_snapshot"`
}

const (
	keySnapshot = "hale_snapshot" // beside the keys of a mark

	imageActive      = "active"
	imageDeactivated = "deactivated" // it is whole, and an administrator forbade to read it
	imageKilled      = "killed"

	// copyTask begins each of Nova's words for a server that is being copied.
	copyTask = "image_"

	// orphanAfter is the age, by Glance's clock, from which an unfinished image counts as left behind, unless Nova
	// works on it. Nova makes the image a moment before it says that it is at work.
	orphanAfter = 20 * time.Second
)

// copyName is what the image of a copy is called.
func copyName(n fleet.SnapshotName) string { return fmt.Sprintf("%s.%s.snapshot", n.Machine, n.ID) }

// Snapshot has Nova make an image of the server's disk, and waits until that is whole. Nova goes on when the caller
// goes; a later call finds what it made.
func (p *Provider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	c, s, err := p.openMarked(ctx, "openstack.snapshot", ref)
	if err != nil {
		return fleet.Copy{}, err
	}
	defer c.end()
	if err := c.whollyCopied(s); err != nil {
		return fleet.Copy{}, err
	}
	for {
		// Whatever Nova was asked before has an end first, an earlier order of this copy included.
		if s, err = c.idle(s); err != nil {
			return fleet.Copy{}, err
		}
		found, now, err := c.copies(name)
		if err != nil {
			return fleet.Copy{}, err
		}
		if i, whole := firstWhole(found); whole {
			return i.copy(), nil
		}
		young, err := c.clearCopies(found, now)
		switch {
		case err != nil:
			return fleet.Copy{}, err
		case !young:
			return c.copyDisk(s, name)
		}
		if err := c.wait(lookEvery); err != nil {
			return fleet.Copy{}, err
		}
		if s, err = c.server(s.ID); err != nil {
			return fleet.Copy{}, err
		}
	}
}

// whollyCopied refuses a server where Nova would leave out some of its disks.
func (c *call) whollyCopied(s *server) error {
	switch {
	case s.Image == "":
		return c.fault(fault.Unsupported,
			errors.New("its disk is a volume, and nova's image of a volume does not outlive it"))
	case s.Flavor.Ephemeral > 0:
		return c.fault(fault.Unsupported, errors.New("its flavor has an ephemeral disk, which nova does not copy"))
	case s.losesVolumes():
		return c.fault(fault.Unsupported, errors.New("nova does not copy the volume that is deleted with it"))
	}
	return nil
}

// copies returns the images of the copy, whole or not, and Glance's time.
func (c *call) copies(name fleet.SnapshotName) ([]image, time.Time, error) {
	query := url.Values{
		"name":          {copyName(name)},
		"owner":         {c.project},
		keySnapshot:     {string(name.ID)},
		keyInstallation: {string(name.Installation)},
		keyMachine:      {string(name.Machine)},
	}
	page, err := listOf[image](c, c.image, c.image.ServiceURL("images")+"?"+query.Encode(), "images")
	if err != nil {
		return nil, time.Time{}, c.listFault(err)
	}
	found := slices.DeleteFunc(page.all, func(i image) bool {
		return i.Name != copyName(name) || i.Snapshot != name.ID || i.Installation != name.Installation ||
			i.Machine != name.Machine
	})
	slices.SortFunc(found, older[image])
	return found, dateOf(page.header), nil
}

func firstWhole(found []image) (image, bool) {
	i := slices.IndexFunc(found, image.whole)
	if i < 0 {
		return image{}, false
	}
	return found[i], true
}

func (i image) whole() bool { return i.Status == imageActive || i.Status == imageDeactivated }

// copy says what a person finds it by.
func (i image) copy() fleet.Copy {
	return fleet.Copy{Where: fmt.Sprintf("image %s (%s)", i.ID, i.Name), Bytes: i.Size}
}

// clearCopies removes what is left of copies that came to nothing. young: there is one that Nova may be about to make.
func (c *call) clearCopies(found []image, now time.Time) (young bool, err error) {
	for _, i := range found {
		left, err := c.leftBehind(i, now)
		switch {
		case err != nil:
			return false, err
		case !left:
			young = true
			continue
		}
		if err := c.removeImage(i); err != nil {
			return false, err
		}
	}
	return young, nil
}

// leftBehind reports whether an image that is not whole stays so: Nova does not work on it.
func (c *call) leftBehind(i image, now time.Time) (bool, error) {
	if i.Status == imageKilled {
		return true, nil
	}
	if made, err := time.Parse(time.RFC3339, i.Created); err != nil || now.Sub(made) < orphanAfter {
		return false, nil //nolint:nilerr // its age is unknown
	}
	if i.Server == "" {
		return true, nil
	}
	s, err := c.server(i.Server)
	switch {
	case fault.Is(err, fault.NotFound):
		return true, nil
	case err != nil:
		return false, err
	}
	return !strings.HasPrefix(s.Task, copyTask), nil
}

// copyDisk orders the image, and waits until it is whole.
func (c *call) copyDisk(s *server, name fleet.SnapshotName) (fleet.Copy, error) {
	switch s.Status {
	case statusActive, statusOff, statusPaused, statusSuspended:
	default:
		return fleet.Copy{}, c.fault(fault.Unsupported,
			fmt.Errorf("nova does not copy a server in status %s", s.Status))
	}
	mark, err := s.mark()
	if err != nil {
		return fleet.Copy{}, c.fault(fault.Conflict, err)
	}
	metadata := map[string]string{
		keySnapshot: string(name.ID), keyInstallation: string(name.Installation), keyMachine: string(name.Machine),
		keyID: string(s.id()), keyGeneration: fmt.Sprint(mark.Generation),
	}
	err = c.act(s, "createImage", map[string]any{"name": copyName(name), "metadata": metadata})
	switch fault.KindOf(err) {
	case "":
		return c.awaitCopy(s, name)
	case fault.Quota:
		err = c.fault(fault.NoSpace, err)
	case fault.Conflict: // it changed since it was read
		err = c.fault(fault.Transient, err)
	default:
	}
	return fleet.Copy{}, err
}

// awaitCopy waits until the image that was asked for is whole. It removes an image that Nova gave up. Nova tells only
// administrators why it did.
func (c *call) awaitCopy(s *server, name fleet.SnapshotName) (fleet.Copy, error) {
	var ended bool
	err := c.await(s.ID, func(now *server) bool {
		ended = !strings.HasPrefix(now.Task, copyTask)
		return ended
	})
	if err != nil {
		return fleet.Copy{}, err
	}
	found, _, err := c.copies(name)
	if err != nil {
		return fleet.Copy{}, c.fault(fault.UnknownOutcome, err)
	}
	if i, whole := firstWhole(found); whole {
		return i.copy(), nil
	}
	for _, i := range found {
		if err := c.removeImage(i); err != nil {
			return fleet.Copy{}, err
		}
	}
	return fleet.Copy{}, c.fault(fault.Transient,
		errors.New("nova gave up the image: see the log of its compute service, or whether glance has room"))
}

// DropSnapshot removes each image of the copy.
func (p *Provider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	c, err := p.open(ctx, "openstack.drop-snapshot", copyName(name))
	if err != nil {
		return err
	}
	defer c.end()
	found, now, err := c.copies(name)
	if err != nil {
		return err
	}
	for _, i := range found {
		if !i.whole() {
			left, err := c.leftBehind(i, now)
			switch {
			case err != nil:
				return err
			case !left:
				return c.fault(fault.Transient, fmt.Errorf("image %s is being made: its status is %s", i.ID, i.Status))
			}
		}
		if err := c.removeImage(i); err != nil {
			return err
		}
	}
	if len(found) == 0 {
		return nil
	}
	// Glance says that there is no such image as a proxy would: only its list is believed.
	if found, _, err = c.copies(name); err == nil && len(found) > 0 {
		err = c.fault(fault.Transient, fmt.Errorf("glance still has image %s", found[0].ID))
	}
	return err
}

// removeImage deletes the image, or finds that there is none.
func (c *call) removeImage(i image) error {
	_, err := c.send(c.image, request{
		method: http.MethodDelete,
		url:    c.image.ServiceURL("images", i.ID),
		ok:     []int{http.StatusNoContent, http.StatusNotFound},
	})
	return err
}
