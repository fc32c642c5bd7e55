package webhook_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/core/fault"
	"hale/internal/notify"
	"hale/internal/notify/notifytest"
	"hale/internal/notify/webhook"
	"hale/internal/secret"
	"hale/internal/strict"
)

const token = "Bearer c4f3-b4b3-s3cr3t"

// receiver is a real HTTP server that takes messages.
type receiver struct {
	t      *testing.T
	mu     sync.Mutex
	taken  []notify.Message
	heads  []http.Header
	bodies []string
	fails  int
	refuse bool
	hang   chan struct{}               // closed at the end; nil: it answers
	answer func(w http.ResponseWriter) // in place of everything; nil: none
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		r.t.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heads, r.bodies = append(r.heads, q.Header), append(r.bodies, string(body))
	switch {
	case r.hang != nil:
		r.mu.Unlock()
		<-r.hang
		r.mu.Lock()
		return
	case r.answer != nil:
		r.answer(w)
		return
	case q.Header.Get("Authorization") != token:
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	case r.refuse:
		http.Error(w, "I do not want it from "+token, http.StatusBadRequest)
		return
	case r.fails > 0:
		r.fails--
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	var m notify.Message
	if err := json.Unmarshal(body, &m); err != nil || q.Header.Get("Idempotency-Key") != m.Key ||
		q.Header.Get("Content-Type") != "application/json" {
		r.t.Errorf("%v: %s %v", err, body, q.Header)
	}
	r.taken = append(r.taken, m)
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprint(w, "thanks, ", token)
}

func (r *receiver) locked(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

func open(t *testing.T, r *receiver) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		r.locked(func() {
			if r.hang != nil {
				close(r.hang)
			}
		})
		server.Close()
	})
	return server
}

func options(t *testing.T, url string) webhook.Options {
	t.Helper()
	return webhook.Options{
		Name: "hook", URL: secret.Value{Plain: url}, Format: webhook.FormatHale, Timeout: time.Minute, Version: "1",
		Reach: strict.Reach{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")},
		Headers: []secret.Named{
			{Name: "Authorization", Secret: notifytest.Secret(t, token)},
			{Name: "X-Team", Plain: "web"},
		},
	}
}

func TestAWebhookPassesTheExam(t *testing.T) {
	t.Parallel()
	notifytest.Run(t, func(t *testing.T) notifytest.Stage {
		t.Helper()
		r := &receiver{t: t}
		server := open(t, r)
		return notifytest.Stage{
			Target: webhook.New(options(t, server.URL+"/hale?x=1")), Secret: token,
			Taken: func() (out []notify.Message) {
				r.locked(func() { out = append(out, r.taken...) })
				return out
			},
			Trouble: func(n int) { r.locked(func() { r.fails = n }) },
			Refuse:  func() { r.locked(func() { r.refuse = true }) },
			Hang:    func() { r.locked(func() { r.hang = make(chan struct{}) }) },
		}
	})
}

func TestWhatAWebhookAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header string // Retry-After
		kind   fault.Kind
		later  time.Duration
	}{
		"no content":           {status: 204},
		"overloaded":           {status: 503, header: "120", kind: fault.Transient, later: 2 * time.Minute},
		"too many":             {status: 429, header: "7", kind: fault.Throttled, later: 7 * time.Second},
		"too many, no time":    {status: 429, kind: fault.Throttled},
		"a bad time":           {status: 503, header: "soon", kind: fault.Transient},
		"a time that is past":  {status: 503, header: "Sat, 21 Nov 2020 03:00:00 GMT", kind: fault.Transient},
		"unknown":              {status: 401, kind: fault.Unauthorised},
		"forbidden":            {status: 403, kind: fault.Unauthorised},
		"not there":            {status: 404, kind: fault.NotFound},
		"wrong":                {status: 422, kind: fault.Invalid},
		"a redirect":           {status: 302, kind: fault.Permanent},
		"a permanent redirect": {status: 308, kind: fault.Permanent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &receiver{t: t, answer: func(w http.ResponseWriter) {
				w.Header().Set("Location", "/elsewhere")
				if c.header != "" {
					w.Header().Set("Retry-After", c.header)
				}
				w.WriteHeader(c.status)
			}}
			server := open(t, r)
			answer, err := webhook.New(options(t, server.URL)).Send(t.Context(), notifytest.Message(1))
			if fault.KindOf(err) != c.kind || notify.Later(err) != c.later {
				t.Errorf("%v, later %v", err, notify.Later(err))
			}
			if err == nil && answer.Said != "204 No Content" {
				t.Errorf("it said %q", answer.Said)
			}
			if len(r.heads) != 1 {
				t.Errorf("%d requests were sent", len(r.heads))
			}
		})
	}
}

