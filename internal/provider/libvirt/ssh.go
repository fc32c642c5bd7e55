package libvirt

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"hale/internal/program"
)

// tunnel logs in at the host, and opens its daemon's socket: by OpenSSH's forwarding of sockets, or by a program on the
// host where that is switched off. Each has an SSH connection of its own, so that it can be cut like any other.
func (s SSH) tunnel(conn net.Conn, a address) (net.Conn, error) {
	config, err := s.config(a)
	if err != nil {
		return nil, err
	}
	known := false // the host is who it says
	judge := config.HostKeyCallback
	config.HostKeyCallback = func(host string, remote net.Addr, key ssh.PublicKey) error {
		err := s.explain(judge(host, remote, key), host)
		known = err == nil
		return err
	}
	shaken, channels, requests, err := ssh.NewClientConn(conn, a.targets[0], config)
	var lost net.Error
	switch {
	case err == nil:
	case known && !errors.As(err, &lost) && !errors.Is(err, io.EOF):
		return nil, distrustf(err, "%s does not let hale in as %s: add the public half of %s to the file "+
			"authorized_keys of that user", a.targets[0], a.user, s.Key)
	default:
		return nil, err
	}
	client := ssh.NewClient(shaken, channels, requests)
	daemon, err := open(client, a)
	if err != nil {
		_ = client.Close() // it goes as a whole
		return nil, err
	}
	return &tunnelled{Conn: conn, daemon: daemon, client: client}, nil
}

// config reads the files.
func (s SSH) config(a address) (*ssh.ClientConfig, error) {
	private, err := readProof(s.Key, "hale's SSH key")
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(private)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, distrustf(nil, "hale's SSH key %s has a passphrase, which hale cannot type: make a key "+
			"without one, for hale alone", s.Key)
	case err != nil:
		return nil, distrustf(err, "%s is not a private SSH key", s.Key)
	}
	hosts := cmp.Or(s.KnownHosts, DefaultKnownHosts)
	if _, err := readProof(hosts, "the file with the SSH keys of hosts"); err != nil {
		return nil, err
	}
	judge, err := knownhosts.New(hosts)
	if err != nil {
		return nil, distrustf(err, "%s is not as known_hosts(5) says", hosts)
	}
	return &ssh.ClientConfig{User: a.user, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: judge,
		HostKeyAlgorithms: algorithmsOf(judge, a.targets[0])}, nil
}

// algorithmsOf lists the kinds of key that are known of the host: one that has several is to show one of these. None:
// all are as good.
func algorithmsOf(judge ssh.HostKeyCallback, host string) []string {
	var unknown *knownhosts.KeyError
	if !errors.As(judge(host, &net.TCPAddr{}, noKey{}), &unknown) {
		return nil
	}
	var kinds []string
	for _, k := range unknown.Want {
		if kind := k.Key.Type(); kind == ssh.KeyAlgoRSA {
			kinds = append(kinds, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256)
		} else {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// noKey is a key that no host has.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("no key") }

// explain says what a wrong host key means.
func (s SSH) explain(err error, host string) error {
	var wrong *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	file := cmp.Or(s.KnownHosts, DefaultKnownHosts)
	switch {
	case errors.As(err, &revoked):
		return distrustf(err, "the host key of %s is revoked in %s", host, file)
	case !errors.As(err, &wrong):
		return err
	case len(wrong.Want) == 0:
		return distrustf(nil, "the host key of %s is not in %s: add it with ssh-keyscan, after you compared it with "+
			"the host's own", host, file)
	}
	return distrustf(nil, "%s shows another host key than %s has, line %d: either the host was installed anew, then "+
		"replace the line, or another machine answers in its place",
		host, wrong.Want[0].Filename, wrong.Want[0].Line)
}

// open opens the daemon's socket on the host. OpenSSH's server gives the same error for a missing socket, one that the
// user may not use, and forwarding that is switched off. So hale asks the host which it is.
func open(client *ssh.Client, a address) (io.ReadWriteCloser, error) {
	var problems []error
	for _, socket := range a.sockets {
		daemon, err := client.Dial("unix", socket)
		if err == nil {
			return daemon, nil
		}
		problems = append(problems, fmt.Errorf("%s on %s: %w", socket, a.targets[0], err))
	}
	for _, socket := range a.sockets {
		switch look(client, socket) {
		case usable:
			return start(client, helperCommand(a, socket))
		case forbidden:
			return nil, distrustf(nil, "%s may not use %s on %s: add that user to the group libvirt there", a.user,
				socket, a.targets[0])
		}
	}
	return nil, errors.Join(append(problems, errors.New("is libvirtd running there?"))...)
}

// What a host says of a socket, as the exit code of a command. Any other leaves it open.
const (
	usable    = 0
	forbidden = 4
)

// look asks the host.
func look(client *ssh.Client, socket string) int {
	session, err := client.NewSession()
	if err != nil {
		return -1
	}
	defer func() { _ = session.Close() }() // it says io.EOF where the command has ended
	err = session.Run(fmt.Sprintf("test -e %[1]s || exit 3; test -w %[1]s || exit 4", quoted(socket)))
	var code *ssh.ExitError
	switch {
	case err == nil:
		return usable
	case errors.As(err, &code):
		return code.ExitStatus()
	}
	return -1
}

// helperCommand is the program on the host that speaks to the daemon: libvirt's own, unless the address names a
// socket, which that knows nothing of; or nc.
func helperCommand(a address, socket string) string {
	nc := "exec nc -U " + quoted(socket)
	if len(a.sockets) == 1 {
		return nc
	}
	return "command -v virt-ssh-helper >/dev/null && exec virt-ssh-helper " + quoted(string(a.uri)) + "; " + nc
}

// start starts a command on the host. Its standard input and output are the connection.
func start(client *ssh.Client, command string) (io.ReadWriteCloser, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	h := &helper{session: session, said: program.Head{Most: 1 << 10}}
	session.Stderr = &h.said
	if h.in, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if h.out, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	return h, session.Start(command)
}

// quoted is a word of a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// helper is a program on the host that speaks to the daemon.
type helper struct {
	session *ssh.Session
	in      io.WriteCloser
	out     io.Reader
	said    program.Head // what it complains of
}

func (h *helper) Write(p []byte) (int, error) { return h.in.Write(p) }
func (h *helper) Close() error                { return h.session.Close() }

// Read ends with what the program had to complain of.
func (h *helper) Read(p []byte) (int, error) {
	n, err := h.out.Read(p)
	if errors.Is(err, io.EOF) {
		_ = h.session.Wait() // what it complained of comes with its end
		if said := strings.TrimSpace(h.said.String()); said != "" {
			err = fmt.Errorf("the program that speaks to the daemon ended: %s", said)
		}
	}
	return n, err
}

// tunnelled is the daemon's socket, with the connection to its host, which ends with it.
type tunnelled struct {
	net.Conn
	daemon io.ReadWriteCloser
	client *ssh.Client
}

func (t *tunnelled) Read(p []byte) (int, error)  { return t.daemon.Read(p) }
func (t *tunnelled) Write(p []byte) (int, error) { return t.daemon.Write(p) }

// Close closes what is below: a daemon that is frozen, or a host that is gone, is not asked.
func (t *tunnelled) Close() error { return t.Conn.Close() }
