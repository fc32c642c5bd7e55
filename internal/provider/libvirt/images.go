package libvirt

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	golibvirt "github.com/digitalocean/go-libvirt"
	"github.com/google/uuid"
	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/defect"
	"hale/internal/provider"
)

// Images says where base images come from that a host lacks. The zero value: nowhere, they are the operator's to bring.
type Images struct {
	// Hosts says that one is copied from another host of the provider that has it.
	Hosts bool `json:",omitempty"`
	// Files are on hale's own machine, by the names under which templates have them.
	Files map[string]ImageFile `json:",omitempty"`
	// Within is how long one copy may take. Default: half an hour.
	Within time.Duration `json:",omitempty"`
}

// ImageFile is an image on hale's own machine.
type ImageFile struct {
	Path   string // absolute
	SHA256 string `json:",omitempty"` // in hex; empty: what is there counts
}

func (i *Images) bring() bool { return i.Hosts || len(i.Files) > 0 }

// sum is the SHA-256 that the image is to have; empty: whichever it has.
func (i *Images) sum(image string) string { return strings.ToLower(i.Files[image].SHA256) }

// A copy of an image consists of a file, and of one more that is written last and says that it is whole: libvirt
// renames no files. Their names begin so, with the hash of the image's path, and end as nothing does that Delete
// removes. The name of the file is another one with each try, so that nobody writes into another's.
const (
	imageFront  = "hale-image."
	imageSuffix = ".image"
	imageWhole  = ".image.json"
)

const (
	defaultImageWithin = 30 * time.Minute
	// imageStalls is for how long an unfinished copy of another hale must not have grown to be one that nobody makes.
	imageStalls = 20 * time.Second
	imagePoll   = 2 * time.Second
)

// broughtImage is what the last file says.
type broughtImage struct {
	Image  string `json:"image"`
	File   string `json:"file"`
	Format string `json:"format"`
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"`
}

var errNoImage = errors.New("there is no image")

// fullPath is where the image lies. One without a folder lies in dir.
func fullPath(dir, image string) string {
	if path.IsAbs(image) {
		return image
	}
	return path.Join(dir, image)
}

func frontOf(image string) string {
	sum := sha256.Sum256([]byte(image))
	return imageFront + hex.EncodeToString(sum[:6]) + "."
}

// baseImage finds the image on the host, or has it brought there.
func (p *Provider) baseImage(ctx context.Context, s *session, image string) (volume, error) {
	v, err := s.image(p.stateDir, image)
	if !errors.Is(err, errNoImage) {
		return v, err
	}
	full := fullPath(p.stateDir, image)
	pool, perr := s.poolAt(p.stateDir)
	if perr != nil {
		return volume{}, perr
	}
	if b, err := s.brought(ctx, pool, full, p.images.sum(image)); err != nil || b != nil {
		return b.volume(p.stateDir), err
	}
	if !p.images.bring() {
		return volume{}, s.invalid(fmt.Errorf("%w: put it there, or let hale bring it: images of the provider", err))
	}
	return p.bringing.join(ctx, p, s, image)
}

func (b *broughtImage) volume(dir string) volume {
	if b == nil {
		return volume{}
	}
	return volume{path: path.Join(dir, b.File), format: b.Format}
}

// brought returns the copy of the image that is whole, the first by name where there are several; nil: there is none.
// With a SHA-256, one that has another is none: machines may be built from it still.
func (s *session) brought(ctx context.Context, pool golibvirt.StoragePool, image, sum string) (*broughtImage, error) {
	all, err := s.copiesOf(ctx, pool, image)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, having(sum))
	if at < 0 {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return &all[at], nil
}

// having reports of a copy whether it has the SHA-256; empty: any will do.
func having(sum string) func(broughtImage) bool {
	return func(b broughtImage) bool { return sum == "" || b.SHA256 == sum }
}

