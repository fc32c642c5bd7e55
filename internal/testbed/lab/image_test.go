package lab

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// lz4Sample is "abcabcabcabcabcabcabcabc-end": three literals, a match that overlaps itself, four literals.
var lz4Sample = []byte{3<<4 | 15, 'a', 'b', 'c', 3, 0, 2, 4 << 4, '-', 'e', 'n', 'd'}

func TestLZ4BlockDecodesAndRefusesDamage(t *testing.T) {
	t.Parallel()
	out, err := appendLZ4Block([]byte("before"), lz4Sample)
	if want := "before" + strings.Repeat("abc", 8) + "-end"; err != nil || string(out) != want {
		t.Errorf("decoded %q, %v; want %q", out, err, want)
	}
	cases := map[string]struct {
		block  []byte
		reason string
	}{
		"literals cut":        {[]byte{5 << 4, 'a'}, "five literals promised, one there"},
		"offset cut":          {[]byte{1 << 4, 'a', 1}, "an offset has two bytes"},
		"offset zero":         {[]byte{1 << 4, 'a', 0, 0}, "a match cannot begin at itself"},
		"offset before block": {[]byte{1 << 4, 'a', 9, 0}, "blocks do not refer to what was before them"},
		"length unfinished":   {[]byte{15 << 4, 255, 255}, "the length goes on for ever"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if out, err := appendLZ4Block([]byte("0123456789abcdef"), c.block); err == nil {
				t.Errorf("decoded %q: %s", out, c.reason)
			}
		})
	}
}

func TestVmlinuxComesOutOfABzImage(t *testing.T) {
	t.Parallel()
	elf := append([]byte("\x7fELF"), bytes.Repeat([]byte("kernel "), 1000)...)
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(elf)))
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	w.Write(elf)
	w.Close()
	cases := map[string][]byte{
		"lz4": append(lz4Literals(elf), size...),
		"gz":  append(gz.Bytes(), "what follows"...),
		"xz":  append(pack(t, elf, "xz", "-c"), size...),
		"zst": append(pack(t, elf, "zstd", "-c"), size...),
	}
	for name, payload := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := extractVmlinux(t.Context(), bzImage(payload))
			if err != nil || !bytes.Equal(got, elf) {
				t.Errorf("%d bytes, %v; want the %d that went in", len(got), err, len(elf))
			}
		})
	}
	for name, bad := range map[string][]byte{
		"no image": nil,
		"cut":      bzImage(cases["gz"])[:1100],
		"unknown":  bzImage([]byte("no magic here")),
	} {
		if got, err := extractVmlinux(t.Context(), bad); err == nil {
			t.Errorf("%s: extracted %d bytes", name, len(got))
		}
	}
}

// lz4Literals makes a legacy frame of one block that holds only literals.
func lz4Literals(data []byte) []byte {
	block := []byte{15 << 4}
	n := len(data) - 15
	for ; n >= 255; n -= 255 {
		block = append(block, 255)
	}
	block = append(append(block, byte(n)), data...)
	frame := binary.LittleEndian.AppendUint32([]byte("\x02\x21\x4c\x18"), uint32(len(block)))
	return append(frame, block...)
}

func pack(t *testing.T, data []byte, name string, arg ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, arg...)
	cmd.Stdin = bytes.NewReader(data)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out
}

// bzImage puts a payload behind a setup header of one sector.
func bzImage(payload []byte) []byte {
	const offset = 64
	const from = 1024 + offset
	image := make([]byte, from+len(payload)+100)
	image[setupSectors] = 1
	binary.LittleEndian.PutUint32(image[payloadOffset:], offset)
	binary.LittleEndian.PutUint32(image[payloadLength:], uint32(len(payload)))
	copy(image[from:], payload)
	return image
}

func TestCpioIsWhatCpioReads(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	c := &cpioWriter{w: &buf}
	c.entry("bin", modeDir|0o755, nil)
	c.entry("bin/abc", modeRegular|0o755, []byte("12345"))
	c.entry("bin/sh", modeSymlink|0o777, []byte("abc"))
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"bin 040755", "bin/abc 0100755 12345", "bin/sh 0120777 abc", "TRAILER!!! 00"}
	if got := readCpio(t, buf.Bytes()); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("archive holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// readCpio reads a newc archive by its definition: a header of 110 characters, hexadecimal fields, names and
// contents filled up to multiples of four.
func readCpio(t *testing.T, p []byte) []string {
	t.Helper()
	var out []string
	for off := 0; off < len(p); {
		if string(p[off:off+6]) != "070701" {
			t.Fatalf("no header at %d: %q", off, p[off:off+6])
		}
		field := func(i int) int {
			n, err := strconv.ParseInt(string(p[off+6+8*i:off+14+8*i]), 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
		mode, size, nameLen := field(1), field(6), field(11)
		name := string(p[off+110 : off+110+nameLen-1])
		from := (off + 110 + nameLen + 3) &^ 3
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s 0%o %s", name, mode, p[from:from+size])))
		off = (from + size + 3) &^ 3
	}
	return out
}

func TestQEMUProcessesAreKnownByTheirCommandLine(t *testing.T) {
	t.Parallel()
	line := "/usr/bin/qemu-system-x86_64 -name guest=web-1,debug-threads=on -S -uuid 5d0b -device " +
		"{\"driver\":\"virtio-net-pci\",\"mac\":\"52:54:00:0a:0b:0c\"}"
	want := Process{Domain: "web-1", UUID: "5d0b", MAC: "52:54:00:0a:0b:0c"}
	if got := parseQEMU(strings.Split(line, " ")); got != want {
		t.Errorf("parsed %+v, want %+v", got, want)
	}
	for _, other := range []string{
		"/usr/bin/qemu-system-x86_64 -S -no-user-config -nodefaults",
		"/usr/sbin/dnsmasq -name guest=x",
		"x",
		"-name",
	} {
		if got := parseQEMU(strings.Split(other, " ")); got.Domain != "" {
			t.Errorf("%q is taken for domain %q", other, got.Domain)
		}
	}
}
