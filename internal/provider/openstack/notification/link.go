package notification

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"hale/internal/core/fault"
	"hale/internal/defect"
	"hale/internal/secret"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
)

// link is one connection to a broker, with a queue of hale's own.
type link interface {
	// bind lets the queue have what the exchange gets with the keys. errNoExchange: there is none. Once bound, again is
	// success.
	bind(exchange string, keys []string) error
	// deliveries are what came to the queue; closed when the connection ends.
	deliveries() <-chan delivery
	// why is why deliveries was closed.
	why() error
	close()
}

// delivery is one message.
type delivery struct {
	body []byte
	done func() // lets the broker send more
}

// What the broker keeps for hale at most. The queue goes with the connection; these bounds hold while hale does not
// read although it is connected, as when its process is halted. What is dropped then is the oldest.
const (
	maxQueued      = 20000            // messages
	maxQueuedBytes = 64 << 20         //
	maxQueuedAge   = 60 * time.Second // the poll has found by then what an older one tells
)

const (
	dialLimit  = 10 * time.Second // to connect, in all; and for each answer later
	closeLimit = time.Second      // for a parting word
)

// rabbit is a link to RabbitMQ.
type rabbit struct {
	conn  *amqp.Connection
	wire  *wire
	queue string
	out   chan delivery
	stop  chan struct{}
	// hurry sees to it that no call lasts long once the context of the link ended.
	hurry   func() bool
	passing sync.WaitGroup
	lost    error // set before out is closed
}

// dialBroker connects to the next broker of the list.
func (l *Listener) dialBroker(ctx context.Context) (link, error) {
	doors, err := l.doors(ctx)
	if err != nil {
		return nil, err
	}
	b := doors[l.next%len(doors)]
	l.next++
	k, err := l.open(ctx, b)
	if err != nil {
		return nil, fault.New(kindOf(err), opListen, l.o.Name+" at "+b.Address(),
			errors.New(secret.Redact(err.Error(), b.password)))
	}
	return k, nil
}

func kindOf(err error) fault.Kind {
	var e *amqp.Error
	if errors.As(err, &e) && (e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed) {
		return fault.Unauthorised
	}
	if kind := fault.KindOf(err); kind != fault.Permanent {
		return kind
	}
	return fault.Transient
}

// open connects to one broker and declares the queue.
func (l *Listener) open(ctx context.Context, b door) (*rabbit, error) {
	dctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	socket, err := l.connect(dctx, b.Broker)
	if err != nil {
		return nil, err
	}
	wire := newWire(socket)
	cut := context.AfterFunc(dctx, func() { _ = wire.Close() }) // the library's calls know no context
	conn, err := amqp.Open(wire, amqp.Config{
		SASL:  []amqp.Authentication{b.auth()},
		Vhost: b.VHost, Heartbeat: l.o.Heartbeat, Locale: "en_US", FrameSize: maxFrame,
		Properties: amqp.Table{"product": "hale", "connection_name": "hale " + l.o.Name},
	})
	if err != nil {
		_ = wire.Close()
		_ = conn.CloseDeadline(time.Now()) // ends its reader, which may wait until a message is taken
		return nil, err
	}
	r := &rabbit{conn: conn, wire: wire, queue: "hale." + uuid.NewString(), out: make(chan delivery),
		stop: make(chan struct{})}
	in, err := r.consume()
	if err != nil || !cut() {
		_ = conn.CloseDeadline(time.Now().Add(closeLimit))
		return nil, errors.Join(err, dctx.Err())
	}
	r.hurry = context.AfterFunc(ctx, func() {
		_ = defect.Try(func() error { r.within(closeLimit); return nil })
	})
	r.passing.Go(func() {
		defer close(r.out)
		r.lost = errLost
		if err := defect.Try(func() error { return r.pass(in) }); err != nil {
			r.lost = err
		}
	})
	return r, nil
}

// auth is how hale says who it is: by its certificate where it has no name.
func (d door) auth() amqp.Authentication {
	if d.user == "" {
		return &amqp.ExternalAuth{}
	}
	return &amqp.PlainAuth{Username: d.user, Password: d.password}
}

// within cuts the connection after the time, unless it is stopped before. A deadline would not do: the library sets
// another one with whatever it hears.
func (r *rabbit) within(limit time.Duration) *time.Timer {
	return time.AfterFunc(limit, func() { _ = r.wire.Close() })
}

// connect connects and, where it is asked for, encrypts.
func (l *Listener) connect(ctx context.Context, b Broker) (net.Conn, error) {
	if !b.TLS {
		return (&net.Dialer{}).DialContext(ctx, "tcp", b.Address())
	}
	c, err := l.encryption(b)
	if err != nil {
		return nil, err
	}
	return (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", b.Address())
}

// consume declares the queue and begins to read from it.
func (r *rabbit) consume() (<-chan amqp.Delivery, error) {
	ch, err := r.conn.Channel()
	if err != nil {
		return nil, err
	}
	if err := ch.Qos(maxUnread, 0, false); err != nil {
		return nil, err
	}
	bounds := amqp.Table{
		"x-max-length": int64(maxQueued), "x-max-length-bytes": int64(maxQueuedBytes), "x-overflow": "drop-head",
		"x-message-ttl": maxQueuedAge.Milliseconds(),
	}
	const durable, autoDelete, exclusive, noWait = false, true, true, false
	if _, err := ch.QueueDeclare(r.queue, durable, autoDelete, exclusive, noWait, bounds); err != nil {
		return nil, err
	}
	const autoAck, noLocal = false, false
	return ch.Consume(r.queue, "hale", autoAck, exclusive, noLocal, noWait, nil)
}

// pass hands the messages on until the connection ends, or close, and returns why it ended, where the broker says so.
func (r *rabbit) pass(in <-chan amqp.Delivery) error {
	gone := r.conn.NotifyClose(make(chan *amqp.Error, 1))
	for d := range in {
		done := func() {
			r.wire.took(len(d.Body))
			_ = d.Ack(false) // a failed one ends the connection, too
		}
		select {
		case r.out <- delivery{body: d.Body, done: done}:
		case <-r.stop:
			return nil
		}
	}
	select {
	case e := <-gone:
		if e != nil {
			return e
		}
	default:
	}
	return nil
}

// errLost is why a link ends when its connection does.
var errLost = errors.New("the connection ended")

func (r *rabbit) deliveries() <-chan delivery { return r.out }

func (r *rabbit) why() error { return r.lost }

// bind has a channel of its own for each try: the broker closes it when the exchange is missing.
func (r *rabbit) bind(exchange string, keys []string) error {
	defer r.within(dialLimit).Stop()
	ch, err := r.conn.Channel()
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := ch.QueueBind(r.queue, key, exchange, false, nil); err != nil {
			var e *amqp.Error
			if errors.As(err, &e) && e.Code == amqp.NotFound {
				return errNoExchange
			}
			return err
		}
	}
	return ch.Close()
}

// close ends the connection, and with it the queue.
func (r *rabbit) close() {
	close(r.stop)
	defer r.within(closeLimit).Stop()
	_ = r.conn.CloseDeadline(time.Now().Add(closeLimit))
	r.hurry()
	r.passing.Wait()
}
