package libvirt

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kdomanski/iso9660"

	"hale/internal/core/fleet"
)

// seedLabel is the volume label by which cloud-init knows its NoCloud data source.
const seedLabel = "cidata"

// noUserData is a valid user-data file that asks for nothing.
const noUserData = "#cloud-config\n{}\n"

// makeSeed returns an ISO 9660 image with cloud-init's NoCloud files. The instance id is new with each instance, so
// cloud-init runs anew in a replacement, whatever the base image went through before.
func makeSeed(id fleet.InstanceID, hostname, userData string) ([]byte, error) {
	// Lines, and not one JSON object, because simpler readers than cloud-init look for lines.
	meta := fmt.Sprintf("instance-id: %s\nlocal-hostname: %s\n", id, hostname)
	if userData == "" {
		userData = noUserData
	}
	w, err := iso9660.NewWriter()
	if err != nil {
		return nil, err
	}
	defer w.Cleanup() //nolint:errcheck // a folder left in the temporary folder is not the order's fault
	if err := w.AddFile(strings.NewReader(meta), "meta-data"); err != nil {
		return nil, err
	}
	if err := w.AddFile(strings.NewReader(userData), "user-data"); err != nil {
		return nil, err
	}
	var image bytes.Buffer
	if err := w.WriteTo(&image, seedLabel); err != nil {
		return nil, err
	}
	return image.Bytes(), nil
}