func TestRetryAfterMayBeADate(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t, answer: func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", time.Now().Add(10*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	}}
	_, err := webhook.New(options(t, open(t, r).URL)).Send(t.Context(), notifytest.Message(1))
	if later := notify.Later(err); later < 9*time.Minute || later > 10*time.Minute {
		t.Errorf("%v: %v", later, err)
	}
}

func TestTheFormatsOfAWebhook(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t, answer: func(http.ResponseWriter) {}}
	o := options(t, open(t, r).URL)
	m := notifytest.Message(7)
	for _, o.Format = range []webhook.Format{webhook.FormatCloudEvents, webhook.FormatText} {
		if _, err := webhook.New(o).Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	var event struct {
		SpecVersion, ID, Source, Type, Subject string
		Time                                   time.Time
		DataContentType                        string
		Data                                   notify.Message
	}
	if err := json.Unmarshal([]byte(r.bodies[0]), &event); err != nil {
		t.Fatal(err)
	}
	if event.SpecVersion != "1.0" || event.ID != m.Key || event.Source != "/hale/h1" || event.Type != "hale.page" ||
		event.Subject != "web-2" ||
		!event.Time.Equal(m.At) || event.DataContentType != "application/json" || event.Data != m {
		t.Errorf("%+v", event)
	}
	if got := r.heads[0].Get("Content-Type"); got != "application/cloudevents+json" {
		t.Errorf("content type %s", got)
	}
	var text map[string]string
	if err := json.Unmarshal([]byte(r.bodies[1]), &text); err != nil || len(text) != 1 ||
		text["text"] != m.Subject+"\n\n"+m.Text {
		t.Errorf("%v: %v", err, text)
	}
	for _, h := range r.heads {
		if h.Get("X-Team") != "web" || h.Get("User-Agent") != "hale/1" || h.Get("Idempotency-Key") != m.Key {
			t.Errorf("%v", h)
		}
	}
}

func TestS75ASecretAddressIsNotNamed(t *testing.T) {
	t.Parallel()
	server := open(t, &receiver{t: t})
	address := server.URL + "/services/T00/hunter2"
	server.Close()
	for name, where := range map[string]string{
		"no listener": address, "no such host": "http://no-such-host.invalid/hunter2",
		"no address": "a word and hunter2", "another scheme": "ftp://h/hunter2",
	} {
		o := options(t, "")
		o.URL = secret.Value{Secret: notifytest.Secret(t, where)}
		_, err := webhook.New(o).Send(t.Context(), notifytest.Message(1))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestASecretThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	o := options(t, "http://127.0.0.1:1")
	gone, err := secret.File(filepath.Join(t.TempDir(), "gone"))
	if err != nil {
		t.Fatal(err)
	}
	o.Headers = []secret.Named{{Name: "Authorization", Secret: gone}}
	if _, err := webhook.New(o).Send(t.Context(), notifytest.Message(1)); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
}

// Nothing knocks at hale's own server, whether it is written so, a name comes to it, or it is kept as a secret. What is
// not sent for that is tried again, since a person may list the address, and says how.
func TestAWebhookKeepsAwayFromHalesOwnServerUnlessItIsListed(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t}
	server := open(t, r)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, where := range map[string]secret.Value{
		"written":         {Plain: server.URL},
		"a name":          {Plain: "http://localhost:" + port},
		"a secret":        {Secret: notifytest.Secret(t, server.URL)},
		"no address":      {Plain: "http://0.0.0.0:" + port},
		"in IPv6":         {Plain: "http://[::ffff:127.0.0.1]:" + port},
		"cloud metadata":  {Plain: "http://169.254.169.254/latest/meta-data"},
		"metadata, IPv6":  {Plain: "http://[fd00:ec2::254]/latest/meta-data"},
		"by a translator": {Plain: "http://[64:ff9b::a9fe:a9fe]/latest/meta-data"},
	} {
		o := options(t, "")
		o.URL, o.Reach = where, nil
		_, err := webhook.New(o).Send(t.Context(), notifytest.Message(1))
		if !fault.Is(err, fault.Transient) || !strings.Contains(err.Error(), "allow_addresses: [") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(r.heads) != 0 {
		t.Errorf("%d requests arrived", len(r.heads))
	}
}

func TestAWebhookOverTLS(t *testing.T) {
	t.Parallel()
	r := &receiver{t: t}
	server := httptest.NewTLSServer(r)
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options(t, server.URL)
	if _, err := webhook.New(o).Send(t.Context(), notifytest.Message(1)); !fault.Is(err, fault.Permanent) {
		t.Errorf("an unknown authority: %v", err)
	}
	o.CA = ca
	if _, err := webhook.New(o).Send(t.Context(), notifytest.Message(1)); err != nil {
		t.Errorf("the configured authority: %v", err)
	}
	o.CA = filepath.Join(t.TempDir(), "none.pem")
	if _, err := webhook.New(o).Send(t.Context(), notifytest.Message(1)); !fault.Is(err, fault.Permanent) {
		t.Errorf("no authority: %v", err)
	}
}
