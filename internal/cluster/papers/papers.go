// Package papers keeps what a server shows to the other servers of its cluster: who it is, the certificate that says
// so, and the authority by which it knows the others. They lie in a folder of the data folder, for their owner only.
//
// It promises that the papers appear as a whole or not at all, that a certificate is renewed long before it ends, and
// that one that has ended is no way of no return: each server has the authority, and signs itself a new one.
package papers

import (
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hale/internal/core/fault"
)

// Folder is where they lie in the data folder; draft is where they are made.
const (
	Folder = "cluster"
	draft  = "cluster.draft"
)

const (
	serverFile       = "server.json"
	authorityFile    = "authority.pem"
	authorityKeyFile = "authority.key"
	certificateFile  = "server.pem"
	keyFile          = "server.key"
)

// Server is who a server is.
type Server struct {
	Name string
	// ID is of this membership alone: a server that leaves and joins again has another.
	ID string
	// Cluster is the cluster's own id.
	Cluster string
	// Listen is where it listens, and Advertise where the others reach it.
	Listen, Advertise string
	// Others is where other servers were reached last.
	Others []string `json:",omitempty"`
}

// Papers are a server's.
type Papers struct {
	Server
	Authority Authority

	dir string
}

// First is who the first server of a new cluster is.
func First(name, listen, advertise string) Server {
	return Server{Name: name, ID: NewID(), Cluster: NewID(), Listen: listen, Advertise: advertise}
}

// NewID is one that nobody has.
func NewID() string { return strings.ToLower(rand.Text()) }

// Draft writes papers that count once they are settled. A draft from before is thrown away.
func Draft(dataDir string, s Server, a Authority, now time.Time) (*Papers, error) {
	const op = "papers.draft"
	making := filepath.Join(dataDir, draft)
	if err := errors.Join(os.RemoveAll(making), os.MkdirAll(making, 0o700)); err != nil {
		return nil, fault.New(fault.Permanent, op, dataDir, err)
	}
	p := &Papers{Server: s, Authority: a, dir: making}
	err := errors.Join(p.write(authorityFile, a.Certificate), p.write(authorityKeyFile, a.Key), p.renew(now), p.note())
	if err != nil {
		return nil, fault.New(fault.Permanent, op, dataDir, err)
	}
	return p, nil
}

// Settle has a draft be this server's papers. fault.Conflict: it has others.
func (p *Papers) Settle() error {
	const op = "papers.settle"
	dataDir := filepath.Dir(p.dir)
	to := filepath.Join(dataDir, Folder)
	if _, err := os.Lstat(to); err == nil {
		return fault.New(fault.Conflict, op, dataDir, errors.New("this server is in a cluster already"))
	}
	if err := errors.Join(os.Rename(p.dir, to), sync(dataDir)); err != nil {
		return fault.New(fault.Permanent, op, dataDir, err)
	}
	p.dir = to
	return nil
}

// Read reads the papers of the data folder. fault.NotFound: this server is in no cluster. fault.Permanent: they cannot
// be read.
func Read(dataDir string) (*Papers, error) {
	const op = "papers.read"
	p := &Papers{dir: filepath.Join(dataDir, Folder)}
	text, err := os.ReadFile(p.path(serverFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(p.dir); errors.Is(err, fs.ErrNotExist) {
			return nil, fault.New(fault.NotFound, op, dataDir, errors.New("this server is in no cluster"))
		}
	}
	if err == nil {
		err = json.Unmarshal(text, &p.Server)
	}
	var certificate, key []byte
	if err == nil {
		certificate, err = os.ReadFile(p.path(authorityFile))
	}
	if err == nil {
		key, err = os.ReadFile(p.path(authorityKeyFile))
	}
	if err == nil {
		p.Authority, err = ReadAuthority(certificate, key)
	}
	if err != nil {
		return nil, fault.New(fault.Permanent, op, dataDir,
			fmt.Errorf("its papers in %s cannot be read: %w", p.dir, err))
	}
	return p, nil
}

// Renew makes a new certificate when less than a third of the old one's time is left, or it cannot be used. It reports
// whether it did.
func (p *Papers) Renew(now time.Time) (bool, error) {
	if p.isGood(now) {
		return false, nil
	}
	if err := p.renew(now); err != nil {
		return false, fault.New(fault.Permanent, "papers.renew", p.dir, err)
	}
	return true, nil
}

func (p *Papers) isGood(now time.Time) bool {
	pair, err := tls.LoadX509KeyPair(p.CertificateFile(), p.KeyFile())
	if err != nil {
		return false
	}
	cert := pair.Leaf
	if IDOf(cert) != p.ID || cert.CheckSignatureFrom(p.Authority.cert) != nil {
		return false
	}
	return now.Before(cert.NotAfter.Add(-lives/3)) || !now.Before(p.Authority.cert.NotAfter.Add(-lives/3))
}

// renew writes the key first: of a new key with an old certificate Renew makes new ones, since the pair does not fit.
func (p *Papers) renew(now time.Time) error {
	made, err := p.Authority.issue(p.Server, now)
	if err != nil {
		return err
	}
	return errors.Join(p.write(keyFile, made.key), p.write(certificateFile, made.certificate))
}

// Know notes where this server listens, and where the others are reached.
func (p *Papers) Know(listen string, others []string) error {
	if p.Listen == listen && slices.Equal(p.Others, others) {
		return nil
	}
	p.Listen, p.Others = listen, others
	if err := p.note(); err != nil {
		return fault.New(fault.Transient, "papers.know", p.dir, err)
	}
	return nil
}

func (p *Papers) note() error {
	text, err := json.MarshalIndent(p.Server, "", "  ")
	if err != nil {
		return err
	}
	return p.write(serverFile, text)
}

// Leave puts the papers aside, and says where they are.
func (p *Papers) Leave(now time.Time) (string, error) {
	aside := p.dir + ".left-" + now.UTC().Format("20060102T150405.000Z")
	if err := errors.Join(os.Rename(p.dir, aside), sync(filepath.Dir(p.dir))); err != nil {
		return "", fault.New(fault.Permanent, "papers.leave", p.dir, err)
	}
	return aside, nil
}

// CertificateFile is where the certificate is, with the authority's.
func (p *Papers) CertificateFile() string { return p.path(certificateFile) }

// KeyFile is where the certificate's key is.
func (p *Papers) KeyFile() string { return p.path(keyFile) }

// AuthorityFile is where the authority's certificate is.
func (p *Papers) AuthorityFile() string { return p.path(authorityFile) }

func (p *Papers) path(name string) string { return filepath.Join(p.dir, name) }

// write replaces a file in one step, when all of it is on disk.
func (p *Papers) write(name string, text []byte) (err error) {
	f, err := os.CreateTemp(p.dir, "."+name+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), p.path(name))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return sync(p.dir)
}

// sync makes sure that the names in a folder are on disk.
func sync(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