// copiesOf returns the copies of the image that are whole, by name.
func (s *session) copiesOf(ctx context.Context, pool golibvirt.StoragePool, image string) ([]broughtImage, error) {
	vols, err := s.volumesLike(pool, frontOf(image), imageWhole)
	if err != nil {
		return nil, err
	}
	var all []broughtImage
	for _, vol := range vols {
		text, err := s.tail(ctx, pool, vol.Name, maxManifest)
		if err != nil {
			return nil, err
		}
		var b broughtImage
		if json.Unmarshal(text, &b) != nil || b.Image != image || b.File == "" {
			continue // it is being written
		}
		there, err := s.has(pool, b.File)
		if err != nil {
			return nil, err
		}
		if there {
			all = append(all, b)
		}
	}
	return all, nil
}

// volumesLike returns the pool's files with the front and the end, by name.
func (s *session) volumesLike(pool golibvirt.StoragePool, front, end string) ([]golibvirt.StorageVol, error) {
	vols, _, err := s.StoragePoolListAllVolumes(pool, 1, 0)
	if err != nil {
		return nil, s.fault(err)
	}
	vols = slices.DeleteFunc(vols, func(v golibvirt.StorageVol) bool {
		return !strings.HasPrefix(v.Name, front) || !strings.HasSuffix(v.Name, end)
	})
	slices.SortFunc(vols, func(a, b golibvirt.StorageVol) int { return strings.Compare(a.Name, b.Name) })
	return vols, nil
}

// bringing is the copies under way, one at a time for each host.
type bringing struct {
	mu    sync.Mutex
	jobs  map[fleet.HostName]*bringJob
	ended bool
	all   sync.WaitGroup
}

type bringJob struct {
	image string
	done  chan struct{}
	made  volume
	err   error

	mu   sync.Mutex
	so   uint64
	size uint64
}

// end lets no further copy begin; with the hosts closed those under way end, too, and wait waits for that.
func (b *bringing) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

func (b *bringing) wait() { b.all.Wait() }

// join begins to bring the image to the session's host, or joins who does, and waits as long as the call has time.
// fault.Transient: it is under way, or another image is.
func (b *bringing) join(ctx context.Context, p *Provider, s *session, image string) (volume, error) {
	b.mu.Lock()
	job := b.jobs[s.host.name]
	if job == nil && !b.ended {
		job = &bringJob{image: image, done: make(chan struct{})}
		b.jobs[s.host.name] = job
		outlives := context.WithoutCancel(ctx)
		b.all.Go(func() {
			defer p.panics.Catch("", "image", nil)
			b.run(outlives, p, s.host, job)
		})
	}
	b.mu.Unlock()
	later := func(err error) (volume, error) { return volume{}, fault.New(fault.Transient, s.op, s.subject, err) }
	switch {
	case job == nil:
		return later(errClosed)
	case job.image != image:
		return later(fmt.Errorf("image %s is being copied to the host, and %s follows", job.image, image))
	}
	select {
	case <-job.done:
		return job.made, job.err
	case <-ctx.Done():
	case <-time.After(p.patienceOf(ctx)):
	}
	job.mu.Lock()
	defer job.mu.Unlock()
	return later(fmt.Errorf("image %s is being copied to the host: %d of %d MiB", image, job.so>>20, job.size>>20))
}

// patienceOf is how long a call waits for an image: it has to answer before its time is over.
func (p *Provider) patienceOf(ctx context.Context) time.Duration {
	const margin = 2 * time.Second
	left := p.callLimit
	if deadline, bounded := ctx.Deadline(); bounded {
		left = time.Until(deadline)
	}
	return max(left-margin, 0)
}

// run brings an image to the host, whatever becomes of the call that needs it.
func (b *bringing) run(ctx context.Context, p *Provider, h *host, job *bringJob) {
	ctx, cancel := context.WithTimeout(ctx, p.images.Within)
	defer cancel()
	job.err = fault.New(fault.Transient, "libvirt.image", job.image, errors.New("it was not brought"))
	defer func() {
		b.mu.Lock()
		delete(b.jobs, h.name)
		b.mu.Unlock()
		close(job.done)
	}()
	ctx, s, err := h.open(ctx, noLimit, "libvirt.image", job.image)
	if err == nil {
		defer s.end()
		job.made, err = p.bring(ctx, s, job)
	}
	if job.err = err; err != nil {
		p.log.Warn("an image was not brought to a host", "host", h.name, "image", job.image, "err", err)
	}
}

