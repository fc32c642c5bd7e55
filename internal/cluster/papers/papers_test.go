package papers_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"hale/internal/cluster/papers"
	"hale/internal/core/fault"
)

const year = 365 * 24 * time.Hour

// settled are a server's papers, made at that time.
func settled(t *testing.T, a papers.Authority, name string, at time.Time) *papers.Papers {
	t.Helper()
	p, err := papers.Draft(t.TempDir(), papers.First(name, ":7120", "10.0.0.1:7120"), a, at)
	if err == nil {
		err = p.Settle()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func authority(t *testing.T, at time.Time) papers.Authority {
	t.Helper()
	a, err := papers.NewAuthority(at)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// shake has one side speak TLS with the other.
func shake(client, server *tls.Config) error {
	left, right := net.Pipe()
	ended := make(chan error, 1)
	go func() { // ends with the pipe
		s := tls.Server(right, server)
		err := s.Handshake()
		if err == nil {
			_, err = s.Write([]byte("!"))
		}
		_ = right.Close()
		ended <- err
	}()
	c := tls.Client(left, client)
	err := c.Handshake()
	if err == nil {
		_, err = c.Read(make([]byte, 1))
	}
	_ = left.Close()
	return errors.Join(err, <-ended)
}

// Papers are read as they were written; a draft is none, and there is one set at a time.
func TestPapersCountOnceTheyAreSettled(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	if _, err := papers.Read(dir); !fault.Is(err, fault.NotFound) {
		t.Errorf("without papers: %v", err)
	}
	p, err := papers.Draft(dir, papers.First("hale-1", ":7120", "10.0.0.1:7120"), authority(t, now), now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := papers.Read(dir); !fault.Is(err, fault.NotFound) {
		t.Errorf("of a draft: %v", err)
	}
	if err := p.Settle(); err != nil {
		t.Fatal(err)
	}
	is, err := papers.Read(dir)
	if err != nil || is.ID != p.ID || is.Name != "hale-1" || is.Authority.Fingerprint() != p.Authority.Fingerprint() {
		t.Errorf("read back: %+v, %v", is, err)
	}
	again, err := papers.Draft(dir, papers.First("hale-2", ":7120", "10.0.0.2:7120"), authority(t, now), now)
	if err == nil {
		err = again.Settle()
	}
	if !fault.Is(err, fault.Conflict) {
		t.Errorf("a second set: %v", err)
	}
	if err := os.Truncate(p.AuthorityFile(), 3); err != nil {
		t.Fatal(err)
	}
	if _, err := papers.Read(dir); !fault.Is(err, fault.Permanent) {
		t.Errorf("of a damaged file: %v", err)
	}
}

// S28: a certificate is renewed when a third of its time is left, and after its end, too; and when its files do not
// fit.
func TestS28ACertificateIsRenewed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, c := range map[string]struct {
		after time.Duration
		want  bool
	}{
		"at once":                     {0, false},
		"with more than a third left": {year - year/3 - time.Hour, false},
		"with less than a third left": {year - year/3 + time.Hour, true},
		"long after its end":          {3 * year, true},
		"by a clock that went back":   {-24 * time.Hour, false},
	} {
		p := settled(t, authority(t, now), "hale-1", now)
		is, err := p.Renew(now.Add(c.after))
		if err != nil || is != c.want {
			t.Errorf("%s: renewed %v, %v; want %v", name, is, err, c.want)
		}
		if again, err := p.Renew(now.Add(c.after)); err != nil || again {
			t.Errorf("%s: a second time: %v, %v", name, again, err)
		}
	}
	p := settled(t, authority(t, now), "hale-1", now)
	if err := os.WriteFile(p.KeyFile(), []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if is, err := p.Renew(now); err != nil || !is {
		t.Errorf("of a damaged key: %v, %v", is, err)
	}
}

// Servers of one cluster know each other; those of another one, and who has no certificate, are told from them. A guest
// knows the authority by its fingerprint, and nobody else's.
func TestServersKnowEachOther(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ours := authority(t, now)
	a, b, x := settled(t, ours, "a", now), settled(t, ours, "b", now), settled(t, authority(t, now), "x", now)
	if err := shake(a.Calling(), b.Serving()); err != nil {
		t.Errorf("two of one cluster: %v", err)
	}
	if err := shake(x.Calling(), b.Serving()); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("a server of another cluster calls: %v", err)
	}
	stranger := a.Calling()
	stranger.RootCAs = x.Authority.Pool()
	if err := shake(stranger, x.Serving()); !errors.As(err, new(*tls.CertificateVerificationError)) {
		t.Errorf("a certificate of another cluster is taken: %v", err)
	}
	clock := func() time.Time { return now }
	if err := shake(papers.Invited(ours.Fingerprint(), clock), a.Serving()); err != nil {
		t.Errorf("a guest: %v", err)
	}
	if err := shake(papers.Invited(ours.Fingerprint(), clock), x.Serving()); !errors.Is(err, papers.ErrStranger) {
		t.Errorf("a guest at another cluster's: %v", err)
	}
	late := func() time.Time { return now.Add(-2 * year) }
	err := shake(papers.Invited(ours.Fingerprint(), late), a.Serving())
	if invalid := (x509.CertificateInvalidError{}); !errors.As(err, &invalid) || invalid.Reason != x509.Expired {
		t.Errorf("a guest with a clock of before the cluster: %v", err)
	}
}
