package config

import (
	"time"

	"hale/internal/provider/openstack/notification"
)

// eventsDraft is how a cloud's message bus is listened to.
type eventsDraft struct {
	brokers      at[[]at[string]]
	transportURL at[secretDraft]
	user         at[string]
	password     at[secretDraft]
	ca           at[string]
	certificate  at[string]
	key          at[string]
	exchanges    at[[]at[string]]
	topics       at[[]at[string]]
	heartbeat    at[time.Duration]
}

func eventsShape() object[eventsDraft] {
	return object[eventsDraft]{fields: []field[eventsDraft]{
		may("brokers", "The brokers of the message bus (RabbitMQ) that Nova speaks to, tried in turn: "+
			"`amqps://HOST`, or `amqp://HOST` where nobody can listen on the way, with `:PORT` and `/VHOST` where "+
			"they are not the usual ones. One of brokers and transport_url is needed.",
			list[string]{noun: "one address", each: text("a broker's address", "amqps://rabbit.example.org")},
			func(e *eventsDraft) *at[[]at[string]] { return &e.brokers }),
		may("user", "Who hale is to the broker. It needs to read from the exchanges and to have queues that begin "+
			"with `hale.`, no more.",
			text("a user name", "hale"), func(e *eventsDraft) *at[string] { return &e.user }),
		may("password", "The password: `{file: PATH}` or `{env: NAME}`, never the password itself. Read anew for "+
			"each connection.", secretShape(),
			func(e *eventsDraft) *at[secretDraft] { return &e.password }),
		may("transport_url", "In place of brokers, user and password: where the transport_url of an OpenStack "+
			"service is kept, as in nova.conf: `{file: PATH}` or `{env: NAME}`.",
			secretShape(), func(e *eventsDraft) *at[secretDraft] { return &e.transportURL }),
		may("ca", "A PEM file with the authorities to trust, in place of the system's.", text("a path",
			"/etc/ssl/rabbit-ca.pem"),
			func(e *eventsDraft) *at[string] { return &e.ca }),
		may("certificate", "A PEM file with hale's own certificate, where the broker wants one; needs key.",
			text("a path",
				"/etc/ssl/hale.pem"),
			func(e *eventsDraft) *at[string] { return &e.certificate }),
		may("key", "A PEM file with the key to certificate.", text("a path", "/etc/ssl/hale-key.pem"),
			func(e *eventsDraft) *at[string] { return &e.key }),
		may("exchanges", "The exchanges that Nova's services publish to. hale makes none: it waits until they are there.",
			list[string]{noun: "one exchange", each: text("an exchange's name", "nova")},
			func(e *eventsDraft) *at[[]at[string]] { return &e.exchanges }).said("[nova]"),
		may("topics", "The topics of the notifications, of the legacy form, the versioned one, or both.",
			list[string]{noun: "one topic", each: text("a topic", "versioned_notifications")},
			func(e *eventsDraft) *at[[]at[string]] { return &e.topics }).said(
			"[notifications, versioned_notifications]"),
		or("heartbeat", notification.DefaultHeartbeat,
			"In whole seconds; a broker that is silent for one and a half of them is given up.",
			duration(time.Second, time.Minute), func(e *eventsDraft) *at[time.Duration] { return &e.heartbeat }),
	}}
}
