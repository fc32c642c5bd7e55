package libvirt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// The RPC client's own upload waits for ever on a channel when the connection ends within it, so the little that an
// upload needs of the protocol is spoken here, on a connection of its own: greeting, one call, data, end.

// Numbers of libvirt's remote protocol.
const (
	remoteProgram = 0x20008086
	remoteVersion = 1

	procConnectOpen = 1
	procAuthList    = 66
	procAuthPolkit  = 70
	procUpload      = 208

	typeCall   = 0
	typeReply  = 1
	typeStream = 3

	statusOK       = 0
	statusError    = 1
	statusContinue = 2

	authPolkit = 2

	// maxPiece keeps each data message below what all versions of the daemon accept.
	maxPiece = 256 << 10
)

// header is that of each message, after its length.
type header struct {
	Program, Version, Procedure, Type, Serial, Status uint32
}

// uploader speaks the protocol, one call at a time.
type uploader struct {
	w      io.Writer
	r      *bufio.Reader
	serial uint32
}

// upload writes data into the volume. It ends with ctx. When it returns nil, the daemon confirmed that it has all.
func upload(ctx context.Context, a address, vol golibvirt.StorageVol, data []byte) error {
	conn, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	u := &uploader{w: conn, r: bufio.NewReader(conn)}
	if err := u.greet(a.uri); err != nil {
		return err
	}
	var args bytes.Buffer
	for _, s := range []string{vol.Pool, vol.Name, vol.Key} {
		putString(&args, s)
	}
	putUint(&args, 0, 0)                                // offset, a 64 bit number
	putUint(&args, 0, uint32(len(data))&math.MaxUint32) //nolint:gosec // a seed is small
	putUint(&args, 0)                                   // flags
	if _, err := u.call(procUpload, args.Bytes()); err != nil {
		return err
	}
	return u.stream(data)
}

// greet authenticates as far as a socket demands it, and opens the hypervisor.
func (u *uploader) greet(uri golibvirt.ConnectURI) error {
	reply, err := u.call(procAuthList, nil)
	if err != nil {
		return err
	}
	if len(reply) >= 8 && binary.BigEndian.Uint32(reply[4:]) == authPolkit {
		if _, err := u.call(procAuthPolkit, nil); err != nil {
			return err
		}
	}
	var args bytes.Buffer
	putUint(&args, 1) // the name is there
	putString(&args, string(uri))
	putUint(&args, 0) // flags
	_, err = u.call(procConnectOpen, args.Bytes())
	return err
}

// call sends a call and returns its reply's payload.
func (u *uploader) call(procedure uint32, args []byte) ([]byte, error) {
	u.serial++
	if err := u.send(header{remoteProgram, remoteVersion, procedure, typeCall, u.serial, statusOK}, args); err != nil {
		return nil, err
	}
	return u.await(typeReply)
}

// stream sends the data of the call before, and waits until the daemon has it.
func (u *uploader) stream(data []byte) error {
	h := header{remoteProgram, remoteVersion, procUpload, typeStream, u.serial, statusContinue}
	for len(data) > 0 {
		n := min(len(data), maxPiece)
		if err := u.send(h, data[:n]); err != nil {
			return err
		}
		data = data[n:]
	}
	h.Status = statusOK
	if err := u.send(h, nil); err != nil {
		return err
	}
	_, err := u.await(typeStream)
	return err
}

func (u *uploader) send(h header, payload []byte) error {
	var b bytes.Buffer
	putUint(&b, uint32(minMessage+len(payload))) //nolint:gosec // at most maxPiece and a header
	putUint(&b, h.Program, h.Version, h.Procedure, h.Type, h.Serial, h.Status)
	b.Write(payload)
	_, err := u.w.Write(b.Bytes())
	return err
}

// await reads messages until the answer of the kind to the current call.
func (u *uploader) await(kind uint32) ([]byte, error) {
	for {
		var length uint32
		if err := binary.Read(u.r, binary.BigEndian, &length); err != nil {
			return nil, err
		}
		if length < minMessage || length > maxMessage {
			return nil, fmt.Errorf("a message of %d bytes: the peer does not speak libvirt's protocol", length)
		}
		var h header
		if err := binary.Read(u.r, binary.BigEndian, &h); err != nil {
			return nil, err
		}
		payload := make([]byte, length-minMessage)
		if _, err := io.ReadFull(u.r, payload); err != nil {
			return nil, err
		}
		switch {
		case h.Serial != u.serial || h.Type != typeReply && h.Type != typeStream:
		case h.Status == statusError:
			return nil, decodeFault(payload)
		case h.Type == kind && h.Status == statusOK:
			return payload, nil
		}
	}
}

// decodeFault reads the front of libvirt's remote_error: code, domain, optional message.
func decodeFault(p []byte) error {
	if len(p) < 16 {
		return fmt.Errorf("an error of %d bytes that says nothing", len(p))
	}
	e := golibvirt.Error{Code: binary.BigEndian.Uint32(p)}
	present, length, text := binary.BigEndian.Uint32(p[8:]), int(binary.BigEndian.Uint32(p[12:])), p[16:]
	if present == 1 && length <= len(text) {
		e.Message = string(text[:length])
	}
	return e
}

func putUint(b *bytes.Buffer, values ...uint32) {
	for _, v := range values {
		b.Write(binary.BigEndian.AppendUint32(nil, v))
	}
}

// putString writes a string as XDR does: its length, its bytes, and zeros up to a multiple of four.
func putString(b *bytes.Buffer, s string) {
	putUint(b, uint32(len(s))) //nolint:gosec // names and paths
	b.WriteString(s)
	b.Write(make([]byte, (4-len(s)%4)%4))
}
