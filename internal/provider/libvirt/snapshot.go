package libvirt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// A copy of an instance's disks consists of a file for each, and of one more that is written last and says that they
// are whole. Their names begin with the machine, the copy and the installation, and end as nothing does that Delete
// removes.
const (
	copySuffix  = ".snapshot.qcow2"
	wholeSuffix = ".snapshot.json"
)

// jobPoll is how often a copy that QEMU makes is asked after.
const jobPoll = 500 * time.Millisecond

// manifest is what the last file says.
type manifest struct {
	Machine      fleet.MachineName  `json:"machine"`
	Snapshot     fleet.SnapshotID   `json:"snapshot"`
	Installation fleet.Installation `json:"installation"`
	Instance     fleet.InstanceID   `json:"instance"`
	Generation   fleet.Generation   `json:"generation,omitempty"`
	Disks        []copiedDisk       `json:"disks"`
	Bytes        uint64             `json:"bytes"`
}

type copiedDisk struct {
	Target string `json:"target"` // as the guest's machine had it: vda
	Source string `json:"source"`
	File   string `json:"file"`
	format string // of the source, as the domain has it
}

// front is how the names of a copy's files begin.
func front(n fleet.SnapshotName) string {
	return fmt.Sprintf("%s.%s.%s.", n.Machine, n.ID, n.Installation)
}

// snapshotting is a copy that is to be made.
type snapshotting struct {
	name  fleet.SnapshotName
	pool  golibvirt.StoragePool
	dom   golibvirt.Domain
	disks []copiedDisk
}

// Snapshot implements provider.Snapshotter. QEMU copies the disks of a running domain by a backup job, as they are when
// it begins. The daemon copies those of a domain that is off. Either goes on when the caller goes; a later call waits
// for the one, and makes the other anew.
func (p *Provider) Snapshot(ctx context.Context, ref provider.Ref, name fleet.SnapshotName) (fleet.Copy, error) {
	ctx, s, err := p.open(ctx, "libvirt.snapshot", ref)
	if err != nil {
		return fleet.Copy{}, err
	}
	defer s.end()
	if p.installation != "" && name.Installation != p.installation {
		return fleet.Copy{}, s.conflict(fmt.Errorf("the copy is for another installation, %s", name.Installation))
	}
	dom, err := s.marked(ref, p.installation)
	if err != nil {
		return fleet.Copy{}, err
	}
	if err := s.notReverting(dom); err != nil {
		return fleet.Copy{}, err
	}
	pool, err := s.poolAt(p.stateDir)
	if err != nil {
		return fleet.Copy{}, err
	}
	if m, err := s.wholeCopy(ctx, pool, name); err != nil || m != nil {
		return m.copy(), err
	}
	c := snapshotting{name: name, pool: pool, dom: dom}
	if c.disks, err = s.toCopy(ref, name, p.stateDir); err != nil {
		return fleet.Copy{}, err
	}
	if err := s.copyDisks(ctx, &c); err != nil {
		return fleet.Copy{}, err
	}
	m, err := s.seal(ctx, &c, ref)
	return m.copy(), err
}

func (m *manifest) copy() fleet.Copy {
	if m == nil {
		return fleet.Copy{}
	}
	var files []string
	for _, d := range m.Disks {
		files = append(files, d.File)
	}
	return fleet.Copy{Where: strings.Join(files, ", "), Bytes: m.Bytes}
}

// wholeCopy returns what the copy consists of if it is whole, or nil.
func (s *session) wholeCopy(ctx context.Context, pool golibvirt.StoragePool,
	name fleet.SnapshotName) (*manifest, error) {
	file := front(name) + wholeSuffix[1:]
	there, err := s.has(pool, file)
	if err != nil || !there {
		return nil, err
	}
	text, err := s.tail(ctx, pool, file, maxManifest)
	if err != nil {
		return nil, err
	}
	var m manifest
	if json.Unmarshal(text, &m) != nil || m.Snapshot != name.ID || m.Machine != name.Machine {
		return nil, nil //nolint:nilerr // it was being written
	}
	return &m, nil
}

// maxManifest is more than any has, in bytes.
const maxManifest = 64 << 10

