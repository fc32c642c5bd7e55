// Package rabbit_test examines the listener to notifications on a real RabbitMQ.
package rabbit_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"hale/internal/provider/openstack/notification"
	"hale/internal/secret"
	"hale/internal/testbed/rabbit"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const password = "c0rrect-h0rse"

// users are a service of the cloud, and hale with only the rights that it needs.
func users() []rabbit.User {
	return []rabbit.User{
		{Name: "nova", Password: "n0va", Configure: ".*", Write: ".*", Read: ".*"},
		{Name: "hale", Password: password, Configure: `^hale\..*`, Write: `^hale\..*`, Read: `^(hale\..*|nova)$`},
	}
}

// ear is a listener at work.
type ear struct {
	t    *testing.T
	log  *lockedBuffer
	list chan notification.Notice
	end  func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// listen lets a listener work until end, or the test's end.
func listen(t *testing.T, o notification.Options, addresses ...string) *ear {
	t.Helper()
	e := &ear{t: t, log: &lockedBuffer{}, list: make(chan notification.Notice, 100000)}
	o.Name, o.Logger = "cloud", slog.New(slog.NewTextHandler(e.log, nil))
	if o.TransportURL.None() && o.User == "" {
		o.User, o.Password = "hale", keep(t, password)
	}
	for _, a := range addresses {
		b, err := notification.ParseBroker(a)
		if err != nil {
			t.Fatal(err)
		}
		o.Brokers = append(o.Brokers, b)
	}
	l, err := notification.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Listen(ctx, func(n notification.Notice) { e.list <- n }) }()
	e.end = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Listen returned %v", err)
		}
		if strings.Contains(e.log.String(), password) {
			t.Errorf("the password is in the log:\n%s", e.log)
		}
	})
	t.Cleanup(e.end)
	return e
}

// keep writes a secret into a file.
func keep(t *testing.T, text string) secret.Secret {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secret.File(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// limit is more than anything here takes on a machine that has much else to do.
const limit = time.Minute

// next returns the next notice of the kind; those of the kind Everything in between are no harm.
func (e *ear) next(kind notification.Kind) notification.Notice {
	e.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	for {
		select {
		case n := <-e.list:
			if n.Kind == kind {
				return n
			}
			if n.Kind != notification.Everything {
				e.t.Fatalf("heard %+v, want %s", n, kind)
			}
		case <-deadline.C:
			e.t.Fatalf("nothing of kind %s was heard; the log:\n%s", kind, e.log)
		}
	}
}

// nova is a service that publishes as Nova does.
type nova struct {
	t    *testing.T
	conn *amqp.Connection
	ch   *amqp.Channel
}

// speak connects as a service does, and makes the exchange.
func speak(t *testing.T, b *rabbit.Broker) *nova {
	t.Helper()
	conn, err := amqp.Dial(fmt.Sprintf("amqp://nova:n0va@127.0.0.1:%d/", b.Port))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.ExchangeDeclare("nova", "topic", false, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	return &nova{t: t, conn: conn, ch: ch}
}

func (n *nova) publish(key, body string) {
	n.t.Helper()
	p := amqp.Publishing{ContentType: "application/json", ContentEncoding: "utf-8", Body: []byte(body)}
	if err := n.ch.PublishWithContext(n.t.Context(), "nova", key, false, false, p); err != nil {
		n.t.Fatal(err)
	}
}

// paused is a notification that an instance was paused.
func paused(id string) string {
	return fmt.Sprintf(`{"oslo.message": "{\"event_type\": \"instance.pause.end\", \"payload\": {\"nova_object.data\": {\"uuid\": \"%s\"}}}"}`, id)
}

func TestOnARealRabbitMQ(t *testing.T) {
	t.Parallel()
	b := rabbit.Start(t, users()...)
	for _, c := range []struct {
		name string
		test func(*testing.T, *rabbit.Broker)
	}{
		{"an exchange that is not there is awaited, and not made", awaitsTheExchange},
		{"what Nova said is heard, over TLS", hearsWhatNovaSaid},
		{"who is not the broker is told nothing", refusesAnother},
		{"a rotated password is taken up", takesUpAnotherPassword},
		{"the transport URL of a service does as well", takesATransportURL},
		{"the queue is bounded, and goes with the listener", leavesNothing},
		{"rubbish and a flood stop nothing", survivesAFlood},
		{"a broker that is frozen is given up", givesUpTheFrozen},
		{"hale ends while a broker is frozen", endsBesideTheFrozen},
		{"a broker that dies is awaited, and nothing is lost", survivesADeath},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, b) })
	}
}

func awaitsTheExchange(t *testing.T, b *rabbit.Broker) {
	e := listen(t, notification.Options{}, b.Address())
	e.logs("no such exchange")
	if strings.Contains(b.Ctl("list_exchanges", "name"), "nova") {
		t.Fatal("the exchange was made by hale")
	}
	n := speak(t, b)
	e.next(notification.Everything)
	n.publish("versioned_notifications.info", paused("i-1"))
	if got := e.next(notification.Paused); got.Instance != "i-1" {
		t.Errorf("%+v", got)
	}
}

