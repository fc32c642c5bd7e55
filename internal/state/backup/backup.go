// Package backup puts what a store holds into a stream of bytes, and takes it out again.
//
// It promises that what is in the stream is what the store held at one revision, without what lives by a lease or is of
// one cluster of servers, without history, and without anything that the store does not hold; and that a stream which
// was cut off, changed, or made by a hale that writes another layout, is found out as such before its end is believed.
// It knows neither files nor folders.
//
// The stream is compressed by gzip. In it are lines of JSON: the Header, then each entry with its value in base64, then
// an end with the number of entries and the SHA-256 of all lines before. So zcat and jq read it. Instead of an end
// there may be the reason why there is none.
package backup

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/core/fleet"
	"hale/internal/state"
	"hale/internal/state/format"
)

// Layout is the number of the layout that is written, and the only one that is read.
const Layout = 1

// longestLine holds any value that a store takes, in base64.
const longestLine = 2*state.MaxBytes + 1<<20

// Header says what a backup is of.
type Header struct {
	Layout int       `json:"hale_backup"`
	Made   time.Time `json:"made"`
	Hale   string    `json:"hale"`   // version
	Server string    `json:"server"` // where it ran
	// Installation and Format are the store's.
	Installation fleet.Installation `json:"installation"`
	Format       format.Mark        `json:"format"`
}

// line is any line after the header: an entry, or the end.
type line struct {
	Key   string `json:"key,omitempty"`
	Value []byte `json:"value,omitempty"`
	End   *end   `json:"end,omitempty"`
	// Broken says why the backup ends here, and is none.
	Broken string `json:"broken,omitempty"`
}

type end struct {
	Entries int    `json:"entries"`
	SHA256  string `json:"sha256"`
}

// Write writes a backup of the store. Of the header, the caller fills in what the store does not know. After an error,
// what was written is no backup, and says so as far as it could be written.
func Write(ctx context.Context, w io.Writer, s state.Store, h Header) error {
	h.Layout = Layout
	var err error
	if h.Format, err = format.Read(ctx, s); err != nil {
		return err
	}
	packed := gzip.NewWriter(w)
	out := &summed{w: packed, sum: sha256.New()}
	if err = out.put(h); err == nil {
		err = writeEntries(ctx, out, s)
	}
	if errors.Is(err, state.ErrCompacted) {
		err = fault.New(fault.Transient, "backup.write", "",
			errors.New("the store changed too much meanwhile; make the backup again"))
	}
	if err != nil {
		_ = out.put(line{Broken: err.Error()}) // who reads it may have gone
	}
	return errors.Join(err, packed.Close())
}

func writeEntries(ctx context.Context, out *summed, s state.Store) error {
	entries := 0
	for e, err := range state.Scan(ctx, s, "") {
		if err != nil {
			return err
		}
		if e.Lease != 0 || strings.HasPrefix(e.Key, state.ClusterPrefix) {
			continue
		}
		if err := out.put(line{Key: e.Key, Value: e.Value}); err != nil {
			return err
		}
		entries++
	}
	return out.put(line{End: &end{Entries: entries, SHA256: hex.EncodeToString(out.sum.Sum(nil))}})
}

// summed writes lines, and sums them up.
type summed struct {
	w   io.Writer
	sum hash.Hash
}

func (s *summed) put(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fault.New(fault.Invalid, "backup.write", "", err)
	}
	data = append(data, '\n')
	s.sum.Write(data)
	_, err = s.w.Write(data)
	return err
}

// Backup is one that is being read.
type Backup struct {
	Header
	lines *bufio.Scanner
	sum   hash.Hash
}

// errCut is why a backup is refused that has no end.
var errCut = errors.New("it ends in the middle: it was cut off while it was written or copied")

// Open reads the header. fault.Invalid: it is no backup, or a damaged one. fault.Unsupported: a newer hale wrote it, or
// its state is of a format that this one does not read.
func Open(r io.Reader) (*Backup, error) {
	packed, err := gzip.NewReader(r)
	if err != nil {
		return nil, wrong(errors.New("it is no backup of hale"))
	}
	b := &Backup{lines: bufio.NewScanner(packed), sum: sha256.New()}
	b.lines.Buffer(nil, longestLine)
	data, err := b.next()
	if err == nil {
		err = json.Unmarshal(data, &b.Header)
	}
	switch {
	case errors.Is(err, errCut):
		return nil, wrong(err)
	case err != nil || b.Layout < 1:
		return nil, wrong(errors.New("it is no backup of hale"))
	case b.Layout != Layout:
		return nil, fault.New(fault.Unsupported, "backup.read", "",
			fmt.Errorf("hale %s wrote it, in a layout (%d) that this hale does not read; take that one",
				b.Hale, b.Layout))
	}
	return b, b.Format.Readable()
}

func wrong(err error) error { return fault.New(fault.Invalid, "backup.read", "", err) }

// next returns the next line.
func (b *Backup) next() ([]byte, error) {
	if b.lines.Scan() {
		return b.lines.Bytes(), nil
	}
	switch err := b.lines.Err(); {
	case err == nil, errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errCut
	default:
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
}

// Entries yields what the store held, sorted by key. What was yielded may be believed only when it ends without an
// error; it can be read once. fault.Invalid: the backup is damaged, cut off, or was never finished.
func (b *Backup) Entries() iter.Seq2[state.Entry, error] {
	return func(yield func(state.Entry, error) bool) {
		b.count(b.lines.Bytes())
		for n, last := 0, ""; ; n++ {
			data, err := b.next()
			var l line
			if err == nil {
				err = b.unpack(data, &l)
			}
			switch {
			case err != nil:
			case l.Broken != "":
				err = fmt.Errorf("it was never finished: %s", l.Broken)
			case l.End != nil:
				err = b.closed(*l.End, n)
			case l.Key <= last:
				err = errors.New("it is damaged: an entry is not in its place")
			}
			if err != nil {
				yield(state.Entry{}, wrong(err))
				return
			}
			if l.End != nil || !yield(state.Entry{Key: l.Key, Value: l.Value}, nil) {
				return
			}
			b.count(data)
			last = l.Key
		}
	}
}

func (b *Backup) unpack(data []byte, l *line) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(l) == nil {
		return nil
	}
	if _, err := b.next(); err != nil { // the line was the last one, and perhaps not all of it
		return err
	}
	return errors.New("it is damaged: a line of it cannot be read")
}

// count sums a line up.
func (b *Backup) count(data []byte) {
	b.sum.Write(data)
	b.sum.Write([]byte{'\n'})
}

// closed says what is wrong with a backup that ends so after n entries.
func (b *Backup) closed(e end, n int) error {
	if got := hex.EncodeToString(b.sum.Sum(nil)); got != e.SHA256 || n != e.Entries {
		return fmt.Errorf("it is damaged: its checksum is %s and should be %s", got, e.SHA256)
	}
	if b.lines.Scan() {
		return errors.New("it is damaged: something follows its end")
	}
	if err := b.lines.Err(); err != nil { // gzip has a checksum of its own at the very end
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return errCut
		}
		return fmt.Errorf("it is damaged: %w", err)
	}
	return nil
}
