package redfish_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/fence/redfish"
)

// liar is a service that says what it likes, and counts what it is asked.
type liar struct {
	asked, ordered, wrote atomic.Int64
	system, order         func(w http.ResponseWriter) // what it answers; nil: as it should
	members, next, target string
}

func (l *liar) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	l.asked.Add(1)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case q.Method == http.MethodPost:
		l.ordered.Add(1)
		if l.order != nil {
			l.order(w)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	case q.URL.Path == "/redfish/v1/":
		fmt.Fprint(w, `{"@odata.id": "/redfish/v1/", "Id": "root", "Systems": {"@odata.id": "/redfish/v1/Systems"}}`)
	case q.URL.Path == "/redfish/v1/Systems":
		fmt.Fprintf(w, `{"Members@odata.count": 1, "Members": [{"@odata.id": %q}], "Members@odata.nextLink": %q}`,
			l.members, l.next)
	case l.system != nil:
		l.system(w)
	default:
		fmt.Fprintf(w,
			`{"@odata.id": "/redfish/v1/Systems/1", "Id": "1", "PowerState": "On", `+
				`"Actions": {"#ComputerSystem.Reset": {"target": %q}}}`, l.target)
	}
}

const (
	honestMember = "/redfish/v1/Systems/1"
	honestTarget = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
)

// flood writes 600 MiB, or as much as the client reads.
func (l *liar) flood(w http.ResponseWriter) {
	fmt.Fprint(w, `{"Id": "`)
	chunk := []byte(strings.Repeat("x", 64<<10))
	for l.wrote.Load() < 600<<20 {
		n, err := w.Write(chunk)
		if l.wrote.Add(int64(n)); err != nil {
			return
		}
	}
}

// TestALyingServiceGetsNothing: no link of a service leads order or password to anybody else, none of its answers is
// taken for a host that is off, and it can make hale neither ask nor read without end.
func TestALyingServiceGetsNothing(t *testing.T) {
	t.Parallel()
	stranger := &liar{members: honestMember, target: honestTarget}
	elsewhere := strings.TrimPrefix(serve(t, stranger).URL, "https://")
	for name, c := range map[string]struct {
		lie     func(*liar)
		says    string
		kind    fault.Kind
		ordered int64
	}{
		"the system is elsewhere": {func(l *liar) { l.members = "@" + elsewhere + honestMember },
			"refusing a foreign address", fault.Transient, 0},
		"the order leads elsewhere": {func(l *liar) { l.target = "@" + elsewhere + honestTarget },
			"refusing a foreign address", fault.Transient, 0},
		"the next page is elsewhere": {func(l *liar) { l.next = "@" + elsewhere + "/redfish/v1/Systems" },
			"refusing a foreign address", fault.Transient, 0},
		"a name that goes on": {func(l *liar) { l.target = ".example.com" + honestTarget }, "invalid port",
			fault.Transient, 0},
		"the order is redirected": {func(l *liar) {
			l.order = func(w http.ResponseWriter) {
				w.Header().Set("Location", "https://"+elsewhere+honestTarget)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
		}, "refusing redirect", fault.UnknownOutcome, 1},
		"a system without end": {func(l *liar) { l.system = l.flood }, "refusing an answer of more than",
			fault.Transient, 0},
		"a collection without an end": {func(l *liar) { l.next = "/redfish/v1/Systems" },
			"refusing more than 256 requests", fault.Transient, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &liar{members: honestMember, target: honestTarget}
			c.lie(l)
			o := serve(t, l)
			o.Insecure, o.CA = true, "" // a stranger's certificate must not be what saves it
			bmc := redfish.New(o)
			err := bmc.Off(t.Context())
			if !fault.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Off: %v", err)
			}
			if n := l.ordered.Load(); n != c.ordered {
				t.Errorf("%d orders came, want %d", n, c.ordered)
			}
			if asked, wrote := l.asked.Load(), l.wrote.Load(); asked > 300 || wrote > 64<<20 {
				t.Errorf("it was asked %d times, and %d bytes of it were taken", asked, wrote)
			}
			unproven(t, bmc)
		})
	}
	t.Cleanup(func() {
		if n := stranger.asked.Load(); n != 0 {
			t.Errorf("the stranger was asked %d times", n)
		}
	})
}

// unproven has the host fenced, which must not succeed.
func unproven(t *testing.T, c fence.Controller) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	m := fence.Method{Name: "h1-bmc", Controller: c, Attempts: 1, Timeout: 2 * time.Second, Settle: time.Millisecond,
		Poll: 200 * time.Millisecond}
	if done, err := fence.Attempt(ctx, m); err == nil {
		t.Errorf("the host counts as off: %+v", done)
	}
}
