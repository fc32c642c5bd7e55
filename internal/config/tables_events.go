package config

import (
	"time"

	"hale/internal/keys"
	"hale/internal/provider/openstack/notification"
)

// eventsDraft is how a cloud's message bus is listened to.
type eventsDraft struct {
	brokers      keys.At[[]keys.At[string]]
	transportURL keys.At[secretDraft]
	user         keys.At[string]
	password     keys.At[secretDraft]
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
			"`amqps://HOST`, or `amqp://HOST` where nobody can listen on the way, with `:PORT` and `/VHOST` where "+
			"they are not the usual ones. One of brokers and transport_url is needed.",
			keys.List[string]{Noun: "one address", Each: keys.Text("a broker's address", "amqps://rabbit.example.org")},
			func(e *eventsDraft) *keys.At[[]keys.At[string]] { return &e.brokers }),
		keys.May("user", "Who hale is to the broker. It needs to read from the exchanges and to have queues that "+
			"begin with `hale.`, no more.",
			keys.Text("a user name", "hale"), func(e *eventsDraft) *keys.At[string] { return &e.user }),
		keys.May("password", "The password: `{file: PATH}` or `{env: NAME}`, never the password itself. Read anew for "+
			"each connection.", secretShape(),
			func(e *eventsDraft) *keys.At[secretDraft] { return &e.password }),
		keys.May("transport_url", "In place of brokers, user and password: where the transport_url of an OpenStack "+
			"service is kept, as in nova.conf: `{file: PATH}` or `{env: NAME}`.",
			secretShape(), func(e *eventsDraft) *keys.At[secretDraft] { return &e.transportURL }),
		keys.May("ca", "A PEM file with the authorities to trust, in place of the system's.", keys.Text("a path",
			"/etc/ssl/rabbit-ca.pem"),
			func(e *eventsDraft) *keys.At[string] { return &e.ca }),
		keys.May("certificate", "A PEM file with hale's own certificate, where the broker wants one; needs key.",
			keys.Text("a path",
				"/etc/ssl/hale.pem"),
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
