package libvirt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"

	golibvirt "github.com/digitalocean/go-libvirt"
)

// upload writes data into the volume. It ends with ctx. When it returns nil, the daemon confirmed that it has all.
func upload(ctx context.Context, a reach, vol golibvirt.StorageVol, data []byte) error {
	return uploadFrom(ctx, a, vol, uint64(len(data)), bytes.NewReader(data))
}

// uploadFrom is upload of so many bytes that are read meanwhile.
func uploadFrom(ctx context.Context, a reach, vol golibvirt.StorageVol, size uint64, data io.Reader) error {
	var args bytes.Buffer
	putVolume(&args, vol)
	putUint(&args, 0, 0) // offset, a 64 bit number
	args.Write(binary.BigEndian.AppendUint64(nil, size))
	putUint(&args, 0) // flags
	return converse(ctx, a, func(u *speaker) error {
		if _, err := u.call(procUpload, args.Bytes()); err != nil {
			return err
		}
		return u.upload(data)
	})
}

// upload sends the data of the call before, and waits until the daemon has it.
func (u *speaker) upload(data io.Reader) error {
	h := header{remoteProgram, remoteVersion, procUpload, typeStream, u.serial, statusContinue}
	piece := make([]byte, maxPiece)
	for {
		n, err := io.ReadFull(data, piece)
		if n > 0 {
			if err := u.send(h, piece[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return err
		}
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
	err := stream(ctx, a, procedure, args, func(piece []byte) error {
		if len(data)+len(piece) > limit {
			return errTooMuch
		}
		data = append(data, piece...)
		return nil
	})
	return data, err
}

// stream makes a call that is answered with a stream, and hands on each piece of that.
func stream(ctx context.Context, a reach, procedure uint32, args []byte, take func(piece []byte) error) error {
	return converse(ctx, a, func(u *speaker) error {
		if _, err := u.call(procedure, args); err != nil {
			return err
		}
		for {
			piece, err := u.piece()
			if err != nil || len(piece) == 0 {
				return err // the daemon ends its side with the connection, too
			}
			if err := take(piece); err != nil {
				return err
			}
		}
	})
}

// downloadTo reads all of the volume's content.
func downloadTo(ctx context.Context, a reach, vol golibvirt.StorageVol, w io.Writer) error {
	var args bytes.Buffer
	putVolume(&args, vol)
	putUint(&args, 0, 0, 0, 0, 0) // offset and length, 64 bit numbers, and flags
	return stream(ctx, a, procDownload, args.Bytes(), func(piece []byte) error {
		_, err := w.Write(piece)
		return err
	})
}

func putVolume(b *bytes.Buffer, vol golibvirt.StorageVol) {
	for _, s := range []string{vol.Pool, vol.Name, vol.Key} {
		putString(b, s)
	}
}
