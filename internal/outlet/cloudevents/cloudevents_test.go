package cloudevents_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/outlet"
	"hale/internal/outlet/cloudevents"
	"hale/internal/outlet/post"
	"hale/internal/secret"

	"github.com/cloudevents/sdk-go/v2/event"
	cehttp "github.com/cloudevents/sdk-go/v2/protocol/http"
)

// receiver takes CloudEvents by the SDK, but for the event that it refuses.
type receiver struct {
	*testing.T
	address string
	refuses string

	mu       sync.Mutex
	status   int
	got      []event.Event
	requests int
	head     http.Header
}

func receive(t *testing.T) *receiver {
	r := &receiver{T: t}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.address = s.URL
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests, r.head = r.requests+1, q.Header
	if r.status != 0 {
		http.Error(w, "not so", r.status)
		return
	}
	var got []event.Event
	var err error
	if strings.HasPrefix(q.Header.Get("Content-Type"), event.ApplicationCloudEventsBatchJSON) {
		got, err = cehttp.NewEventsFromHTTPRequest(q)
	} else {
		var one *event.Event
		if one, err = cehttp.NewEventFromHTTPRequest(q); err == nil {
			got = append(got, *one)
		}
	}
	for _, e := range got {
		if err == nil {
			err = e.Validate()
		}
		if err == nil && e.ID() == r.refuses {
			err = fmt.Errorf("it does not like %s", e.ID())
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.got = append(r.got, got...)
	w.WriteHeader(http.StatusAccepted)
}

func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for _, e := range r.got {
		out = append(out, e.ID())
	}
	return out
}

func (r *receiver) outlet(mode cloudevents.Mode, refused *int, headers ...secret.Named) *cloudevents.Outlet {
	o := cloudevents.New(post.New(post.Options{Op: "cloudevents.send", URL: secret.Value{Plain: r.address}, Headers: headers,
		Identity: post.Identity{Name: "test", Timeout: 5 * time.Second, Version: "v1"}}), mode,
		func(n int, _ error) { *refused += n })
	r.Cleanup(o.Close)
	return o
}

func events(n int) []outlet.Event {
	var out []outlet.Event
	for i := range n {
		out = append(out, outlet.Event{ID: fmt.Sprint("e", i+1), At: time.Unix(1_800_000_000, 0), Installation: "ours",
			Fleet: "web", Machine: "web-2", Kind: "look", Trace: strings.Repeat("0a", 16), Span: strings.Repeat("0b", 8),
			Body: []byte(`{"seq":1}`)})
	}
	return out
}

// each plays a story in both modes.
func each(t *testing.T, story func(t *testing.T, mode cloudevents.Mode)) {
	t.Parallel()
	for _, mode := range []cloudevents.Mode{cloudevents.ModeBatched, cloudevents.ModeStructured} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			story(t, mode)
		})
	}
}

func TestRecordsAreCloudEvents(t *testing.T) {
	each(t, func(t *testing.T, mode cloudevents.Mode) {
		r, refused := receive(t), 0
		if err := r.outlet(mode, &refused).Take(t.Context(), events(3)); err != nil {
			t.Fatal(err)
		}
		if want := map[cloudevents.Mode]int{cloudevents.ModeBatched: 1, cloudevents.ModeStructured: 3}[mode]; r.requests != want {
			t.Errorf("there were %d requests, want %d", r.requests, want)
		}
		if ids := r.ids(); !slices.Equal(ids, []string{"e1", "e2", "e3"}) {
			t.Fatalf("there came %v", ids)
		}
		e := r.got[1]
		if e.Source() != "/hale/ours" || e.Type() != "hale.record.look" || e.Subject() != "web/web-2" ||
			!e.Time().Equal(time.Unix(1_800_000_000, 0)) || string(e.Data()) != `{"seq":1}` ||
			e.Extensions()["traceparent"] != "00-"+strings.Repeat("0a", 16)+"-"+strings.Repeat("0b", 8)+"-01" {
			t.Errorf("it is %s", e)
		}
	})
}

// One event that a receiver refuses is left out and counted, and all others are taken, in their order.
func TestOneEventThatIsRefused(t *testing.T) {
	each(t, func(t *testing.T, mode cloudevents.Mode) {
		r, refused := receive(t), 0
		r.refuses = "e3"
		if err := r.outlet(mode, &refused).Take(t.Context(), events(5)); err != nil || refused != 1 {
			t.Errorf("%d are counted, %v", refused, err)
		}
		if ids := r.ids(); !slices.Equal(ids, []string{"e1", "e2", "e4", "e5"}) {
			t.Errorf("there came %v", ids)
		}
	})
}

// What a receiver answers that takes nothing says what is wrong, without a secret in it, and nothing is left out.
func TestAReceiverThatTakesNothing(t *testing.T) {
	each(t, func(t *testing.T, mode cloudevents.Mode) {
		r, refused := receive(t), 0
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte("s3cret-token"), 0o600); err != nil {
			t.Fatal(err)
		}
		kept, err := secret.File(path)
		if err != nil {
			t.Fatal(err)
		}
		o := r.outlet(mode, &refused, secret.Named{Name: "X-Token", Secret: kept})
		for status, kind := range map[int]fault.Kind{
			http.StatusServiceUnavailable: fault.Transient, http.StatusTooManyRequests: fault.Throttled,
			http.StatusForbidden: fault.Unauthorised, http.StatusNotFound: fault.NotFound,
			http.StatusBadRequest: fault.Invalid, http.StatusUnsupportedMediaType: fault.Permanent,
		} {
			r.mu.Lock()
			r.status = status
			r.mu.Unlock()
			err := o.Take(t.Context(), events(3))
			if !fault.Is(err, kind) || refused != 0 || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%d: %v, %d refused", status, err, refused)
			}
		}
		if r.head.Get("X-Token") != "s3cret-token" {
			t.Errorf("the token was not sent: %v", r.head)
		}
	})
}

// A receiver that leads elsewhere is not followed: what goes along is for the configured address alone.
func TestARedirectIsNotFollowed(t *testing.T) {
	each(t, func(t *testing.T, mode cloudevents.Mode) {
		elsewhere, refused := receive(t), 0
		s := httptest.NewServer(http.RedirectHandler(elsewhere.address, http.StatusTemporaryRedirect))
		t.Cleanup(s.Close)
		r := &receiver{T: t, address: s.URL}
		if err := r.outlet(mode, &refused).Take(t.Context(), events(1)); err == nil || elsewhere.requests != 0 {
			t.Errorf("%v, and %d requests went there", err, elsewhere.requests)
		}
	})
}