// bring copies the image to the session's host, unless another hale does it, or has done it meanwhile.
func (p *Provider) bring(ctx context.Context, s *session, job *bringJob) (volume, error) {
	full, sum := fullPath(p.stateDir, job.image), p.images.sum(job.image)
	pool, err := s.poolAt(p.stateDir)
	if err != nil {
		return volume{}, err
	}
	if err := s.awaitOthers(ctx, pool, full, sum, p.images.Within); err != nil {
		return volume{}, err
	}
	if b, err := s.brought(ctx, pool, full, sum); err != nil || b != nil {
		return b.volume(p.stateDir), err
	}
	from, err := p.imageSource(ctx, s, job.image)
	if err != nil {
		return volume{}, err
	}
	defer from.close()
	b := broughtImage{Image: full, Format: from.format, Bytes: from.size,
		File: frontOf(full) + uuid.NewString() + imageSuffix}
	vol, err := s.roomForImage(pool, &b)
	if err != nil {
		return volume{}, err
	}
	if err := p.copyImage(ctx, s, vol, &b, from, job); err != nil {
		_ = s.StorageVolDelete(vol, 0) // else the next try finds that it does not grow
		return volume{}, s.imageFault(err)
	}
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return volume{}, s.invalid(err)
	}
	whole, err := s.createFile(pool, strings.TrimSuffix(b.File, imageSuffix)+imageWhole, len(text))
	if err == nil {
		err = upload(ctx, s.host.addr, whole, text)
	}
	if there, lost := s.has(pool, b.File); err == nil {
		err = lost
		if lost == nil && !there {
			err = errors.New("another hale took the copy for one that was left behind")
		}
	}
	return b.volume(p.stateDir), s.imageFault(err)
}

// imageFault: a copy that failed is no instance, and is made again.
func (s *session) imageFault(err error) error {
	s.settled()
	if err == nil {
		return nil
	}
	if f := (*fault.Error)(nil); errors.As(err, &f) && f.Kind != fault.UnknownOutcome {
		return err
	}
	return fault.New(fault.Transient, s.op, s.subject, err)
}

// growth is how large an unfinished copy is, and since when.
type growth struct {
	bytes uint64
	since time.Time
}

// awaitOthers waits until no other hale copies the image: what does not grow any more was left behind, and goes. One
// that has its full size is being read back, for as long as a copy may take. Whole copies with another SHA-256 stay.
func (s *session) awaitOthers(ctx context.Context, pool golibvirt.StoragePool, image, sum string,
	within time.Duration) error {
	seen := map[string]growth{}
	for {
		vols, err := s.volumesLike(pool, frontOf(image), imageSuffix)
		if err != nil {
			return err
		}
		whole, err := s.copiesOf(ctx, pool, image)
		if err != nil {
			return err
		}
		vols = slices.DeleteFunc(vols, func(v golibvirt.StorageVol) bool {
			return slices.ContainsFunc(whole, func(b broughtImage) bool { return b.File == v.Name })
		})
		if len(vols) == 0 || slices.ContainsFunc(whole, having(sum)) {
			return nil
		}
		for _, vol := range vols {
			_, size, bytes, err := s.StorageVolGetInfo(vol)
			if _, answered := codeOf(err); answered {
				continue // it went meanwhile
			} else if err != nil {
				return s.fault(err)
			}
			patience := imageStalls
			if bytes >= size {
				patience = within
			}
			was, known := seen[vol.Name]
			switch {
			case !known || was.bytes != bytes:
				seen[vol.Name] = growth{bytes, time.Now()}
			case time.Since(was.since) >= patience:
				if err := s.dropUnfinished(ctx, pool, image, sum, vol); err != nil {
					return err
				}
			}
		}
		timer := time.NewTimer(imagePoll)
		select {
		case <-ctx.Done():
			timer.Stop()
			return s.fault(ctx.Err())
		case <-timer.C:
		}
	}
}

