package libvirt

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"libvirt.org/go/libvirtxml"

	"hale/internal/core/fault"
)

func TestWhereADomainsConsoleIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ devices, want string }{
		"no serial port":           {"", ""},
		"a terminal without a log": {`<serial type="pty"/>`, ""},
		"a terminal with a log":    {`<serial type="pty"><log file="/c.log" append="on"/></serial>`, "/c.log"},
		"a file":                   {`<serial type="file"><source path="/c.txt"/></serial>`, "/c.txt"},
		"the second of two": {
			`<serial type="pty"/><serial type="unix"><source mode="bind" path="/s"/><log file="/2.log"/></serial>`,
			"/2.log",
		},
		"a console of another kind": {
			`<console type="pty"><target type="virtio"/><log file="/v.log"/></console>`,
			"/v.log",
		},
	} {
		var dom libvirtxml.Domain
		if err := dom.Unmarshal("<domain><devices>" + c.devices + "</devices></domain>"); err != nil {
			t.Fatal(err)
		}
		if got := consoleFile(&dom); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := consoleFile(&libvirtxml.Domain{}); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}

// noise is a picture that no compression makes small.
func noise(width, height int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "P6\n%d %d\n255\n", width, height)
	x := uint32(1)
	for range width * height * 3 {
		x = x*1664525 + 1013904223
		b.WriteByte(byte(x >> 24))
	}
	return b.Bytes()
}

func TestAScreenIsMadeSmallerUntilItFits(t *testing.T) {
	t.Parallel()
	screen, err := decodePPM(noise(640, 480))
	if err != nil {
		t.Fatal(err)
	}
	s := &session{op: "test"}
	for limit, width := range map[int]int{2 << 20: 640, 700 << 10: 320, 100 << 10: 160} {
		p, err := s.fit(screen, limit)
		if err != nil || p.Format != formatPNG || len(p.Data) > limit {
			t.Errorf("%d: %d bytes of %s, %v", limit, len(p.Data), p.Format, err)
			continue
		}
		shown, err := png.Decode(bytes.NewReader(p.Data))
		if err != nil || shown.Bounds().Dx() != width {
			t.Errorf("%d: %v, %v, want %d points", limit, shown.Bounds(), err, width)
		}
	}
	if _, err := s.fit(screen, 1000); !fault.Is(err, fault.Invalid) {
		t.Errorf("what never fits: %v", err)
	}
}

// A PNG is passed on as it came, unless it is too large.
func TestAPictureIsReadWhateverItsKind(t *testing.T) {
	t.Parallel()
	screen, err := decodePPM(noise(64, 48))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := png.Encode(&b, screen); err != nil {
		t.Fatal(err)
	}
	again, err := decodeScreen(b.Bytes())
	if err != nil || !bytes.Equal(again.Pix, screen.Pix) {
		t.Errorf("as PNG it is another one (%v)", err)
	}
	if again, err = decodeScreen(noise(64, 48)); err != nil || !bytes.Equal(again.Pix, screen.Pix) {
		t.Errorf("as PPM it is another one (%v)", err)
	}
	if _, err := decodeScreen(b.Bytes()[:b.Len()/2]); err == nil {
		t.Error("half of a PNG is taken for one")
	}
}

func TestPointsKeepTheirColours(t *testing.T) {
	t.Parallel()
	screen, err := decodePPM([]byte("P6\n2 2\n255\n\x00\x10\x20\x04\x10\x20\x08\x10\x20\xff\x00\x01"))
	if err != nil || !bytes.Equal(screen.Pix[12:], []byte{0xff, 0, 1, 0xff}) {
		t.Fatalf("%+v, %v", screen, err)
	}
	if small := halved(screen); small.Rect != image.Rect(0, 0, 1, 1) ||
		!bytes.Equal(small.Pix, []byte{(0 + 4 + 8 + 255) / 4, 12, 24, 255}) {
		t.Errorf("%+v", small)
	}
	if small := halved(halved(screen)); small.Rect != image.Rect(0, 0, 1, 1) {
		t.Errorf("one point is halved to %v", small.Rect)
	}
}

func TestWhatIsNoPictureIsRefused(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"nothing":            "",
		"another kind":       "P5\n1 1\n255\n\x00",
		"cut off":            "P6\n2 2\n255\n\x00\x00",
		"nothing in it":      "P6\n0 0\n255\n",
		"negative":           "P6\n-1 1\n255\n\x00\x00\x00",
		"two bytes a colour": "P6\n1 1\n65535\n" + strings.Repeat("\x00", 6),
		"huge":               "P6\n100000 100000\n255\n\x00",
	} {
		if _, err := decodePPM([]byte(raw)); err == nil {
			t.Errorf("%s is taken for a picture", name)
		}
	}
}
