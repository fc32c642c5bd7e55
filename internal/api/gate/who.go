package gate

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"strings"
	"time"

	"hale/internal/access"
	"hale/internal/access/token"
	"hale/internal/core/fault"
	"hale/internal/doorway"
)

// found is who calls, and until when what it showed counts; a zero time: until it is revoked.
type found struct {
	p     access.Principal
	until time.Time
}

// who says who calls: by the token that it shows, or else its certificate, or else its session. The zero Principal: it
// shows nothing. fault.Unauthorised: what it shows opens nothing. Other errors: it cannot be told now.
func (g *Gate) who(r *http.Request, rules *Rules) (found, error) {
	if values := r.Header.Values("Authorization"); len(values) > 0 {
		return g.byBearer(r, values, rules)
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		return byCertificate(r, rules), nil
	}
	p, until, err := g.door.Session(r)
	return found{p, until}, err
}

var errScheme = errors.New("it is not shown as Authorization: Bearer TOKEN")

func (g *Gate) byBearer(r *http.Request, values []string, rules *Rules) (found, error) {
	scheme, shown, _ := strings.Cut(values[0], " ")
	shown = strings.TrimSpace(shown)
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || shown == "" {
		return found{}, fault.New(fault.Unauthorised, "gate.who", "", errScheme)
	}
	if strings.HasPrefix(shown, token.Mark+"_") || rules.OpenID == nil {
		p, kept, err := token.Verify(r.Context(), g.opts.Store, shown, time.Now())
		return found{p, kept.Expires}, err
	}
	p, until, err := rules.OpenID.Verify(r.Context(), shown)
	return found{p, until}, err
}

// byCertificate knows a caller by its certificate, which was verified in the handshake. Of the names in it, those count
// that the rules have.
func byCertificate(r *http.Request, rules *Rules) found {
	leaf := r.TLS.VerifiedChains[0][0]
	names := leaf.DNSNames
	for _, u := range leaf.URIs {
		names = append(names, u.String())
	}
	p := access.Principal{Kind: access.ByCertificate, ID: leaf.SerialNumber.String(), Name: "a certificate without a role"}
	for _, name := range names {
		grant, known := rules.Certificates[name]
		if !known {
			continue
		}
		if len(p.Grants) == 0 {
			p.Name, p.ID = name, name
		}
		p.Grants, p.Persons = append(p.Grants, grant), append(p.Persons, name)
	}
	return found{p, leaf.NotAfter}
}

// digest is what a caller showed, without being it.
type digest [sha256.Size]byte

// showing is what the request shows of its caller; the zero digest: nothing.
func showing(r *http.Request) digest {
	sum := sha256.New()
	shown := false
	for _, v := range append(r.Header.Values("Authorization"), r.Header.Values("Cookie")...) {
		shown = true
		sum.Write([]byte(v))
		sum.Write([]byte{0})
	}
	if r.TLS != nil && len(r.TLS.VerifiedChains) > 0 {
		shown = true
		sum.Write(r.TLS.VerifiedChains[0][0].Raw)
	}
	if !shown {
		return digest{}
	}
	return digest(sum.Sum(nil))
}

// Bounds of what is remembered of callers.
const (
	mostGood = 10_000
	goodFor  = 10 * time.Minute
)

// vouch remembers that what the request shows opened something: its address has places, and it is not kept out by what
// others at its address try.
func (g *Gate) vouch(r *http.Request, shown digest) {
	now := time.Now()
	g.places().Vouch(doorway.From(r.RemoteAddr), now)
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.good[shown]; !known && len(g.good) >= mostGood {
		for d, at := range g.good {
			if now.Sub(at) > goodFor {
				delete(g.good, d)
			}
		}
		if len(g.good) >= mostGood {
			return
		}
	}
	g.good[shown] = now
}

// noteUse stores that a token was used.
func (g *Gate) noteUse(r *http.Request, p access.Principal) {
	if p.Kind != access.ByToken {
		return
	}
	g.mu.Lock()
	last := g.used[p.ID]
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), noteWithin)
	defer cancel()
	noted, err := token.NoteUse(ctx, g.opts.Store, p.ID, last, time.Now())
	if err != nil {
		g.opts.Logger.Debug("the use of a token is not noted", "token", p.ID, "err", err)
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.used) >= mostGood {
		clear(g.used)
	}
	g.used[p.ID] = noted
}