// toCopy returns the disks that would go with the domain: those that it writes to, but for the machine's kept ones.
func (s *session) toCopy(ref provider.Ref, name fleet.SnapshotName, dir string) ([]copiedDisk, error) {
	dom, err := s.describeDomain(ref)
	if err != nil {
		return nil, err
	}
	var out []copiedDisk
	if dom.Devices == nil {
		dom.Devices = &libvirtxml.DomainDeviceList{}
	}
	for _, d := range dom.Devices.Disks {
		if d.Device != "" && d.Device != "disk" || d.ReadOnly != nil || d.Shareable != nil || d.Target == nil {
			continue
		}
		file := fileOf(d)
		switch {
		case file == "":
			return nil, s.unsupported(fmt.Errorf("its disk %s is not a file", d.Target.Dev))
		case isKeptDisk(path.Base(file), name):
			continue
		}
		c := copiedDisk{
			Target: d.Target.Dev,
			Source: file,
			File:   path.Join(dir, front(name)+d.Target.Dev+copySuffix),
			format: "raw",
		}
		if d.Driver != nil && d.Driver.Type != "" {
			c.format = d.Driver.Type
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, s.unsupported(errors.New("it has no ephemeral disk to copy"))
	}
	return out, nil
}

// isKeptDisk reports whether the file is one of the machine's kept disks.
func isKeptDisk(file string, n fleet.SnapshotName) bool {
	return strings.HasPrefix(file, string(n.Machine)+".") &&
		strings.HasSuffix(file, "."+string(n.Installation)+keptSuffix)
}

// copyDisks makes the files. What is left of an earlier try goes first, unless QEMU is still at it.
func (s *session) copyDisks(ctx context.Context, c *snapshotting) error {
	active, err := s.DomainIsActive(c.dom)
	if err != nil {
		return s.fault(err)
	}
	if active != 0 {
		if under, err := s.underWay(c); err != nil || under {
			return err
		}
	}
	if err := s.dropCopies(c.pool, c.name); err != nil {
		return err
	}
	if err := s.roomFor(c); err != nil {
		return err
	}
	if active != 0 {
		return s.backup(ctx, c)
	}
	for _, d := range c.disks {
		if err := s.clone(c, d); err != nil {
			return err
		}
	}
	return nil
}

// underWay waits for a copy that QEMU makes already, and reports whether there was one: it is whole then.
func (s *session) underWay(c *snapshotting) (bool, error) {
	text, err := s.DomainBackupGetXMLDesc(c.dom, 0)
	switch {
	case isCode(err, golibvirt.ErrNoDomainBackup), isCode(err, golibvirt.ErrOperationInvalid):
		return false, nil
	case err != nil:
		return false, s.fault(err)
	case !strings.Contains(text, c.disks[0].File):
		return false, fault.New(fault.Transient, s.op, s.subject, errors.New("another backup of it is under way"))
	}
	return true, s.awaitBackup(c)
}

// backup lets QEMU copy the disks of a domain that runs, all of them as they are now.
func (s *session) backup(ctx context.Context, c *snapshotting) error {
	job := libvirtxml.DomainBackup{Push: &libvirtxml.DomainBackupPush{Disks: &libvirtxml.DomainBackupPushDisks{}}}
	for _, d := range c.disks {
		job.Push.Disks.Disks = append(job.Push.Disks.Disks, libvirtxml.DomainBackupPushDisk{
			Name: d.Target, Backup: "yes", Driver: &libvirtxml.DomainBackupDiskDriver{Type: "qcow2"},
			Target: &libvirtxml.DomainDiskSource{File: &libvirtxml.DomainDiskSourceFile{File: d.File}},
		})
	}
	text, err := job.Marshal()
	if err != nil {
		return s.invalid(err)
	}
	if err := ctx.Err(); err != nil {
		return s.fault(err)
	}
	if err := s.write(func() error { return s.DomainBackupBegin(c.dom, text, nil, 0) }); err != nil {
		return s.spaceFault(c.pool, err, 0)
	}
	return s.awaitBackup(c)
}

// awaitBackup waits until QEMU is done. It ends with the session's connection, which is cut when the caller's time is
// over.
func (s *session) awaitBackup(c *snapshotting) error {
	tick := time.NewTicker(jobPoll)
	defer tick.Stop()
	for {
		_, err := s.DomainBackupGetXMLDesc(c.dom, 0)
		if isCode(err, golibvirt.ErrNoDomainBackup) || isCode(err, golibvirt.ErrOperationInvalid) {
			return s.backedUp(c)
		}
		if err != nil {
			s.doubt = true
			return s.fault(err)
		}
		<-tick.C
	}
}

// backedUp reads how the last backup of the domain ended.
func (s *session) backedUp(c *snapshotting) error {
	kind, params, err := s.DomainGetJobStats(c.dom,
		golibvirt.DomainJobStatsCompleted|golibvirt.DomainJobStatsKeepCompleted)
	if err != nil {
		s.doubt = true
		return s.fault(err) // the domain went meanwhile
	}
	if golibvirt.DomainJobType(kind) == golibvirt.DomainJobCompleted {
		s.settled()
		return nil
	}
	failed := fmt.Errorf("QEMU gave the copy up (libvirt's job type %d)", kind)
	for _, p := range params {
		if text, ok := p.Value.I.(string); ok && p.Field == golibvirt.DomainJobErrmsg {
			failed = fmt.Errorf("QEMU gave the copy up: %s", text)
		}
	}
	if _, _, _, free, err := s.StoragePoolGetInfo(c.pool); err == nil && free < spareBytes {
		return fault.New(fault.NoSpace, s.op, s.subject, failed)
	}
	return fault.New(fault.Transient, s.op, s.subject, failed)
}

// clone lets the daemon copy the disk of a domain that is off, with all that it takes from its base image.
func (s *session) clone(c *snapshotting, d copiedDisk) error {
	source, err := s.volumeAt(d.Source)
	if err != nil {
		return err
	}
	text, err := (&libvirtxml.StorageVolume{
		Name:     path.Base(d.File),
		Capacity: source.described.Capacity,
		Target: &libvirtxml.StorageVolumeTarget{
			Format: &libvirtxml.StorageVolumeTargetFormat{Type: "qcow2"},
			Compat: "1.1",
		},
	}).Marshal()
	if err != nil {
		return s.invalid(err)
	}
	err = s.write(func() error {
		_, err := s.StorageVolCreateXMLFrom(c.pool, text, source.vol, 0)
		return err
	})
	if _, answered := codeOf(err); answered {
		if active, aerr := s.DomainIsActive(c.dom); aerr == nil && active != 0 {
			return fault.New(fault.Transient, s.op, s.subject,
				errors.Join(errors.New("it was started while its disk was copied"), err))
		}
	}
	return s.spaceFault(c.pool, err, 0)
}

// sourceVolume is a file that is copied, as the daemon describes it.
type sourceVolume struct {
	vol       golibvirt.StorageVol
	described libvirtxml.StorageVolume
}

// volumeAt returns the file as a volume. Its folder must be a pool.
func (s *session) volumeAt(file string) (sourceVolume, error) {
	pool, err := s.StoragePoolLookupByTargetPath(path.Dir(file))
	if isCode(err, golibvirt.ErrNoStoragePool) {
		return sourceVolume{}, s.unsupported(fmt.Errorf("%s lies in a folder that is no storage pool of the host",
			file))
	}
	if err != nil {
		return sourceVolume{}, s.fault(err)
	}
	there, err := s.has(pool, path.Base(file))
	if err != nil {
		return sourceVolume{}, err
	}
	if !there {
		return sourceVolume{}, s.unsupported(fmt.Errorf("there is no file %s", file))
	}
	vol, err := s.StorageVolLookupByName(pool, path.Base(file))
	if err != nil {
		return sourceVolume{}, s.fault(err)
	}
	text, err := s.StorageVolGetXMLDesc(vol, 0)
	if err != nil {
		return sourceVolume{}, s.fault(err)
	}
	v := sourceVolume{vol: vol}
	if err := v.described.Unmarshal(text); err != nil {
		return sourceVolume{}, s.fault(err)
	}
	return v, nil
}

// maxChain bounds how many images below each other are looked at.
const maxChain = 8

// roomFor refuses a copy for which the pool has no room: it takes at most what the disk and its base images take.
func (s *session) roomFor(c *snapshotting) error {
	need := uint64(spareBytes)
	for _, d := range c.disks {
		n, err := s.weight(d.Source)
		if err != nil {
			return err
		}
		need += n
	}
	_, _, _, free, err := s.StoragePoolGetInfo(c.pool)
	if err != nil {
		return s.fault(err)
	}
	if free < need {
		return fault.New(fault.NoSpace, s.op, s.subject,
			fmt.Errorf("a copy of its disks takes up to %d MiB, and %d MiB are free", need>>20, free>>20))
	}
	return nil
}

// weight returns how many bytes a copy of the disk takes at most: what it and the images below it take, and never more
// than its size.
func (s *session) weight(file string) (uint64, error) {
	v, err := s.volumeAt(file)
	if err != nil {
		return 0, err
	}
	sum, full := uint64(0), bytesOf(v.described.Capacity)
	for range maxChain {
		sum += bytesOf(v.described.Allocation)
		below := v.described.BackingStore
		if below == nil || below.Path == "" {
			return min(sum, full), nil
		}
		if v, err = s.volumeAt(below.Path); err != nil {
			break // what cannot be weighed may be full
		}
	}
	return full, nil //nolint:nilerr // see above
}

func bytesOf(size *libvirtxml.StorageVolumeSize) uint64 {
	if size == nil {
		return 0
	}
	return size.Value // the daemon writes bytes
}

// seal writes down that the copy is whole.
func (s *session) seal(ctx context.Context, c *snapshotting, ref provider.Ref) (*manifest, error) {
	m := manifest{
		Machine:      c.name.Machine,
		Snapshot:     c.name.ID,
		Installation: c.name.Installation,
		Instance:     ref.ID,
		Generation:   ref.Mark.Generation,
		Disks:        c.disks,
	}
	for _, d := range c.disks {
		v, err := s.volumeAt(d.File)
		if err != nil {
			return nil, err
		}
		m.Bytes += bytesOf(v.described.Allocation)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, s.invalid(err)
	}
	vol, err := s.createFile(c.pool, front(c.name)+wholeSuffix[1:], len(text))
	if err == nil {
		err = s.spaceFault(c.pool, upload(ctx, s.host.addr, vol, text), uint64(len(text)))
	}
	if err != nil {
		s.doubt = true
		return nil, s.fault(err)
	}
	s.settled()
	return &m, nil
}

// DropSnapshot implements provider.Snapshotter. What says that the copy is whole goes first.
func (p *Provider) DropSnapshot(ctx context.Context, name fleet.SnapshotName) error {
	_, s, err := p.open(ctx, "libvirt.drop-snapshot", provider.Ref{
		ID:   fleet.InstanceID(name.Machine) + "/" + fleet.InstanceID(name.ID),
		Host: name.Host,
	})
	if err != nil {
		return err
	}
	defer s.end()
	if p.installation != "" && name.Installation != p.installation {
		return s.conflict(fmt.Errorf("the copy is of another installation, %s", name.Installation))
	}
	pool, err := s.poolAt(p.stateDir)
	if err != nil {
		return err
	}
	return s.dropCopies(pool, name)
}

// dropCopies removes the copy's files. Those that QEMU made are known to the daemon only when the folder was read
// again.
func (s *session) dropCopies(pool golibvirt.StoragePool, name fleet.SnapshotName) error {
	if err := s.StoragePoolRefresh(pool, 0); err != nil {
		if _, answered := codeOf(err); answered {
			return fault.New(fault.Transient, s.op, s.subject, err) // a volume is being made, perhaps this one
		}
		return s.fault(err)
	}
	vols, _, err := s.StoragePoolListAllVolumes(pool, 1, 0)
	if err != nil {
		return s.fault(err)
	}
	// .json before .qcow2
	slices.SortFunc(vols, func(a, b golibvirt.StorageVol) int {
		return strings.Compare(path.Ext(a.Name), path.Ext(b.Name))
	})
	for _, vol := range vols {
		if !strings.HasPrefix(vol.Name, front(name)) ||
			!strings.HasSuffix(vol.Name, copySuffix) && vol.Name != front(name)+wholeSuffix[1:] {
			continue
		}
		err := s.order(func() error { return s.StorageVolDelete(vol, 0) })
		if err != nil && !isCode(err, golibvirt.ErrNoStorageVol) {
			return err
		}
	}
	s.settled()
	return nil
}
