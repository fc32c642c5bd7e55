package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"golang.org/x/sys/unix"

	"hale/internal/core/fault"
	"hale/internal/fence"
	"hale/internal/fence/agent"
	"hale/internal/fence/fencetest"
	"hale/internal/program/programtest"
	"hale/internal/secret"
	"hale/internal/testbed/lab/bmc"
	"hale/internal/testbed/nettest"
)

// virsh stands before the real one in the shell that the agent gets.
const virsh = `#!/bin/sh
F=$(cat 'DIR/fault' 2>/dev/null)
V="VIRSH -q -c URI"
[ "$F" = slow ] && sleep SLOW
case $1 in
domstate)
	if [ "$F" = 'says off, whatever is true' ]; then echo 'shut off'; else $V domstate DOMAIN; fi
	;;
destroy)
	case $F in
	'answers and does nothing' | 'says off, whatever is true') exit 0 ;;
	'answers early and turns off late')
		rm -f DIR/left
		setsid sh -c ': >DIR/left; sleep LATE; VIRSH -q -c URI destroy DOMAIN' </dev/null >/dev/null 2>&1 &
		until [ -e DIR/left ]; do sleep 0.02; done
		exit 0
		;;
	esac
	$V destroy DOMAIN
	[ "$F" = 'does it and the answer is lost' ] && kill -9 $PPID
	;;
esac
`

// virshPart is an SSH server in the place of the plug's hypervisor, spoken to by fence_virsh.
func virshPart(p *plug) part {
	p.Helper()
	dir := p.TempDir()
	program, err := exec.LookPath("virsh")
	p.must(err)
	fill := strings.NewReplacer("DIR", dir, "VIRSH", program, "URI", p.lab.URI(), "DOMAIN", p.domain, "SLOW",
		seconds(slowBy), "LATE", seconds(lateBy))
	p.must(programtest.Write(filepath.Join(dir, "virsh"), fill.Replace(virsh)))
	server := newShells(p, dir)
	host, port, err := net.SplitHostPort(server.listener.Addr().String())
	p.must(err)
	known := p.keep("known_hosts", knownhosts.Line([]string{server.listener.Addr().String()}, server.key)+"\n", 0o600)
	out := part{refuses: fault.Unauthorised, name: "agent `fence_virsh`", fail: func(f fencetest.Fault) error {
		server.dead.Store(f == fencetest.Dead)
		return os.WriteFile(filepath.Join(dir, "fault"), []byte(f), 0o600)
	}}
	// The agent's own ssh_options, without which it does not know the shell's prompt, and where the server's key is.
	options := "-o UserKnownHostsFile=" + known + ` -t '/bin/bash -c "PS1=\\[EXPECT\\]# /bin/bash --noprofile --norc"'`
	out.speaker, out.stolid = p.bothPasswords(func(s secret.Secret) fence.Controller {
		return agent.New(agent.Options{
			Name:    "fence_virsh",
			Program: "fence_virsh",
			Values: []secret.Named{
				{Name: "ip", Plain: host}, {Name: "ipport", Plain: port}, {Name: "username", Plain: bmc.User},
				{Name: "password", Secret: s}, {Name: "plug", Plain: p.domain}, {Name: "ssh_options", Plain: options},
			},
		})
	})
	return out
}

// shells is an SSH server that gives a shell for the password.
type shells struct {
	listener net.Listener
	key      ssh.PublicKey
	config   *ssh.ServerConfig
	path     string      // of the programs that come before others in a shell
	dead     atomic.Bool // it takes connections and says nothing
}

// newShells starts one on loopback, until the test ends.
func newShells(p *plug, path string) *shells {
	p.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	p.must(err)
	signer, err := ssh.NewSignerFromKey(private)
	p.must(err)
	s := &shells{key: signer.PublicKey(), path: path, config: &ssh.ServerConfig{
		PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if c.User() != bmc.User || string(password) != bmc.Password {
				return nil, errors.New("who are you?")
			}
			return &ssh.Permissions{}, nil
		},
	}}
	s.config.AddHostKey(signer)
	s.listener, err = net.Listen("tcp", "127.0.0.1:0")
	p.must(err)
	nettest.Serve(p, s.listener, s.serve)
	return s
}

func (s *shells) serve(ctx context.Context, conn net.Conn) {
	if s.dead.Load() {
		_, _ = io.Copy(io.Discard, conn) // until the other end has enough
		return
	}
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return // a wrong password, or the agent had enough
	}
	go ssh.DiscardRequests(requests) // ends with the connection
	for c := range channels {
		channel, asked, err := c.Accept()
		if err != nil {
			return
		}
		s.session(ctx, channel, asked)
	}
}

// session answers what a client asks of a session, up to the end of its program.
func (s *shells) session(ctx context.Context, channel ssh.Channel, asked <-chan *ssh.Request) {
	defer channel.Close()
	for r := range asked {
		var command struct{ Text string }
		ok := r.Type == "pty-req" || r.Type == "exec" && ssh.Unmarshal(r.Payload, &command) == nil
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
		if command.Text != "" {
			go ssh.DiscardRequests(asked) // ends with the channel
			_ = s.run(ctx, channel, command.Text)
			return
		}
	}
}

// run runs a command line at a terminal, which is the channel.
func (s *shells) run(ctx context.Context, channel io.ReadWriter, line string) error {
	ours, theirs, err := terminal()
	if err != nil {
		return err
	}
	defer ours.Close()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
	cmd.Env = append(os.Environ(), "PATH="+s.path+":"+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = errors.Join(cmd.Start(), theirs.Close())
	if err != nil {
		return err
	}
	go func() { _, _ = io.Copy(ours, channel) }() // ends with the channel, or the terminal
	_, _ = io.Copy(channel, ours)                 // up to the hang-up, when the last program has left the terminal
	return cmd.Wait()
}

// terminal makes a pseudo terminal (pty(7)).
func terminal() (ours, theirs *os.File, err error) {
	ours, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(ours.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close())
	}
	return ours, theirs, nil
}
