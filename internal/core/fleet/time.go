package fleet

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// ParseSpan reads a length of time as people write it: 90s, 1h30m, 2d, 1d12h. A day has 24 hours.
func ParseSpan(text string) (time.Duration, error) {
	digits, rest, found := strings.Cut(text, "d")
	if !found {
		return time.ParseDuration(text)
	}
	days, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || days > uint64(math.MaxInt64/day) {
		return 0, errors.New("it is not a length of time")
	}
	d := time.Duration(days) * day
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || rest[0] < '0' || rest[0] > '9' || d > math.MaxInt64-more {
		return 0, errors.New("it is not a length of time")
	}
	return d + more, nil
}

// WriteSpan writes a length of time as people do: 1m and 30d, not 1m0s and 720h.
func WriteSpan(d time.Duration) string {
	if d > day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Instant is a moment on the owner's monotonic clock: nanoseconds since the owner's process began. Deadlines that
// permit harm when they are over (grace, verification, backoff) are Instants; they mean nothing to another process and
// start anew at take-over (law L15). Zero means "not set".
type Instant time.Duration

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from j to i.
func (i Instant) Sub(j Instant) time.Duration { return time.Duration(i - j) }

// Now is the present, on both clocks. Wall is for records and for deadlines that forbid harm when they are over
// (holds).
//
// Whoever judges tests deadlines against it by its methods alone: one that is Watched notes which of them is the next.
type Now struct {
	Mono Instant
	Wall time.Time
	next *Instant // see Watched
}

// Watched returns the same present, which notes in next the earliest instant after it at which a test of it would turn
// out otherwise; 0: none would.
func (n Now) Watched(next *Instant) Now {
	n.next = next
	return n
}

// Due reports whether the deadline is reached: due means not before, so it is true at the instant itself.
// A deadline that is not set is never due.
func (n Now) Due(deadline Instant) bool { return deadline != 0 && n.await(deadline) }

// Reached reports whether the moment of wall time is reached.
func (n Now) Reached(moment time.Time) bool { return n.await(n.At(moment)) }

// Within reports whether no more than the time has passed since the instant.
func (n Now) Within(d time.Duration, since Instant) bool { return !n.await(since.Add(d) + 1) }

// Await notes a deadline that was set just now, so that it is tested for the first time when it is reached.
func (n Now) Await(deadline Instant) { n.await(deadline) }

func (n Now) await(deadline Instant) (reached bool) {
	if deadline > n.Mono && n.next != nil && (*n.next == 0 || deadline < *n.next) {
		*n.next = deadline
	}
	return n.Mono >= deadline
}

// When returns the moment of wall time of the instant.
func (n Now) When(i Instant) time.Time { return n.Wall.Add(i.Sub(n.Mono)) }

// At returns the instant of the moment of wall time; of one that is farther than instants reach, the last of them.
func (n Now) At(moment time.Time) Instant {
	return n.Mono.Add(min(moment.Sub(n.Wall), math.MaxInt64-time.Duration(n.Mono)))
}
