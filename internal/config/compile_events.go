package config

import (
	"fmt"
	"strings"
	"time"

	"hale/internal/keys"
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
func compileEvents(v keys.At[eventsDraft], f *keys.Finder) *Events {
	if !v.Written() {
		return nil
	}
	d := v.Value
	e := &Events{
		User: d.user.Value, Password: secretAt(f, d.password), TransportURL: secretAt(f, d.transportURL),
		CA:          resolve(d.ca),
		Certificate: resolve(d.certificate), Key: resolve(d.key), Heartbeat: d.heartbeat.Value,
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
