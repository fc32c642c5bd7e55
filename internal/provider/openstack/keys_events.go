package openstack

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/keys"
	"hale/internal/provider/openstack/notification"
)

// eventsDraft is how a cloud's message bus is listened to.
type eventsDraft struct {
	brokers      keys.At[[]keys.At[string]]
	transportURL keys.At[keys.SecretRef]
	user         keys.At[string]
	password     keys.At[keys.SecretRef]
	ca           keys.At[string]
	certificate  keys.At[string]
	key          keys.At[string]
	exchanges    keys.At[[]keys.At[string]]
	topics       keys.At[[]keys.At[string]]
	heartbeat    keys.At[time.Duration]
}

func eventsShape() keys.Object[eventsDraft] {
	return keys.Object[eventsDraft]{Fields: []keys.Field[eventsDraft]{
		keys.May("brokers", "The brokers of the message bus (RabbitMQ) that Nova speaks to, tried in turn: "+
			"`amqps://HOST`, or `amqp://HOST` on a trusted network. Add `:PORT` and `/VHOST` where they are not "+
			"the usual ones. One of brokers and transport_url is needed.",
			keys.List[string]{Noun: "one address", Each: keys.Text("a broker's address", "amqps://rabbit.example.org")},
			func(e *eventsDraft) *keys.At[[]keys.At[string]] { return &e.brokers }),
		keys.May("user", "The user at the broker. It needs the right to read from the exchanges, and to "+
			"configure, write and read queues named `hale.*`.",
			keys.Text("a user name", "hale"), func(e *eventsDraft) *keys.At[string] { return &e.user }),
		keys.May("password", "The password: `{file: PATH}` or `{env: NAME}`, never the password itself. Read anew for "+
			"each connection.", keys.Secret(),
			func(e *eventsDraft) *keys.At[keys.SecretRef] { return &e.password }),
		keys.May("transport_url", "In place of brokers, user and password: where the transport_url of an OpenStack "+
			"service is kept, as in nova.conf: `{file: PATH}` or `{env: NAME}`.",
			keys.Secret(), func(e *eventsDraft) *keys.At[keys.SecretRef] { return &e.transportURL }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"/etc/ssl/rabbit-ca.pem"),
			func(e *eventsDraft) *keys.At[string] { return &e.ca }),
		keys.May("certificate", "A PEM file with hale's own certificate, where the broker wants one; needs key.",
			keys.Text("a path", "/etc/ssl/hale.pem"),
			func(e *eventsDraft) *keys.At[string] { return &e.certificate }),
		keys.May("key", "A PEM file with the key to certificate.", keys.Text("a path", "/etc/ssl/hale-key.pem"),
			func(e *eventsDraft) *keys.At[string] { return &e.key }),
		keys.May("exchanges", "The exchanges that Nova's services publish to. hale makes none: it waits until they "+
			"are there.",
			keys.List[string]{Noun: "one exchange", Each: keys.Text("an exchange's name", "nova")},
			func(e *eventsDraft) *keys.At[[]keys.At[string]] { return &e.exchanges }).Said("[nova]"),
		keys.May("topics", "The topics of the notifications, of the legacy form, the versioned one, or both.",
			keys.List[string]{Noun: "one topic", Each: keys.Text("a topic", "versioned_notifications")},
			func(e *eventsDraft) *keys.At[[]keys.At[string]] { return &e.topics }).Said(
			"[notifications, versioned_notifications]"),
		keys.Or("heartbeat", notification.DefaultHeartbeat,
			"In whole seconds; a broker that is silent for one and a half of them is given up.",
			keys.Duration(time.Second, time.Minute),
			func(e *eventsDraft) *keys.At[time.Duration] { return &e.heartbeat }),
	}}
}

// events judges how the message bus is listened to; nil: it is not, and the cloud is polled only.
func events(f *keys.Finder, v keys.At[eventsDraft]) *notification.Options {
	if !v.Written() {
		return nil
	}
	d := v.Value
	e := &notification.Options{
		User: d.user.Value, Password: f.Secret(d.password), TransportURL: f.Secret(d.transportURL),
		CA:          keys.Path(d.ca),
		Certificate: keys.Path(d.certificate), Key: keys.Path(d.key), Heartbeat: d.heartbeat.Value,
		Exchanges: wordsOf(d.exchanges, notification.DefaultExchanges()),
		Topics:    wordsOf(d.topics, notification.DefaultTopics()),
	}
	encrypted := d.transportURL.Written() // as it says itself
	for _, address := range d.brokers.Value {
		if !address.Known() {
			continue
		}
		b, err := notification.ParseBroker(address.Value)
		if err != nil {
			f.Add(address.Spot, "is no broker's address: "+err.Error(), "write for example "+
				"amqps://rabbit.example.org; user and password are keys of their own")
		}
		e.Brokers = append(e.Brokers, b)
		encrypted = encrypted || b.TLS || err != nil
	}
	if d.heartbeat.Known() && e.Heartbeat%time.Second != 0 {
		f.Add(d.heartbeat.Spot, fmt.Sprintf("%s is not in whole seconds", e.Heartbeat),
			"write for example "+keys.FormatDuration(notification.DefaultHeartbeat))
	}
	d.whoIs(v, f)
	d.proof(encrypted, f)
	return e
}

// whoIs judges how hale says who it is to the broker.
func (d eventsDraft) whoIs(v keys.At[eventsDraft], f *keys.Finder) {
	if d.transportURL.Written() {
		for _, k := range []keys.At[string]{d.user, {Spot: d.password.Spot, How: d.password.How},
			{Spot: d.brokers.Spot, How: d.brokers.How}} {
			if k.Written() {
				f.Add(k.Spot, "comes besides transport_url",
					"write either transport_url, or brokers, user and password")
			}
		}
		return
	}
	switch {
	case !d.brokers.Written():
		f.Add(v.Under("brokers"), "is missing",
			"add brokers: [amqps://rabbit.example.org], or transport_url: {file: PATH}")
	case d.user.Written() && !d.password.Written():
		f.Add(d.user.Spot, "comes without a password", "add password: {file: PATH}, or take user out")
	case d.password.Written() && !d.user.Written():
		f.Add(d.password.Spot, "comes without a user", "add user: NAME, or take password out")
	case !d.user.Written() && !d.certificate.Written():
		f.Add(v.Under("user"), "is missing", "add user: NAME and password: {file: PATH}, or certificate and key")
	}
}

// proof judges the certificates.
func (d eventsDraft) proof(encrypted bool, f *keys.Finder) {
	if !encrypted {
		for _, k := range []keys.At[string]{d.ca, d.certificate, d.key} {
			if k.Written() {
				f.Add(k.Spot, "has nothing to do without TLS",
					"write amqps:// before the broker's name, or take it out")
			}
		}
	}
	switch {
	case d.certificate.Written() && !d.key.Written():
		f.Add(d.certificate.Spot, "comes without its key", "add key: PATH")
	case d.key.Written() && !d.certificate.Written():
		f.Add(d.key.Spot, "comes without its certificate", "add certificate: PATH")
	}
}

// wordsOf returns the words of a list, or what it is otherwise.
func wordsOf(v keys.At[[]keys.At[string]], otherwise []string) []string {
	if !v.Written() {
		return otherwise
	}
	var words []string
	for _, w := range v.Value {
		words = append(words, strings.TrimSpace(w.Value))
	}
	return words
}
