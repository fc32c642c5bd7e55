package openid

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"hale/internal/core/fault"
	"hale/internal/state"

	"github.com/alexedwards/scs/v2"
)

const (
	sessionsRoot = "access/sessions/"
	// SessionFor is how long a person is signed in.
	SessionFor   = 12 * time.Hour
	mostSessions = 10_000
	cookieName   = "__Host-hale" // the prefix has browsers take it over TLS only, from this very host
)

// newSessions keeps sessions in the store, under a hash of their cookies. Every hale on the store knows them.
func newSessions(s state.Store) *scs.SessionManager {
	// scs.New would start a goroutine for a store that is not used.
	return &scs.SessionManager{
		Store: sessions{s}, Codec: asJSON{}, HashTokenInStore: true, Lifetime: SessionFor,
		Cookie: scs.SessionCookie{
			Name: cookieName, Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode, Persist: true,
		},
	}
}

// asJSON is how a session is written: a newer hale can read it.
type asJSON struct{}

type written struct {
	Ends   time.Time
	Values map[string]string
}

// Encode implements scs.Codec. Sessions have texts only.
func (asJSON) Encode(ends time.Time, values map[string]any) ([]byte, error) {
	w := written{Ends: ends, Values: map[string]string{}}
	for name, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, fault.New(fault.Invalid, "openid.session", name, errors.New("it is no text"))
		}
		w.Values[name] = text
	}
	return json.Marshal(w)
}

// Decode implements scs.Codec.
func (asJSON) Decode(data []byte) (time.Time, map[string]any, error) {
	var w written
	if err := json.Unmarshal(data, &w); err != nil {
		return time.Time{}, nil, err
	}
	values := map[string]any{}
	for name, text := range w.Values {
		values[name] = text
	}
	return w.Ends, values, nil
}

// sessions implements scs.CtxStore on hale's store.
type sessions struct{ store state.Store }

var errNoContext = errors.New("sessions are asked for with a context")

// Delete implements scs.Store.
func (sessions) Delete(string) error { return errNoContext }

// Find implements scs.Store.
func (sessions) Find(string) ([]byte, bool, error) { return nil, false, errNoContext }

// Commit implements scs.Store.
func (sessions) Commit(string, []byte, time.Time) error { return errNoContext }

// DeleteCtx implements scs.CtxStore.
func (s sessions) DeleteCtx(ctx context.Context, token string) error {
	_, err := s.store.Commit(ctx, state.Txn{Then: []state.Write{state.Delete(sessionsRoot + token)}})
	return err
}

// FindCtx implements scs.CtxStore. A session that is over, or cannot be read, is none.
func (s sessions) FindCtx(ctx context.Context, token string) ([]byte, bool, error) {
	if strings.ContainsAny(token, "/\x00") {
		return nil, false, nil
	}
	e, err := s.store.Get(ctx, sessionsRoot+token)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	var w written
	if json.Unmarshal(e.Value, &w) != nil || !time.Now().Before(w.Ends) {
		return nil, false, nil //nolint:nilerr // it is none
	}
	return e.Value, true, nil
}

// CommitCtx implements scs.CtxStore. fault.Quota: there are too many.
func (s sessions) CommitCtx(ctx context.Context, token string, data []byte, _ time.Time) error {
	left, err := s.sweep(ctx, time.Now())
	if err != nil {
		return err
	}
	if left >= mostSessions {
		return fault.New(fault.Quota, "openid.session", "", errors.New("too many people are signed in"))
	}
	_, err = s.store.Commit(ctx, state.Txn{Then: []state.Write{state.Put(sessionsRoot+token, data)}})
	return err
}

// sweep removes sessions that are over, and returns how many are left.
func (s sessions) sweep(ctx context.Context, now time.Time) (int, error) {
	entries, _, err := s.store.List(ctx, sessionsRoot)
	if err != nil {
		return 0, err
	}
	var txn state.Txn
	for _, e := range entries {
		var w written
		if (json.Unmarshal(e.Value, &w) != nil || !now.Before(w.Ends)) && len(txn.Then) < state.MaxOps {
			txn.Then = append(txn.Then, state.Delete(e.Key))
		}
	}
	if len(txn.Then) > 0 {
		if _, err := s.store.Commit(ctx, txn); err != nil {
			return 0, err
		}
	}
	return len(entries) - len(txn.Then), nil
}