// dropUnfinished deletes a copy that was left behind. If it is whole by now, or any that is wanted is, it stays: an
// instance may run on it.
func (s *session) dropUnfinished(ctx context.Context, pool golibvirt.StoragePool, image, sum string,
	vol golibvirt.StorageVol) error {
	whole, err := s.copiesOf(ctx, pool, image)
	if err != nil || slices.ContainsFunc(whole, having(sum)) ||
		slices.ContainsFunc(whole, func(b broughtImage) bool { return b.File == vol.Name }) {
		return err
	}
	err = s.order(func() error { return s.StorageVolDelete(vol, 0) })
	if err != nil && !isCode(err, golibvirt.ErrNoStorageVol) {
		return s.imageFault(err)
	}
	s.settled()
	return nil
}

// roomForImage makes an empty file of the image's size, of which the host fills only what is written.
func (s *session) roomForImage(pool golibvirt.StoragePool, b *broughtImage) (golibvirt.StorageVol, error) {
	_, _, _, free, err := s.StoragePoolGetInfo(pool)
	if err != nil {
		return golibvirt.StorageVol{}, s.fault(err)
	}
	if free < b.Bytes+spareBytes {
		return golibvirt.StorageVol{}, fault.New(fault.NoSpace, s.op, s.subject,
			fmt.Errorf("the image takes %d MiB, and %d MiB are free on the host", b.Bytes>>20, free>>20))
	}
	vol, err := s.createVolume(pool, &libvirtxml.StorageVolume{
		Name:       b.File,
		Capacity:   &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: b.Bytes},
		Allocation: &libvirtxml.StorageVolumeSize{Unit: "bytes", Value: 0},
		Target:     &libvirtxml.StorageVolumeTarget{Format: &libvirtxml.StorageVolumeTargetFormat{Type: "raw"}},
	}, b.Bytes)
	return vol, s.imageFault(err)
}

// imageSource is where an image is read from.
type imageSource struct {
	format, sha256 string
	size           uint64
	read           func(ctx context.Context, w io.Writer) error
	close          func()
}

// imageSource finds the image among the configured files, and else on another host. fault.Invalid: it is nowhere.
func (p *Provider) imageSource(ctx context.Context, s *session, image string) (*imageSource, error) {
	if f, ok := p.images.Files[image]; ok {
		from, err := fileSource(f)
		if err != nil {
			return nil, s.invalid(fmt.Errorf("image %s is to come from a file of hale's machine: %w", image, err))
		}
		return from, nil
	}
	var silent []error
	for _, h := range p.hosts {
		if h == s.host || !p.images.Hosts {
			continue
		}
		from, err := p.hostSource(ctx, h, image)
		if err == nil {
			return from, nil
		}
		if !fault.Is(err, fault.Invalid) {
			silent = append(silent, fmt.Errorf("host %s: %w", h.name, err))
		}
	}
	if err := errors.Join(silent...); err != nil {
		return nil, fault.New(fault.Transient, s.op, s.subject, err)
	}
	return nil, s.invalid(fmt.Errorf("%w %s on any host: put it on one, or name a file under images.files of the "+
		"provider", errNoImage, image))
}

