package api

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"time"
)

// HeaderKey is the header of a request whose value makes it safe to repeat: the same key, and the same request, take
// effect once.
const HeaderKey = "Idempotency-Key"

type keyKey struct{}

// WithKey returns a context whose one call that changes something bears the key, of 8 to 64 printable characters, so
// that another process can ask it again. Without one each call has a random key of its own.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// pauses are those between tries of a call that changes something, once its connection broke: hale may have been
// started anew, and the key makes it safe to ask again.
var pauses = []time.Duration{
	50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, time.Second, 2 * time.Second,
}

// repeat makes the request. One that changes something is made again when its connection broke.
func (c *Client) repeat(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	if method == http.MethodGet {
		return c.once(ctx, method, path, body, "")
	}
	key, _ := ctx.Value(keyKey{}).(string)
	if key == "" {
		key = rand.Text()
	}
	for try := 0; ; try++ {
		response, err := c.once(ctx, method, path, body, key)
		broke := err != nil && ctx.Err() == nil && (try > 0 || !unsent(err))
		waits := try > 0 && err == nil && response.StatusCode == http.StatusConflict &&
			response.Header.Get("Retry-After") != ""
		if !broke && !waits || try == len(pauses) {
			return response, err
		}
		if waits {
			response.Body.Close()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pauses[try]):
		}
	}
}

// unsent reports whether the request reached nothing.
func unsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// once makes the request.
func (c *Client) once(ctx context.Context, method, path string, body []byte, key string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	if key != "" {
		request.Header.Set(HeaderKey, key)
	}
	if c.alone {
		request.Header.Set(HeaderAlone, "true")
	}
	conditions, _ := ctx.Value(conditionKey{}).(map[string]string)
	for name, value := range conditions {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err == nil {
		return response, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, c.away(err)
}
