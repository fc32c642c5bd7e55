package libvirt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// upload writes data into the volume. It ends with ctx. When it returns nil, the daemon confirmed that it has all.
func upload(ctx context.Context, a reach, vol golibvirt.StorageVol, data []byte) error {
	var args bytes.Buffer
	putVolume(&args, vol)
	putUint(&args, 0, 0)                                // offset, a 64 bit number
	putUint(&args, 0, uint32(len(data))&math.MaxUint32) //nolint:gosec // a seed is small
	putUint(&args, 0)                                   // flags
	return converse(ctx, a, func(u *speaker) error {
		if _, err := u.call(procUpload, args.Bytes()); err != nil {
			return err
		}
		return u.upload(data)
	})
}

// upload sends the data of the call before, and waits until the daemon has it.
func (u *speaker) upload(data []byte) error {
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
	return u.confirmed()
}

// errTooMuch says that a stream had more than it may have.
var errTooMuch = errors.New("it is too large")

// download reads the volume's content from the offset to its end, at most limit bytes of it.
func download(ctx context.Context, a reach, vol golibvirt.StorageVol, offset uint64, limit int) ([]byte, error) {
	var args bytes.Buffer
	putVolume(&args, vol)
	args.Write(binary.BigEndian.AppendUint64(nil, offset))
	putUint(&args, 0, uint32(limit)) //nolint:gosec // length, a 64 bit number
	putUint(&args, 0)                // flags
	return fetch(ctx, a, procDownload, args.Bytes(), limit)
}

// fetch makes a call that is answered with a stream, and reads that. More than limit bytes are errTooMuch.
func fetch(ctx context.Context, a reach, procedure uint32, args []byte, limit int) ([]byte, error) {
	var data []byte
	err := converse(ctx, a, func(u *speaker) error {
		if _, err := u.call(procedure, args); err != nil {
			return err
		}
		for {
			piece, err := u.piece()
			if err != nil || len(piece) == 0 {
				return err // the daemon ends its side with the connection, too
			}
			if len(data)+len(piece) > limit {
				return errTooMuch
			}
			data = append(data, piece...)
		}
	})
	return data, err
}

func putVolume(b *bytes.Buffer, vol golibvirt.StorageVol) {
	for _, s := range []string{vol.Pool, vol.Name, vol.Key} {
		putString(b, s)
	}
}
