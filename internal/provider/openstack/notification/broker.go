package notification

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Broker is one address of the message bus.
type Broker struct {
	Host string
	Port int
	TLS  bool
	// VHost is the broker's virtual host.
	VHost string
}

// door is a broker with who hale is to it.
type door struct {
	Broker
	user, password string
}

const (
	defaultVHost = "/"
	plainPort    = 5672
	tlsPort      = 5671
)

// schemes are how a broker's address may begin, and whether it means TLS.
var schemes = map[string]bool{"amqp": false, "rabbit": false, "amqps": true}

// ParseBroker reads an address: amqps://HOST, with :PORT and /VHOST where they are not the usual ones. The error does
// not repeat what was written: a password might be in it.
func ParseBroker(address string) (Broker, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Broker{}, errors.New("it is not an address such as amqps://rabbit.example.org")
	}
	encrypted, known := schemes[u.Scheme]
	switch {
	case !known, u.Hostname() == "", u.Opaque != "", u.RawQuery != "", u.Fragment != "":
		return Broker{}, errors.New("it is not an address such as amqps://rabbit.example.org")
	case u.User != nil:
		return Broker{}, errors.New("it holds a user name or a password")
	}
	return newBroker(u.Host, u.Path, encrypted)
}

// parseTransportURL reads the transport_url of an OpenStack service, with users, passwords and several hosts:
// rabbit://USER:PASSWORD@HOST:PORT,USER:PASSWORD@HOST:PORT/VHOST. The error does not repeat any of it.
func parseTransportURL(text string) ([]door, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	encrypted, known := schemes[scheme]
	if !known {
		return nil, errors.New("it does not begin with rabbit://, amqp:// or amqps://")
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("its query, after the ?, is invalid")
	}
	encrypted = encrypted || slices.Contains([]string{"1", "true", "True"}, values.Get("ssl"))
	var doors []door
	for part := range strings.SplitSeq(hosts, ",") {
		u, err := url.Parse("amqp://" + part)
		if err != nil || u.Hostname() == "" {
			return nil, fmt.Errorf("its host number %d is not understood", len(doors)+1)
		}
		vhost, err := url.PathUnescape("/" + path)
		if err != nil {
			return nil, errors.New("its virtual host is not understood")
		}
		b, err := newBroker(u.Host, vhost, encrypted)
		if err != nil {
			return nil, err
		}
		password, _ := u.User.Password()
		doors = append(doors, door{b, u.User.Username(), password})
	}
	return doors, nil
}

// newBroker takes a URL's path for the virtual host, as everybody does: /v means v, while / and nothing mean /.
func newBroker(hostport, path string, encrypted bool) (Broker, error) {
	b := Broker{Host: hostport, Port: plainPort, TLS: encrypted, VHost: strings.TrimPrefix(path, "/")}
	if encrypted {
		b.Port = tlsPort
	}
	if b.VHost == "" {
		b.VHost = defaultVHost
	}
	if host, port, err := net.SplitHostPort(hostport); err == nil {
		n, err := strconv.Atoi(port)
		if err != nil || n < 1 || n > 65535 {
			return Broker{}, errors.New("its port is not between 1 and 65535")
		}
		b.Host, b.Port = host, n
	}
	b.Host = strings.Trim(b.Host, "[]")
	return b, nil
}

// Address is where the broker listens.
func (b Broker) Address() string { return net.JoinHostPort(b.Host, strconv.Itoa(b.Port)) }
