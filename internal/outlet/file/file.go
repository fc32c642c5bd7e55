// Package file appends the journal to a file, one line of JSON for each record.
//
// It promises that what is acknowledged is on the disk; that a file which was moved away, as by logrotate, is left
// alone and a new one begun, without a signal; and that a line which a crash left half written is cut off before the
// next one is written. It keeps no file open in between.
package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"hale/internal/core/fault"
	"hale/internal/outlet"
)

// Outlet is the file at a path.
type Outlet struct{ path string }

// New makes the outlet. It opens nothing yet.
func New(path string) *Outlet { return &Outlet{path} }

// Take implements outlet.Outlet.
func (o *Outlet) Take(ctx context.Context, events []outlet.Event) error {
	if err := ctx.Err(); err != nil {
		return o.fail(err)
	}
	var lines bytes.Buffer
	for i := range events {
		lines.Write(events[i].Body)
		lines.WriteByte('\n')
	}
	if err := o.append(lines.Bytes()); err != nil {
		return o.fail(err)
	}
	return nil
}

// Close implements outlet.Outlet: there is nothing open.
func (o *Outlet) Close() {}

func (o *Outlet) fail(err error) error {
	kind := fault.Transient
	if errors.Is(err, fs.ErrPermission) {
		kind = fault.Unauthorised
	}
	return fault.New(kind, "file.append", o.path, err)
}

// append writes the lines behind whole ones, and returns when they are on the disk. Who may read what the fleet did is
// the folder's business, and the group's.
func (o *Outlet) append(lines []byte) (err error) {
	_, err = os.Lstat(o.path)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := os.OpenFile(o.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o640) //nolint:gosec // the group of the log's folder reads it
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := mend(f); err != nil {
		return err
	}
	if _, err := f.Write(lines); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || !fresh {
		return err
	}
	folder, err := os.Open(filepath.Dir(o.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// mend cuts off what stands behind the last whole line.
func mend(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	const part = 64 << 10
	for end := info.Size(); end > 0; {
		from := max(0, end-part)
		piece := make([]byte, end-from)
		if _, err := f.ReadAt(piece, from); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if at := bytes.LastIndexByte(piece, '\n'); at >= 0 {
			if whole := from + int64(at) + 1; whole < info.Size() {
				return f.Truncate(whole)
			}
			return nil
		}
		end = from
	}
	if info.Size() > 0 {
		return f.Truncate(0)
	}
	return nil
}
