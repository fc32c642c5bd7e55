package door

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sys/unix"

	"hale/internal/cluster/papers"
	"hale/internal/core/fault"
)

// Client asks at the doors of a cluster.
type Client struct{ http *http.Client }

// Member asks as a server of the cluster.
func Member(p *papers.Papers) Client { return client(p.Calling()) }

// Guest asks as a server that has an invitation, at the doors of who has the authority of the fingerprint.
func Guest(fingerprint string) Client { return client(papers.Invited(fingerprint, time.Now)) }

func client(as *tls.Config) Client {
	return Client{&http.Client{Transport: &http.Transport{TLSClientConfig: as, DisableKeepAlives: true,
		Proxy: http.ProxyFromEnvironment}}}
}

// Join asks to be let in.
func (c Client) Join(ctx context.Context, at string, q JoinRequest) (JoinAnswer, error) {
	return ask[JoinAnswer](ctx, c, at, joinPath, q)
}

// Invite asks for an invitation.
func (c Client) Invite(ctx context.Context, at string, q InviteRequest) (Invited, error) {
	return ask[Invited](ctx, c, at, invitePath, q)
}

// Replace asks that the cluster lets a server go, and invites another one in its place.
func (c Client) Replace(ctx context.Context, at string, q InviteRequest) (Invited, error) {
	return ask[Invited](ctx, c, at, replacePath, q)
}

// Leave asks the server to leave the cluster.
func (c Client) Leave(ctx context.Context, at string) error {
	_, err := ask[struct{}](ctx, c, at, leavePath, struct{}{})
	return err
}

// Dismiss asks that the cluster lets another server go.
func (c Client) Dismiss(ctx context.Context, at string, q DismissRequest) error {
	_, err := ask[struct{}](ctx, c, at, dismissPath, q)
	return err
}

// Servers asks which ones there are.
func (c Client) Servers(ctx context.Context, at string) (Servers, error) {
	return ask[Servers](ctx, c, at, serversPath, struct{}{})
}

// Standing asks the server how it finds itself.
func (c Client) Standing(ctx context.Context, at string) (Standing, error) {
	return ask[Standing](ctx, c, at, standingPath, struct{}{})
}

// ask makes a call. fault.Transient: nobody answers there. fault.Unauthorised: who answers is not of the cluster. Other
// errors are those of who answers.
func ask[A any](ctx context.Context, c Client, at, path string, q any) (A, error) {
	const op = "cluster.ask"
	var a A
	body, err := json.Marshal(q)
	if err != nil {
		return a, fault.New(fault.Invalid, op, at, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+at+path, bytes.NewReader(body))
	if err != nil {
		return a, fault.New(fault.Invalid, op, at, err)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return a, unreached(at, err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(io.LimitReader(resp.Body, 16*longestBody))
	if err != nil {
		return a, fault.New(fault.Transient, op, at, err)
	}
	if resp.StatusCode != http.StatusOK {
		var no refusal
		if err := json.Unmarshal(said, &no); err != nil || no.Why == "" {
			return a, fault.New(fault.Transient, op, at, fmt.Errorf("it answers %s", resp.Status))
		}
		return a, fault.New(no.Kind, op, at, errors.New(no.Why))
	}
	if err := json.Unmarshal(said, &a); err != nil {
		return a, fault.New(fault.Permanent, op, at, fmt.Errorf("its answer cannot be read: %w", err))
	}
	return a, nil
}

// unreached says why a call was not made, and what to look at.
func unreached(at string, err error) error {
	const op = "cluster.reach"
	if errors.Is(err, papers.ErrStranger) {
		return fault.New(fault.Unauthorised, op, at, papers.ErrStranger)
	}
	if notOurs := (*tls.CertificateVerificationError)(nil); errors.As(err, &notOurs) {
		return fault.New(fault.Unauthorised, op, at, fmt.Errorf("it is no server of this cluster: %w",
			papers.Timely(notOurs.Err, time.Now())))
	}
	if alert := tls.AlertError(0); errors.As(err, &alert) {
		return fault.New(fault.Unauthorised, op, at, fmt.Errorf("it does not take this server for one of its cluster, "+
			"or one of the clocks is wrong: %w", alert))
	}
	if errors.As(err, new(tls.RecordHeaderError)) {
		return fault.New(fault.Transient, op, at, errors.New("what answers there does not speak TLS: is it hale's "+
			"port? (state.cluster.advertise)"))
	}
	if errors.Is(err, unix.ECONNREFUSED) {
		return fault.New(fault.Transient, op, at, errors.New("nothing listens there: is hale running there, and "+
			"state.cluster.advertise its address and port?"))
	}
	return fault.New(fault.Transient, op, at, fmt.Errorf("it does not answer; does a firewall close the port? %w", err))
}
