package libvirt

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// The RPC client's own streams wait for ever on a channel when the connection ends within them, and accept any data. So
// this file speaks the little that one stream needs of the protocol, on a connection of its own: greeting, one call,
// data, end.

// Numbers of libvirt's remote protocol.
const (
	remoteProgram = 0x20008086
	qemuProgram   = 0x20008087
	remoteVersion = 1

	procConnectOpen   = 1
	procAuthList      = 66
	procAuthSASLInit  = 67
	procAuthSASLStart = 68
	procAuthSASLStep  = 69
	procAuthPolkit    = 70
	procUpload        = 208
	procDownload      = 209
	procScreenshot    = 211

	typeCall   = 0
	typeReply  = 1
	typeStream = 3

	statusOK       = 0
	statusError    = 1
	statusContinue = 2

	authSASL   = 1
	authPolkit = 2

	// maxPiece keeps each data message below what all versions of the daemon accept.
	maxPiece = 256 << 10
	// maxSpoken is four times what the daemon puts into one piece of a stream.
	maxSpoken = 1 << 20
	// maxEarly bounds the bytes of the pieces that are kept until the reply comes.
	maxEarly = 32 << 20
)

// speaker speaks the protocol, one call at a time.
type speaker struct {
	w      io.Writer
	r      *bufio.Reader
	serial uint32
	early  [][]byte // pieces of the stream that came before the reply to its call
	kept   int      // the bytes of early
}

// converse dials the daemon, greets it, and lets talk use the connection, which ends with ctx at the latest.
func converse(ctx context.Context, a reach, talk func(*speaker) error) error {
	conn, err := a.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	u := &speaker{w: conn, r: bufio.NewReader(conn)}
	if err := u.greet(a.uri); err != nil {
		return err
	}
	return talk(u)
}

// greet authenticates as far as a socket demands it, and opens the hypervisor.
func (u *speaker) greet(uri golibvirt.ConnectURI) error {
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
func (u *speaker) call(procedure uint32, args []byte) ([]byte, error) {
	u.serial++
	if err := u.send(header{remoteProgram, remoteVersion, procedure, typeCall, u.serial, statusOK}, args); err != nil {
		return nil, err
	}
	return u.reply()
}

func (u *speaker) send(h header, payload []byte) error {
	var b bytes.Buffer
	writeHeader(&b, h, uint32(len(payload))) //nolint:gosec // at most maxPiece
	b.Write(payload)
	_, err := u.w.Write(b.Bytes())
	return err
}

// reply waits for the reply to the current call. Pieces of its stream can come before.
func (u *speaker) reply() ([]byte, error) {
	for {
		h, payload, err := u.next()
		switch {
		case err != nil:
			return nil, err
		case h.Type == typeReply && h.Status == statusOK:
			return payload, nil
		case h.Type == typeStream:
			if u.kept += len(payload); u.kept > maxEarly {
				return nil, fmt.Errorf("the daemon sent %d bytes of a stream before it took the call", u.kept)
			}
			u.early = append(u.early, payload)
		}
	}
}

// piece returns the next piece of the current call's stream; an empty one is its end.
func (u *speaker) piece() ([]byte, error) {
	if len(u.early) > 0 {
		piece := u.early[0]
		u.early = u.early[1:]
		return piece, nil
	}
	for {
		if h, payload, err := u.next(); err != nil || h.Type == typeStream {
			return payload, err
		}
	}
}

// confirmed waits until the daemon says that it has all of the stream that was sent to it.
func (u *speaker) confirmed() error {
	for {
		if h, _, err := u.next(); err != nil || h.Type == typeStream && h.Status == statusOK {
			return err
		}
	}
}

// next reads messages until one about the current call. The daemon's refusal is an error.
func (u *speaker) next() (header, []byte, error) {
	for {
		h, size, err := readHeader(u.r)
		if err != nil {
			return header{}, nil, err
		}
		if size > maxSpoken {
			return header{}, nil, fmt.Errorf("a message of %d bytes in a stream", size)
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(u.r, payload); err != nil {
			return header{}, nil, err
		}
		switch {
		case h.Serial != u.serial || h.Type != typeReply && h.Type != typeStream:
		case h.Status == statusError:
			return h, nil, decodeFault(payload)
		default:
			return h, payload, nil
		}
	}
}

// decodeFault reads the front of libvirt's remote_error: code, domain, optional message.
func decodeFault(p []byte) error {
	if len(p) < 16 {
		return fmt.Errorf("an error of %d bytes without a text", len(p))
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
