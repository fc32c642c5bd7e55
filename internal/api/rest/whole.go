package rest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"hale/api"
	"hale/internal/access/pair"
)

// Limits of a request's body.
const (
	bodyWithin  = 10 * time.Second // from the end of its headers
	mostBytes   = 1 << 20          // whatever the call; most take less
	largeBodies = 32               // that are read at once
)

// whole reads the body of a request before the call begins, so that no call waits for a slow one, and keeps the request
// for a second person. What reads it then sets no deadline for the connection: one that passes while the call is under
// way would end it, as if the caller had gone.
func (r *Router) whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		conn := http.NewResponseController(w)
		// Not every connection has deadlines; then only what breaks it ends the reading.
		_ = conn.SetReadDeadline(time.Now().Add(bodyWithin))
		body, err := r.body(w, q)
		if err != nil {
			w.Header().Set("Connection", "close")
			code := api.CodeTooSlow
			switch {
			case errors.As(err, new(*http.MaxBytesError)):
				code = api.CodeTooLarge
			case errors.Is(err, errCrowded):
				code = api.CodeBusy
			}
			r.fail(w, q, api.NewProblem(code, "the body did not come as it should: "+api.Cause(err).Error()))
			return
		}
		_ = conn.SetReadDeadline(time.Time{})
		q.Body = io.NopCloser(bytes.NewReader(body))
		ctx := pair.WithRequest(q.Context(), pair.Request{
			Method: q.Method, Target: q.URL.RequestURI(), Type: q.Header.Get("Content-Type"), Body: body,
			Alone: q.Header.Get(api.HeaderAlone) == "true",
		})
		h.ServeHTTP(unbounded{w}, q.WithContext(ctx))
	})
}

var errCrowded = errors.New("too many large requests come at once")

// body reads the request's body. Of large ones only so many are read at once.
func (r *Router) body(w http.ResponseWriter, q *http.Request) ([]byte, error) {
	if q.ContentLength < 0 || q.ContentLength > bodyBytes {
		select {
		case r.large <- struct{}{}:
			defer func() { <-r.large }()
		case <-time.After(bodyWithin / 2):
			return nil, errCrowded
		}
	}
	return io.ReadAll(http.MaxBytesReader(w, q.Body, mostBytes))
}

// unbounded takes no deadline for reading: all is read.
type unbounded struct{ http.ResponseWriter }

// SetReadDeadline is what http.ResponseController calls.
func (unbounded) SetReadDeadline(time.Time) error { return nil }

// Unwrap is for http.ResponseController.
func (u unbounded) Unwrap() http.ResponseWriter { return u.ResponseWriter }
