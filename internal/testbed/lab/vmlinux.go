package lab

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
)

// Offsets in the setup header of a bzImage, see Documentation/arch/x86/boot.rst.
const (
	setupSectors  = 0x1f1
	payloadOffset = 0x248
	payloadLength = 0x24c
)

var errCorrupt = errors.New("corrupt kernel image")

// extractVmlinux returns the ELF kernel inside a bzImage. QEMU boots it directly (PVH), which
// saves the decompression inside an emulated guest.
func extractVmlinux(ctx context.Context, bz []byte) ([]byte, error) {
	payload, err := bzPayload(bz)
	if err != nil {
		return nil, err
	}
	elf, err := decompress(ctx, payload)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(elf, []byte("\x7fELF")) {
		return nil, fmt.Errorf("kernel payload is not ELF: %w", errCorrupt)
	}
	return elf, nil
}

func bzPayload(bz []byte) ([]byte, error) {
	if len(bz) < payloadLength+4 {
		return nil, fmt.Errorf("too short: %w", errCorrupt)
	}
	sectors := int(bz[setupSectors])
	if sectors == 0 {
		sectors = 4
	}
	from := (sectors+1)*512 + int(binary.LittleEndian.Uint32(bz[payloadOffset:]))
	to := from + int(binary.LittleEndian.Uint32(bz[payloadLength:]))
	if to > len(bz) || to-from < 8 {
		return nil, fmt.Errorf("payload outside of the file: %w", errCorrupt)
	}
	return bz[from:to], nil
}

// decompress undoes the kernel's compression. The kernel build appends the uncompressed
// length in four bytes (not for gzip, which has it anyway).
func decompress(ctx context.Context, p []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(p, []byte("\x02\x21\x4c\x18")):
		return unLZ4Legacy(p[4:])
	case bytes.HasPrefix(p, []byte("\x1f\x8b")):
		return gunzip(p)
	case bytes.HasPrefix(p, []byte("\xfd7zXZ\x00")):
		return filter(ctx, p[:len(p)-4], "xz", "-dc", "--single-stream")
	case bytes.HasPrefix(p, []byte("\x28\xb5\x2f\xfd")):
		return filter(ctx, p[:len(p)-4], "zstd", "-dc")
	default:
		return nil, fmt.Errorf("kernel payload with unknown compression % x", p[:4])
	}
}

func gunzip(p []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	r.Multistream(false)
	return io.ReadAll(r)
}

// filter runs a program with p on its standard input and returns what it prints.
func filter(ctx context.Context, p []byte, name string, arg ...string) ([]byte, error) {
	var out, msg bytes.Buffer
	cmd := exec.CommandContext(ctx, name, arg...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(p), &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(msg.Bytes()))
	}
	return out.Bytes(), nil
}

// unLZ4Legacy decodes the blocks of an LZ4 legacy frame: each has its length in four bytes
// before it and holds at most 8 MiB of output. The four bytes appended by the kernel build end it.
func unLZ4Legacy(p []byte) ([]byte, error) {
	var out []byte
	for len(p) > 4 {
		n := int(binary.LittleEndian.Uint32(p))
		p = p[4:]
		if n == 0 || n > len(p) {
			break
		}
		var err error
		if out, err = appendLZ4Block(out, p[:n]); err != nil {
			return nil, err
		}
		p = p[n:]
	}
	return out, nil
}

// appendLZ4Block appends the decoded block to out. Matches reach back only inside the block.
func appendLZ4Block(out, src []byte) ([]byte, error) {
	start := len(out)
	for i := 0; i < len(src); {
		token := int(src[i])
		i++
		lit, next, ok := lz4Length(src, i, token>>4)
		if !ok || next+lit > len(src) {
			return nil, fmt.Errorf("lz4 literals: %w", errCorrupt)
		}
		out = append(out, src[next:next+lit]...)
		if i = next + lit; i == len(src) {
			return out, nil // the last sequence has no match
		}
		if i+2 > len(src) {
			return nil, fmt.Errorf("lz4 offset: %w", errCorrupt)
		}
		back := int(src[i]) | int(src[i+1])<<8
		match, next, ok := lz4Length(src, i+2, token&15)
		if !ok || back == 0 || back > len(out)-start {
			return nil, fmt.Errorf("lz4 match: %w", errCorrupt)
		}
		i = next
		out = appendMatch(out, back, match+4)
	}
	return out, nil
}

// lz4Length reads the continuation bytes of a length that begins with the four bits n.
func lz4Length(src []byte, i, n int) (length, next int, ok bool) {
	if n < 15 {
		return n, i, true
	}
	for i < len(src) {
		b := src[i]
		i++
		n += int(b)
		if b != 255 {
			return n, i, true
		}
	}
	return 0, 0, false
}

// appendMatch repeats n bytes that began back bytes before the end; the two may overlap.
func appendMatch(out []byte, back, n int) []byte {
	from := len(out) - back
	for n > 0 {
		chunk := min(n, len(out)-from)
		out = append(out, out[from:from+chunk]...)
		from += chunk
		n -= chunk
	}
	return out
}
