package program

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"hale/internal/secret"
)

// Head keeps the first Most bytes of what is written to it, and accepts the rest. It is safe for concurrent use.
type Head struct {
	Most int

	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer; it cannot fail.
func (h *Head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, p[:min(len(p), h.Most-len(h.kept))]...)
	return len(p), nil
}

// String returns what was kept.
func (h *Head) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.kept)
}

// Tail keeps the last Most bytes of what is written to it. It is not safe for concurrent use.
type Tail struct {
	Most int

	kept []byte // up to twice as much, so that a byte is not moved each time
	cut  int    // bytes before it that were let go
}

// Write implements io.Writer; it cannot fail.
func (t *Tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.Most; over > t.Most {
		t.cut += over
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// String returns what was kept.
func (t *Tail) String() string { return string(t.kept[t.over():]) }

// over is how much more there is than is kept for good.
func (t *Tail) over() int { return max(0, len(t.kept)-t.Most) }

// How much of an output is kept, in bytes.
const (
	headSize = 8 << 10
	tailSize = 16 << 10
)

// Digest keeps the beginning and the end of what is written to it. The zero value is ready. It is not safe for
// concurrent use.
type Digest struct {
	// Hide are values that are not kept: secrets.
	Hide []string
	head Head
	tail Tail
}

// Write implements io.Writer; it cannot fail.
func (d *Digest) Write(p []byte) (int, error) {
	d.head.Most, d.tail.Most = headSize, tailSize
	first := min(len(p), headSize-len(d.head.kept))
	_, _ = d.head.Write(p[:first])
	_, _ = d.tail.Write(p[first:])
	return len(p), nil
}

// String returns what was kept, printable, and says how much was left out.
func (d *Digest) String() string {
	head, tail, cut := d.head.String(), d.tail.String(), d.tail.cut+d.tail.over()
	if cut == 0 {
		return d.shown(head + tail)
	}
	return d.shown(secret.RedactEnd(head, d.Hide...)) + fmt.Sprintf("\n[%d bytes left out]\n", cut) +
		d.shown(secret.RedactBegin(tail, d.Hide...))
}

// shown is a printable text without what is hidden, as that looks once it is printable.
func (d *Digest) shown(s string) string {
	s = printable(s)
	for _, v := range d.Hide {
		s = secret.Redact(s, printable(v))
	}
	return s
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		if r == '\t' {
			return ' '
		}
		return -1
	}, strings.ToValidUTF8(s, ""))
}