func hearsWhatNovaSaid(t *testing.T, b *rabbit.Broker) {
	n := speak(t, b)
	e := listen(t, notification.Options{CA: b.CA}, b.TLSAddress())
	e.next(notification.Everything)
	f, err := os.Open("../../provider/openstack/notification/testdata/zed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	count := 0
	for lines.Scan() {
		var r struct {
			Event string            `json:"event"`
			Want  notification.Kind `json:"want"`
			Body  string            `json:"body"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		key := "versioned_notifications.info"
		if strings.HasPrefix(r.Event, "compute.") {
			key = "notifications.info"
		}
		n.publish(key, r.Body)
		if r.Want != "" {
			e.next(r.Want)
			count++
		}
	}
	if count < 20 {
		t.Errorf("only %d were heard", count)
	}
}

func refusesAnother(t *testing.T, b *rabbit.Broker) {
	e := listen(t, notification.Options{}, b.TLSAddress()) // without the authority behind it
	e.logs("certificate")
}

func takesUpAnotherPassword(t *testing.T, b *rabbit.Broker) {
	path := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(path, []byte("wr0ng"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secret.File(path)
	if err != nil {
		t.Fatal(err)
	}
	speak(t, b)
	e := listen(t, notification.Options{User: "hale", Password: s}, b.Address())
	e.logs("unauthorised")
	if err := os.WriteFile(path, []byte(password), 0o600); err != nil {
		t.Fatal(err)
	}
	e.next(notification.Everything)
}

func takesATransportURL(t *testing.T, b *rabbit.Broker) {
	n := speak(t, b)
	// nothing listens at port 1
	text := fmt.Sprintf("rabbit://hale:%s@127.0.0.1:1,hale:%s@127.0.0.1:%d/", password, password, b.Port)
	e := listen(t, notification.Options{TransportURL: keep(t, text)})
	e.next(notification.Everything)
	n.publish("notifications.error", paused("i-2"))
	e.next(notification.Paused)
}

func leavesNothing(t *testing.T, b *rabbit.Broker) {
	speak(t, b)
	e := listen(t, notification.Options{}, b.Address())
	e.next(notification.Everything)
	queues := b.Ctl("list_queues", "name", "exclusive", "arguments")
	if !strings.Contains(queues, "hale.") || !strings.Contains(queues, "x-max-length") ||
		!strings.Contains(queues, "x-message-ttl") {
		t.Errorf("the queues: %s", queues)
	}
	e.end()
	if queues := b.Ctl("list_queues", "name"); strings.Contains(queues, "hale.") {
		t.Errorf("left behind: %s", queues)
	}
}

func survivesAFlood(t *testing.T, b *rabbit.Broker) {
	n := speak(t, b)
	e := listen(t, notification.Options{}, b.Address())
	e.next(notification.Everything)
	huge := string(bytes.Repeat([]byte("x"), 3<<20))
	n.publish("notifications.info", huge)
	for i := range 5000 {
		n.publish("notifications.info", fmt.Sprintf("{rubbish %d", i))
	}
	n.publish("notifications.info", paused("i-3"))
	e.next(notification.Paused)
	if lines := strings.Count(e.log.String(), "\n"); lines > 30 {
		t.Errorf("%d lines of log for 5001 bodies of rubbish", lines)
	}
}

func givesUpTheFrozen(t *testing.T, b *rabbit.Broker) {
	n := speak(t, b)
	e := listen(t, notification.Options{Heartbeat: time.Second}, b.Address())
	e.next(notification.Everything)
	thaw := b.Freeze()
	e.logs("interrupted")
	thaw()
	e.next(notification.Everything)
	n.publish("notifications.info", paused("i-4"))
	e.next(notification.Paused)
}

func endsBesideTheFrozen(t *testing.T, b *rabbit.Broker) {
	speak(t, b)
	e := listen(t, notification.Options{Heartbeat: time.Minute}, b.Address())
	e.next(notification.Everything)
	thaw := b.Freeze()
	defer thaw()
	began := time.Now()
	e.end()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func survivesADeath(t *testing.T, b *rabbit.Broker) {
	speak(t, b)
	e := listen(t, notification.Options{}, b.Address())
	e.next(notification.Everything)
	b.Kill()
	e.logs("interrupted")
	b.Restart()
	n := speak(t, b)
	e.next(notification.Everything)
	n.publish("notifications.info", paused("i-5"))
	e.next(notification.Paused)
}

// logs waits until a word is in the log.
func (e *ear) logs(word string) {
	e.t.Helper()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(e.log.String(), word) {
		select {
		case <-tick.C:
		case <-deadline.C:
			e.t.Fatalf("%q is not in the log:\n%s", word, e.log)
		}
	}
}