// fileSource reads a file of hale's own machine.
func fileSource(f ImageFile) (*imageSource, error) {
	file, err := os.Open(f.Path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	front := make([]byte, len(qcow2Magic))
	n, _ := file.ReadAt(front, 0)
	format := "raw"
	if bytes.Equal(front[:n], qcow2Magic) {
		format = "qcow2"
	}
	return &imageSource{
		format: format, sha256: strings.ToLower(f.SHA256), size: uint64(max(info.Size(), 0)),
		read:  func(_ context.Context, w io.Writer) error { _, err := io.Copy(w, file); return err },
		close: func() { _ = file.Close() },
	}, nil
}

// qcow2Magic begins each file of the format.
var qcow2Magic = []byte("QFI\xfb")

// hostSource reads the image from another host.
func (p *Provider) hostSource(ctx context.Context, h *host, image string) (*imageSource, error) {
	_, s, err := h.open(ctx, p.callLimit, "libvirt.image", image)
	if err != nil {
		return nil, err
	}
	defer s.end()
	v, err := s.image(p.stateDir, image)
	if err != nil {
		return nil, err
	}
	there, err := s.volumeAt(v.path)
	if err != nil {
		return nil, err
	}
	if below := there.described.BackingStore; below != nil && below.Path != "" {
		return nil, s.unsupported(fmt.Errorf("%s is a change of another image, %s: it cannot be copied alone", v.path,
			below.Path))
	}
	_, _, size, err := s.StorageVolGetInfoFlags(there.vol, volPhysical)
	if err != nil {
		return nil, s.fault(err)
	}
	return &imageSource{
		format: v.format, size: size, close: func() {},
		read: func(ctx context.Context, w io.Writer) error { return downloadTo(ctx, h.addr, there.vol, w) },
	}, nil
}

// copyImage writes the image into the volume, and reads that back: it is whole if both are the same.
func (p *Provider) copyImage(ctx context.Context, s *session, vol golibvirt.StorageVol, b *broughtImage,
	from *imageSource, job *bringJob) error {
	r, w := io.Pipe()
	sent := &counted{sum: sha256.New(), job: job}
	job.mu.Lock()
	job.size = b.Bytes
	job.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var reading sync.WaitGroup
	var unread error
	reading.Go(func() {
		defer p.panics.Catch("", "image", func(d *defect.Panic) { unread = d })
		defer func() { _ = w.CloseWithError(cmp.Or(unread, io.EOF)) }()
		unread = errors.New("it was not read to its end")
		unread = from.read(ctx, io.MultiWriter(sent, w))
	})
	err := uploadFrom(ctx, s.host.addr, vol, b.Bytes, r)
	_ = r.CloseWithError(io.ErrClosedPipe)
	reading.Wait()
	if err != nil || unread != nil {
		return cmp.Or(unread, err)
	}
	b.SHA256 = hex.EncodeToString(sent.sum.Sum(nil))
	switch {
	case sent.bytes != b.Bytes:
		return fmt.Errorf("image %s had %d bytes, and %d came", b.Image, b.Bytes, sent.bytes)
	case from.sha256 != "" && from.sha256 != b.SHA256:
		return s.invalid(fmt.Errorf("image %s has the SHA-256 %s, and the configuration says %s", b.Image, b.SHA256,
			from.sha256))
	}
	there := &counted{sum: sha256.New()}
	if err := downloadTo(ctx, s.host.addr, vol, there); err != nil {
		return err
	}
	if sum := hex.EncodeToString(there.sum.Sum(nil)); sum != b.SHA256 || there.bytes != b.Bytes {
		return fmt.Errorf("what arrived of image %s is not what was sent: %d bytes with the SHA-256 %s", b.Image,
			there.bytes, sum)
	}
	return nil
}

// counted sums up what is written to it.
type counted struct {
	sum   hash.Hash
	bytes uint64
	job   *bringJob // that is told how far it is; nil: nobody
}

// Write implements io.Writer.
func (c *counted) Write(b []byte) (int, error) {
	c.bytes += uint64(len(b))
	if c.job != nil {
		c.job.mu.Lock()
		c.job.so = c.bytes
		c.job.mu.Unlock()
	}
	return c.sum.Write(b)
}

// canBring reports whether an image that the host lacks would be brought there, for a rehearsal.
func (p *Provider) canBring(ctx context.Context, s *session, order provider.Blueprint) error {
	err := s.seesImage(p.stateDir, order.Template.Image)
	if !errors.Is(err, errNoImage) || !p.images.bring() {
		return err
	}
	from, err := p.imageSource(ctx, s, order.Template.Image)
	if err == nil {
		from.close()
	}
	return err
}
