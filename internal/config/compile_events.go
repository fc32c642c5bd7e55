package config

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/provider/openstack/notification"
	"hale/internal/secret"
)

// Events says how a cloud's message bus is listened to.
type Events struct {
	Brokers []notification.Broker // in the file's order; none with TransportURL
	User    string
	// Password and TransportURL may refer to nothing.
	Password     secret.Secret
	TransportURL secret.Secret
	// CA, Certificate and Key are paths of PEM files, or empty.
	CA, Certificate, Key string
	Exchanges            []string
	Topics               []string
	Heartbeat            time.Duration // whole seconds
}

// compileEvents judges a provider's events; nil: there are none, and it is polled only.
func compileEvents(v at[eventsDraft], f *finder) *Events {
	if !v.written() {
		return nil
	}
	d := v.value
	e := &Events{
		User: d.user.value, Password: f.secret(d.password), TransportURL: f.secret(d.transportURL), CA: resolve(d.ca),
		Certificate: resolve(d.certificate), Key: resolve(d.key), Heartbeat: d.heartbeat.value,
		Exchanges: wordsOf(d.exchanges, notification.DefaultExchanges()),
		Topics:    wordsOf(d.topics, notification.DefaultTopics()),
	}
	encrypted := d.transportURL.written() // as it says itself
	for _, address := range d.brokers.value {
		if !address.known() {
			continue
		}
		b, err := notification.ParseBroker(address.value)
		if err != nil {
			f.add(address.spot, "is no broker's address: "+err.Error(), "write for example "+
				"amqps://rabbit.example.org; user and password are keys of their own")
		}
		e.Brokers = append(e.Brokers, b)
		encrypted = encrypted || b.TLS || err != nil
	}
	if d.heartbeat.known() && e.Heartbeat%time.Second != 0 {
		f.add(d.heartbeat.spot, fmt.Sprintf("%s is not in whole seconds", e.Heartbeat),
			"write for example "+formatDuration(notification.DefaultHeartbeat))
	}
	d.whoIs(v, f)
	d.proof(encrypted, f)
	return e
}

// whoIs judges how hale says who it is to the broker.
func (d eventsDraft) whoIs(v at[eventsDraft], f *finder) {
	if d.transportURL.written() {
		for _, k := range []at[string]{d.user, {spot: d.password.spot, how: d.password.how},
			{spot: d.brokers.spot, how: d.brokers.how}} {
			if k.written() {
				f.add(k.spot, "comes besides transport_url",
					"write either transport_url, or brokers, user and password")
			}
		}
		return
	}
	switch {
	case !d.brokers.written():
		f.add(v.under("brokers"), "is missing",
			"add brokers: [amqps://rabbit.example.org], or transport_url: {file: PATH}")
	case d.user.written() && !d.password.written():
		f.add(d.user.spot, "comes without a password", "add password: {file: PATH}, or take user out")
	case d.password.written() && !d.user.written():
		f.add(d.password.spot, "comes without a user", "add user: NAME, or take password out")
	case !d.user.written() && !d.certificate.written():
		f.add(v.under("user"), "is missing", "add user: NAME and password: {file: PATH}, or certificate and key")
	}
}

// proof judges the certificates.
func (d eventsDraft) proof(encrypted bool, f *finder) {
	if !encrypted {
		for _, k := range []at[string]{d.ca, d.certificate, d.key} {
			if k.written() {
				f.add(k.spot, "has nothing to do without TLS",
					"write amqps:// before the broker's name, or take it out")
			}
		}
	}
	switch {
	case d.certificate.written() && !d.key.written():
		f.add(d.certificate.spot, "comes without its key", "add key: PATH")
	case d.key.written() && !d.certificate.written():
		f.add(d.key.spot, "comes without its certificate", "add certificate: PATH")
	}
}

// wordsOf returns the words of a list, or what it is otherwise.
func wordsOf(v at[[]at[string]], otherwise []string) []string {
	if !v.written() {
		return otherwise
	}
	var words []string
	for _, w := range v.value {
		words = append(words, strings.TrimSpace(w.value))
	}
	return words
}
