package doorway

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// Listen opens the address for those that there is a place for. With a certificate and its key, it speaks TLS; what is
// renewed there is taken up at the next handshake.
func Listen(ctx context.Context, address, certificate, key string, places *Places) (net.Listener, error) {
	var secure *tls.Config
	if certificate != "" {
		pair := Pair(certificate, key)
		if _, err := pair.Get(time.Now()); err != nil {
			return nil, err
		}
		secure = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get(time.Now()) },
		}
	}
	return ListenAs(ctx, address, secure, places)
}

// ListenAs opens the address for those that there is a place for, and speaks TLS so; nil: none.
func ListenAs(ctx context.Context, address string, secure *tls.Config, places *Places) (net.Listener, error) {
	var how net.ListenConfig
	l, err := how.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	l = places.Listener(l)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	return l, nil
}

// Serve answers at the listener until ctx ends. Who is being answered then has so long until the connection is closed;
// 0: none.
func Serve(ctx context.Context, srv *http.Server, l net.Listener, within time.Duration) error {
	ended := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { ended <- end(context.WithoutCancel(ctx), srv, within) })
	err := srv.Serve(l)
	if stop() { // it failed by itself
		return errors.Join(err, srv.Close())
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, <-ended)
}

func end(ctx context.Context, srv *http.Server, within time.Duration) error {
	if within == 0 {
		return srv.Close()
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if srv.Shutdown(ctx) != nil {
		return srv.Close() // who still asks is cut off
	}
	return nil
}
