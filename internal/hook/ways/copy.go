package ways

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"hale/internal/core/fault"
	"hale/internal/core/policy"
	"hale/internal/core/situation"
	"hale/internal/program"
	"hale/internal/secret"
)

// copyFiles puts the files on the machine, one after the other.
func copyFiles(ctx context.Context, e *situation.Errand) (program.Result, error) {
	const op = "hook.copy"
	c := e.Hook.Copy
	config, err := loginConfig(ctx, c.Login)
	switch {
	case errors.As(err, new(program.NoSecret)):
		return program.Result{}, err
	case err != nil:
		return program.Result{}, fault.New(fault.Invalid, op, string(e.Facts.Machine), err)
	}
	if err := await(ctx, e, c.Port); err != nil {
		return program.Result{}, err
	}
	at := net.JoinHostPort(e.Facts.Address.String(), strconv.Itoa(c.Port))
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		return program.Result{}, fault.New(fault.Transient, op, at, err)
	}
	over := context.AfterFunc(ctx, func() { _ = conn.Close() }) // it ends whatever waits on it
	defer over()
	shaken, channels, requests, err := ssh.NewClientConn(conn, at, config)
	if err != nil {
		kind := fault.Transient // nothing was done; a machine that starts may not know hale's key yet
		if errors.As(err, new(*knownhosts.KeyError)) {
			kind = fault.Permanent
		}
		return program.Result{}, fault.New(kind, op, at, errors.Join(err, conn.Close()))
	}
	client := ssh.NewClient(shaken, channels, requests)
	defer func() { _ = client.Close() }() // what was to be done is done by then
	for _, f := range c.Files {
		if err := put(client, f); err != nil {
			return program.Result{}, fault.New(kindOf(ctx), op, f.To, err)
		}
	}
	return program.Result{}, nil
}

// kindOf says what an error on the way is: when the time is over nobody knows what was done, and else it failed.
func kindOf(ctx context.Context) fault.Kind {
	if ctx.Err() != nil {
		return fault.UnknownOutcome
	}
	return fault.Permanent
}

// keyOf reads the key to a machine. The error is a program.NoSecret.
func keyOf(ctx context.Context, l policy.Login) (string, error) {
	private, err := secret.ReadKey(ctx, l.Key)
	if err != nil {
		return "", program.NoSecret{Variable: "key", Err: err}
	}
	return private, nil
}

func loginConfig(ctx context.Context, l policy.Login) (*ssh.ClientConfig, error) {
	private, err := keyOf(ctx, l)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey([]byte(private))
	if err != nil {
		return nil, fmt.Errorf("%s is no private SSH key without a passphrase", l.Key)
	}
	judge := ssh.InsecureIgnoreHostKey() //nolint:gosec // the key of a new machine is not known; see policy.Login
	if l.KnownHosts != "" {
		if judge, err = knownhosts.New(l.KnownHosts); err != nil {
			return nil, fmt.Errorf("%s is not as known_hosts(5) says: %w", l.KnownHosts, err)
		}
	}
	return &ssh.ClientConfig{User: l.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)}, HostKeyCallback: judge}, nil
}

// put replaces one file at once: what is half there has another name.
func put(client *ssh.Client, f policy.File) error {
	from, err := os.Open(f.From)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // it was only read
	info, err := from.Stat()
	if err != nil {
		return err
	}
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }() // it says io.EOF where the command has ended
	said := program.Head{Most: 1 << 10}
	session.Stdin, session.Stderr = from, &said
	// a connection that breaks ends the input, too: then what came is not all
	err = session.Run(fmt.Sprintf(`umask 077 && cat > %[1]s && [ "$(wc -c < %[1]s)" -eq %[4]d ] && `+
		"chmod %04[2]o %[1]s && mv -f -- %[1]s %[3]s", quoted(f.To+".hale-new"), f.Mode, quoted(f.To), info.Size()))
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(said.String()))
	}
	return nil
}

// quoted is a word of a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
