package libvirt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"

	golibvirt "github.com/digitalocean/go-libvirt"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/provider"
)

// Limits of a picture as the daemon sends it, three bytes for each of its points: of a screen with 3840 times 2160.
const (
	maxRaw  = 3840*2160*3 + 64
	maxSide = 8192 // points, of height and width
)

const formatPNG = "image/png"

// Screenshot implements provider.Screenshooter. The daemon sends a PNG, or of an older QEMU a PPM. One that is too
// large is made smaller until it fits, down to an eighth of its width.
func (p *Provider) Screenshot(ctx context.Context, ref provider.Ref, limit int) (provider.Image, error) {
	ctx, s, err := p.open(ctx, "libvirt.screenshot", ref)
	if err != nil {
		return provider.Image{}, err
	}
	defer s.end()
	dom, err := s.find(ref.ID)
	if err != nil {
		return provider.Image{}, err
	}
	if err := s.hasScreen(ref, dom); err != nil {
		return provider.Image{}, err
	}
	var args bytes.Buffer
	putString(&args, dom.Name)
	args.Write(dom.UUID[:])
	putUint(&args, uint32(dom.ID)) //nolint:gosec // as it came
	putUint(&args, 0, 0)           // the first screen, no flags
	raw, err := fetch(ctx, s.host.addr, procScreenshot, args.Bytes(), maxRaw)
	if errors.Is(err, errTooMuch) {
		return provider.Image{}, s.invalid(err)
	}
	if err != nil {
		return provider.Image{}, s.fault(err)
	}
	if isPNG(raw) && len(raw) <= limit {
		return provider.Image{Format: formatPNG, Data: raw}, nil
	}
	screen, err := decodeScreen(raw)
	if err != nil {
		return provider.Image{}, fault.New(fault.Permanent, s.op, s.subject, err)
	}
	return s.fit(screen, limit)
}

// hasScreen refuses a domain that does not run, or has no video device.
func (s *session) hasScreen(ref provider.Ref, dom golibvirt.Domain) error {
	power, err := s.power(dom)
	if err != nil {
		return err
	}
	if power == fleet.PowerOff {
		return s.conflict(fmt.Errorf("its state is %q", power))
	}
	described, err := s.describeDomain(ref)
	if err != nil {
		return err
	}
	if described.Devices == nil || len(described.Devices.Videos) == 0 {
		return s.unsupported(errors.New("the domain has no video device"))
	}
	return nil
}

// fit encodes the screen within the limit in bytes.
func (s *session) fit(screen *image.NRGBA, limit int) (provider.Image, error) {
	for range 4 {
		var b bytes.Buffer
		if err := png.Encode(&b, screen); err != nil {
			return provider.Image{}, fault.New(fault.Permanent, s.op, s.subject, err)
		}
		if b.Len() <= limit {
			return provider.Image{Format: formatPNG, Data: b.Bytes()}, nil
		}
		screen = halved(screen)
	}
	return provider.Image{}, s.invalid(errTooMuch)
}

// pngMagic is how every PNG begins.
const pngMagic = "\x89PNG\r\n\x1a\n"

func isPNG(raw []byte) bool { return bytes.HasPrefix(raw, []byte(pngMagic)) }

func decodeScreen(raw []byte) (*image.NRGBA, error) {
	if !isPNG(raw) {
		return decodePPM(raw)
	}
	size, err := png.DecodeConfig(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if size.Width > maxSide || size.Height > maxSide {
		return nil, fmt.Errorf("a picture of %d x %d", size.Width, size.Height)
	}
	shown, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	screen := image.NewNRGBA(image.Rectangle{Max: shown.Bounds().Size()})
	draw.Draw(screen, screen.Rect, shown, shown.Bounds().Min, draw.Src)
	return screen, nil
}

// decodePPM reads a portable pixmap of kind P6 with 8 bits per colour, as QEMU sends it.
func decodePPM(raw []byte) (*image.NRGBA, error) {
	r := bytes.NewReader(raw)
	var width, height, most int
	if _, err := fmt.Fscanf(r, "P6\n%d %d\n%d\n", &width, &height, &most); err != nil {
		return nil, fmt.Errorf("no portable pixmap: %w", err)
	}
	points := raw[len(raw)-r.Len():]
	if width < 1 || height < 1 || width > maxSide || height > maxSide || most != 255 || len(points) < width*height*3 {
		return nil, fmt.Errorf("a portable pixmap of %d x %d, up to %d, with %d bytes",
			width, height, most, len(points))
	}
	screen := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		copy(screen.Pix[4*i:], points[3*i:3*i+3])
		screen.Pix[4*i+3] = 0xff
	}
	return screen, nil
}

// halved returns the screen with half its width and height, each point the mean of four.
func halved(screen *image.NRGBA) *image.NRGBA {
	size := screen.Rect.Size()
	small := image.NewNRGBA(image.Rect(0, 0, max(1, size.X/2), max(1, size.Y/2)))
	for y := range small.Rect.Dy() {
		for x := range small.Rect.Dx() {
			right, below := min(2*x+1, size.X-1), min(2*y+1, size.Y-1)
			for c := range 4 {
				sum := 0
				for _, at := range [4]int{
					screen.PixOffset(2*x, 2*y),
					screen.PixOffset(right, 2*y),
					screen.PixOffset(2*x, below),
					screen.PixOffset(right, below),
				} {
					sum += int(screen.Pix[at+c])
				}
				small.Pix[small.PixOffset(x, y)+c] = uint8(sum / 4)
			}
		}
	}
	return small
}
